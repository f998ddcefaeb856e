/** What a world is made of when a run is over, and what may not be left in it. */
import {
  AddressLease,
  finalizers,
  Network,
  NetworkContext,
  NetworkInterface,
  NetworkInterfaceClaim,
  kinds as nsoKinds,
  Subnet,
} from '@nso/api'
import { BGPAdvertisement, VPC, VPCAttachment } from 'galactic/api'
import type { Client, Kind, KubeObject } from 'kube-control-loop'
import { IPAllocation, IPClaim } from 'kube-ipam'
import { NetworkAttachmentDefinition } from 'kube-multus'

/** What exists for claims: nothing of it may be left. */
export const passing: readonly Kind[] = [
  NetworkInterfaceClaim,
  NetworkInterface,
  AddressLease,
  VPCAttachment,
  NetworkAttachmentDefinition,
]
/** What exists for networks: it stays as it was. */
const staying: readonly Kind[] = [Network, NetworkContext, Subnet, VPC]
/** At the address service. */
const atService: readonly Kind[] = [IPClaim, IPAllocation]
const cluster: readonly Kind[] = nsoKinds.filter(({ scope }) => scope === 'Cluster')

export type Place = {
  readonly client: Client
  readonly service: Client | undefined
  readonly namespaces: readonly string[]
  readonly serviceNamespaces: readonly string[]
}

/** Everything there is in the namespaces of a run, and of the whole cluster what nodes advertise. */
export type World = { readonly objects: readonly KubeObject[]; readonly advertised: readonly KubeObject[] }

export async function lookAt({ client, service, namespaces, serviceNamespaces }: Place, signal: AbortSignal): Promise<World> {
  const own = [...passing, ...staying].flatMap((kind) => namespaces.map((namespace) => client.list(kind, { namespace }, signal)))
  const common = cluster.map((kind) => client.list(kind, {}, signal))
  const theirs = service
    ? atService.flatMap((kind) => serviceNamespaces.map((namespace) => service.list(kind, { namespace }, signal)))
    : []
  const [lists, { items: advertised }] = await Promise.all([
    Promise.all([...own, ...common, ...theirs]),
    client.list(BGPAdvertisement, {}, signal),
  ])
  return { objects: lists.flatMap(({ items }) => items as KubeObject[]), advertised: advertised as KubeObject[] }
}

const isForClaims = ({ kind, spec }: KubeObject): boolean => {
  if (passing.some((each) => each.kind === kind)) return true
  if (kind === IPClaim.kind) return (spec as IPClaim['spec']).target === undefined
  return kind === IPAllocation.kind && (spec as IPAllocation['spec']).purpose === 'Claim'
}

/** Sentences about what may not be so when all that was claimed was given back. `before`: what was advertised at the beginning. */
export function leftIn({ objects, advertised }: World, before: readonly KubeObject[]): string[] {
  const known = new Set(before.map(({ metadata }) => metadata.uid))
  return [
    ...objects.filter(isForClaims).map((object) => `${show(object)} is left`),
    ...objects.filter(({ metadata }) => metadata.deletionTimestamp).map((object) => `${show(object)} is being deleted`),
    ...objects
      .filter(({ metadata }) => metadata.finalizers?.includes(finalizers.contextInUse))
      .map((object) => `${show(object)} is held as in use`),
    ...advertised.filter(({ metadata }) => !known.has(metadata.uid)).map((object) => `${show(object)} is still advertised`),
  ]
}

const show = ({ kind, metadata: { name, namespace, finalizers: held = [] } }: KubeObject) =>
  `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}${held.length > 0 ? ` (${held.join(', ')})` : ''}`

/** Names at an address service are made from them. */
const uid = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g

type Conditions = { conditions?: readonly { type: string; status: string; reason: string }[] } | undefined

/** What a world looks like whatever its names are: two runs of one scenario end in equal ones. `own`: names that only this run has. */
export function shapeOf({ objects }: World, own: readonly string[]): string[] {
  const neutral = (text: string) => own.reduce((so, name, at) => so.replaceAll(name, `<${at}>`), text).replaceAll(uid, '<uid>')
  const line = (object: KubeObject) => {
    const { conditions = [] } = (object.status as Conditions) ?? {}
    const says = conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`).sort()
    return [show(object), ...says].join('; ')
  }
  return objects.map((object) => neutral(line(object))).sort()
}

/** What one shape has more often than the other, marked with `-` and `+`. */
export function differences(calm: readonly string[], now: readonly string[]): string[] {
  const count = (lines: readonly string[], line: string) => lines.filter((each) => each === line).length
  return [...new Set([...calm, ...now])].flatMap((line) => {
    const more = count(now, line) - count(calm, line)
    return Array.from({ length: Math.abs(more) }, () => `${more < 0 ? '-' : '+'} ${line}`)
  })
}
