/** The callers that a stage plays: an administrator, and whoever that one acts as. */
import { ServingLocation } from '@nso/api'
import {
  actingAs,
  apiVersionOf,
  type Client,
  createAccessSource,
  createClient,
  createHttpTransport,
  systemClock,
} from 'kube-control-loop'

/** The manager of what scenarios write. */
export const by = { fieldManager: 'scenarios' } as const

export type Connection = { readonly client: Client; close(): Promise<void> }

/** `user`: in whose name, if not the kubeconfig's own (that one must be permitted to). */
export function connect(kubeconfig: string, user?: string): Connection {
  const own = createAccessSource({ clock: systemClock, kubeconfig })
  const access = user === undefined ? own : actingAs(own, user)
  const transport = createHttpTransport({ access, clock: systemClock, userAgent: 'nso-scenarios/0.1.0' })
  return { client: createClient(transport, { clock: systemClock, jitter: Math.random }), close: () => transport.close() }
}

/** The first location by name, which is also NSO's; made where there is none. */
export async function requireLocation(client: Client, signal: AbortSignal): Promise<string> {
  const { items } = await client.list(ServingLocation, {}, signal)
  const [first] = items.map(({ metadata }) => metadata.name).sort()
  if (first !== undefined) return first
  const spec = { topology: { 'topology.datum.net/city-code': 'DLS' } }
  const metadata = { name: 'local-1' }
  const object = { apiVersion: apiVersionOf(ServingLocation), kind: ServingLocation.kind, metadata, spec }
  return (await client.create(ServingLocation, object, by, signal)).metadata.name
}
