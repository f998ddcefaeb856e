/** Where scenarios take place: namespaces with the labels that an address service needs, and networks that are present. */
import { type AddressFamily, contextName, labels, type Network, NetworkContext, Subnet } from '@nso/api'
import type { Client, Kind, KubeObject } from 'kube-control-loop'
import { conditionOf } from './conditions.ts'
import type { AddressMode } from './scenario.ts'

export const namespaceKind: Kind = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', scope: 'Cluster' }

/** The one project whose pools the stand-in of the address service offers. */
const project = 'cluster-_alpha'

/** Out of it the address service hands out IPv4 addresses; the Subnet tells their gateway. */
const ipv4Range = { startAddress: '10.128.0.0', prefixLength: 16 }

/** The namespace of the address service that a namespace's labels name. */
export const serviceNamespaceOf = (namespace: string) => `${namespace}-at-service`

export function namespaceObject(name: string, labelled = false): KubeObject {
  const named = { [labels.upstreamCluster]: project, [labels.upstreamNamespace]: serviceNamespaceOf(name) }
  return {
    ...{ apiVersion: 'v1', kind: 'Namespace', spec: {} },
    metadata: { name, ...(labelled ? { labels: named } : {}) },
  }
}

export const networkSpec = (families: readonly AddressFamily[]): Network['spec'] => ({
  ...{ ipam: { mode: 'Auto' }, ipFamilies: [...families], mtu: 1460 },
})

/** Subnets that nobody carves where an address service has the addresses. */
export function subnetsByHand(mode: AddressMode, network: string, location: string, families: readonly AddressFamily[]) {
  if (mode === 'builtin' || !families.includes('IPv4')) return []
  const context = contextName(network, location)
  return [
    { name: `${context}-ipv4`, spec: subnetSpec({ context, location, ipFamily: 'IPv4', subnetClass: 'private', ...ipv4Range }) },
  ]
}

type Range = {
  context: string
  location: string
  ipFamily: AddressFamily
  subnetClass: string
  startAddress: string
  prefixLength: number
}

export function subnetSpec({ context, location, ...range }: Range): Subnet['spec'] {
  return { networkContext: { name: context }, location: { name: location }, ...range }
}

type Place = { client: Client; network: string; namespace: string; location: string; families: readonly AddressFamily[] }

/** Throws, and says what is missing, until the network can be used here with each family. */
export async function requirePresent(
  { client, network, namespace, location, families }: Place,
  signal: AbortSignal,
): Promise<void> {
  const name = contextName(network, location)
  const context = await client.find(NetworkContext, { name, namespace }, signal)
  const { items } = await client.list(Subnet, { namespace }, signal)
  const own = items.filter(({ spec }) => spec.networkContext.name === name && spec.subnetClass === 'private')
  const lacking = families.filter((family) => !own.some(({ spec }) => spec.ipFamily === family))
  const ready = conditionOf(context, 'Ready')
  if (ready?.status !== 'True')
    throw new Error(`NetworkContext ${name} says Ready ${ready?.status} ${ready?.reason}: ${ready?.message}`)
  if (lacking.length > 0) throw new Error(`NetworkContext ${name} has no Subnet of ${lacking.join(' and ')}`)
}
