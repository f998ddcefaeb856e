/** An address service for tests: the stand-in before the real API server, with classes and pools of the test's own. */
import { labels, nsoIpamAccount, nsoManifests } from '@nso/api'
import {
  apiVersionOf,
  type Client,
  createAccessSource,
  createHttpTransport,
  type Manifest,
  systemClock,
  type Transport,
} from 'kube-control-loop'
import { defaultClassAnnotation, IPAllocation, IPClaim, IPClass, IPPool } from 'kube-ipam'
import { type StandIn, standInAccount, standInManifests, startStandIn } from 'kube-ipam/stand-in'
import type { Plane } from 'kube-localplane'
import { testNamespace } from 'kube-localplane/testing'
import { readBlock } from '../src/addresses/cidr.ts'

export const familyClasses = { IPv4: 'datum-endpoint-v4', IPv6: 'datum-endpoint-v6' } as const

export function ipClass(name: string, ipFamily: 'IPv4' | 'IPv6', isDefault = false): IPClass {
  const unitPrefixLength = ipFamily === 'IPv4' ? 32 : 96
  const reservations = { leading: ipFamily === 'IPv4' ? 3 : 1, unitPrefixLength }
  return {
    apiVersion: apiVersionOf(IPClass),
    kind: IPClass.kind,
    metadata: { name, ...(isDefault ? { annotations: { [defaultClassAnnotation]: 'true' } } : {}) },
    spec: { ipFamily, defaultPrefixLength: unitPrefixLength, reservations },
  }
}

export const classes: readonly Manifest[] = [
  ipClass(familyClasses.IPv4, 'IPv4', true),
  ipClass(familyClasses.IPv6, 'IPv6', true),
  ipClass('datum-public-v4', 'IPv4'),
]

export type IpamWorld = {
  /** The stand-in that serves now. */
  readonly standIn: StandIn
  /** Of the administrator, past the stand-in. */
  readonly client: Client
  /** A connection as NSO, with NSO's permissions at the service. */
  transport(): Transport
  /** A pool that serves one network. */
  pool(network: string, range: string, className?: string): Promise<void>
  /** Puts the labels of the project on a namespace; the project's namespace gets a name of its own. */
  join(namespace: string): Promise<string>
  label(namespace: string, labels: Record<string, string | null>): Promise<void>
  claims(namespace: string): Promise<IPClaim[]>
  allocations(namespace: string): Promise<IPAllocation[]>
  /** Ends the stand-in, and starts another on the same port. */
  stop(): Promise<void>
  restart(): Promise<void>
}

const forever = new AbortController().signal

export async function startIpam(plane: Plane, client: Client): Promise<IpamWorld> {
  await plane.apply([...standInManifests(), ...nsoManifests().ipam, ...classes] as never)
  const kubeconfig = await plane.kubeconfigFor({ serviceAccount: standInAccount })
  let standIn = await startStandIn({ kubeconfig, signal: forever })
  const port = Number(new URL(standIn.url).port)
  const front = await standIn.kubeconfigFor(await plane.kubeconfigFor({ serviceAccount: nsoIpamAccount }))
  const label: IpamWorld['label'] = async (namespace, wanted) => {
    await plane.connection.must({
      method: 'PATCH',
      path: `/api/v1/namespaces/${namespace}`,
      contentType: 'application/merge-patch+json',
      body: { metadata: { labels: wanted } },
    })
  }
  return {
    get standIn() {
      return standIn
    },
    client,
    transport: () =>
      createHttpTransport({
        access: createAccessSource({ clock: systemClock, kubeconfig: front }),
        clock: systemClock,
        userAgent: 'nso-test',
      }),
    async pool(network, range, className) {
      const ipFamily = readBlock(range)?.family ?? 'IPv6'
      const name = `${network}-${crypto.randomUUID().slice(0, 8)}`
      const scope = { network: { apiGroup: 'networking.datumapis.com', kind: 'Network', name: network } }
      const spec = { cidr: range, ipFamily, classNames: [className ?? familyClasses[ipFamily]], scope }
      const pool: IPPool = { apiVersion: apiVersionOf(IPPool), kind: IPPool.kind, metadata: { name }, spec }
      await client.create(IPPool, pool, { fieldManager: 'test' }, forever)
    },
    async join(namespace) {
      const { name } = await testNamespace(plane, 'project')
      await label(namespace, { [labels.upstreamCluster]: 'cluster-alpha', [labels.upstreamNamespace]: name })
      return name
    },
    label,
    claims: async (namespace) => (await client.list(IPClaim, { namespace }, forever)).items,
    allocations: async (namespace) => (await client.list(IPAllocation, { namespace }, forever)).items,
    stop: () => standIn.stop(),
    async restart() {
      standIn = await startStandIn({ kubeconfig, signal: forever, port })
    },
  }
}
