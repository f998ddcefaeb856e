/** Names for completion, from a live cluster: quickly or not at all. */
import { NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import { type Kind, systemClock } from 'kube-control-loop'
import { type Cluster, openCluster } from './cluster.ts'
import type { NameFlags, NameSource } from './complete.ts'
import { collect } from './pages.ts'

/** A shell waits for this. */
const patienceMs = 3000
type Wanted = (cluster: Cluster) => { kind: Kind; namespace?: string }

async function namesOf({ kubeconfig }: NameFlags, wanted: Wanted): Promise<string[]> {
  const signal = AbortSignal.timeout(patienceMs)
  const late = systemClock.sleep(patienceMs, new AbortController().signal).then(() => [])
  return Promise.race([late, ask(kubeconfig, wanted, signal)]).catch(() => [])
}

async function ask(kubeconfig: string | undefined, wanted: Wanted, signal: AbortSignal): Promise<string[]> {
  const cluster = await openCluster({ kubeconfig, retryForMs: 0 })
  return collect({ client: cluster.client, ...wanted(cluster) }, ({ metadata }) => [metadata.name], signal)
}

const Namespace: Kind = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', scope: 'Cluster' }

export const liveNames: NameSource = {
  names: (kind, flags) =>
    namesOf(flags, ({ namespace }) => ({
      kind: kind === 'claim' ? NetworkInterfaceClaim : NetworkInterface,
      namespace: flags.namespace ?? namespace,
    })),
  namespaces: (flags) => namesOf(flags, () => ({ kind: Namespace })),
}
