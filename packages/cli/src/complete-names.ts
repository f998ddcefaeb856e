/** Names for completion, from a live cluster: quickly or not at all. */
import { NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import { pathOf, systemClock } from 'kube-control-loop'
import { type Cluster, openCluster } from './cluster.ts'
import type { NameFlags, NameSource } from './complete.ts'
import { pick, textAt } from './owners/stored.ts'

/** A shell waits for this. */
const patienceMs = 3000
const most = '500'

type Ask = (cluster: Cluster) => string

async function namesAt({ kubeconfig }: NameFlags, pathTo: Ask): Promise<string[]> {
  const signal = AbortSignal.timeout(patienceMs)
  const late = systemClock.sleep(patienceMs, new AbortController().signal).then(() => [])
  return Promise.race([late, ask(kubeconfig, pathTo, signal)]).catch(() => [])
}

async function ask(kubeconfig: string | undefined, pathTo: Ask, signal: AbortSignal): Promise<string[]> {
  const cluster = await openCluster({ kubeconfig, retryForMs: 0 })
  const list = await cluster.client.raw({ method: 'GET', path: pathTo(cluster), query: { limit: most } }, signal)
  const items = pick(list, 'items')
  return Array.isArray(items) ? items.flatMap((item) => textAt(item, 'metadata', 'name') ?? []) : []
}

export const liveNames: NameSource = {
  names: (kind, flags) =>
    namesAt(flags, ({ namespace }) =>
      pathOf(kind === 'claim' ? NetworkInterfaceClaim : NetworkInterface, { namespace: flags.namespace ?? namespace }),
    ),
  namespaces: (flags) => namesAt(flags, () => '/api/v1/namespaces'),
}
