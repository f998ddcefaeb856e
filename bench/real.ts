/** The real system of a run, and single claims brought through it. */
import { AddressLease, NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import { parseMetrics, sumOf } from '@nso/cli/report'
import { ensureNamespace, ensureNetworks, isTrue } from '@nso/cli/run-samples'
import { sampleNamespace, sampleNetwork } from '@nso/cli/samples'
import { type System, startSystem } from '@nso/cli/system'
import { followWorld, type World } from '@nso/cli/world'
import { BGPAdvertisement } from 'galactic/api'
import { apiVersionOf, type Client, type FollowedCache, type KubeObject, keyFor } from 'kube-control-loop'
import { type AuditEntry, type Plane, readAudit, tailAudit } from 'kube-localplane'
import { realKind } from './floor-kinds.ts'
import { type Template, type Templates, templateOf } from './templates.ts'
import { seen } from './until.ts'
import { startUser } from './user.ts'

export type Real = {
  readonly client: Client
  /** What a user of single claims follows, and nothing more: each watch costs the server, and the floor's user has one. */
  readonly claims: FollowedCache
  readonly interfaces: FollowedCache
  readonly plane: Plane
  readonly system: System
  /** Creates one IPv6 claim. Resolves when it is Ready and nothing more is to come of it. */
  prepare(name: string): Promise<Prepared>
  /** What NSO and Galactic have counted so far. */
  counters(): Promise<Counters>
  /** Runs `work` with everything followed that the command line follows. */
  withWorld<T>(work: (world: World) => Promise<T>): Promise<T>
  stop(): Promise<void>
}

export type Counters = {
  reconcileErrors: number
  ownershipConflicts: number
  /** Passes by controller. */
  passes: Record<string, number>
}

/** `shownBy`: how many changes of the claim after its appearance it took to show Prepared. */
export type Prepared = { preparedMs: number; readyMs: number; shownBy: number }

export const namespace = sampleNamespace

export const claimBody = (name: string): KubeObject => ({
  apiVersion: apiVersionOf(NetworkInterfaceClaim),
  kind: NetworkInterfaceClaim.kind,
  metadata: { name, namespace },
  spec: { network: { name: sampleNetwork }, ipFamilies: ['IPv6'] },
})

export async function startReal(dir: string, log: (line: string) => void, signal: AbortSignal): Promise<Real> {
  const system = await startSystem({ dir, log, signal })
  try {
    const { plane } = system
    if (!plane) throw new Error('a bench needs a control plane of its own')
    const withWorld = async <T>(work: (world: World) => Promise<T>) => {
      const world = await followWorld(system.kubeconfigPath, namespace, signal)
      try {
        return await work(world)
      } finally {
        await world.close()
      }
    }
    await withWorld(async (world) => {
      await ensureNamespace(world, namespace, signal)
      await ensureNetworks(world, signal)
    })
    const user = await startUser(
      system.kubeconfigPath,
      { claims: NetworkInterfaceClaim, interfaces: NetworkInterface },
      namespace,
      signal,
    )
    const { client, caches } = user
    return {
      ...{ client, ...caches, plane, system, withWorld },
      prepare: (name) => prepare({ client, ...caches }, name, signal),
      counters: () => counters(system),
      async stop() {
        await user.stop()
        await system.stop()
      },
    }
  } catch (error) {
    await system.stop()
    throw error
  }
}

async function prepare(
  { client, claims, interfaces }: Pick<Real, 'client' | 'claims' | 'interfaces'>,
  name: string,
  signal: AbortSignal,
): Promise<Prepared> {
  const key = keyFor(name, namespace)
  let shownBy = 0
  let isShown = false
  const unsubscribe = claims.subscribe((change) => {
    if (change.key !== key || isShown) return
    if (change.before) shownBy += 1
    isShown = isTrue(change.after, 'Prepared')
  })
  const started = performance.now()
  const prepared = seen([claims], () => isTrue(claims.get(key), 'Prepared'), `${name} Prepared`, signal)
  const ready = seen([claims], () => isTrue(claims.get(key), 'Ready'), `${name} Ready`, signal)
  const settled = seen([interfaces], () => isTrue(interfaces.get(key), 'Programmed'), `interface of ${name} Programmed`, signal)
  await client.create(NetworkInterfaceClaim, claimBody(name) as never, { fieldManager: 'bench' }, signal)
  const [preparedAt, readyAt] = await Promise.all([prepared, ready, settled])
  unsubscribe()
  return { preparedMs: preparedAt - started, readyMs: readyAt - started, shownBy }
}

async function counters({ nso, dataPlane }: System): Promise<Counters> {
  const pages = await Promise.all([nso, dataPlane].map(async ({ metricsUrl }) => (await fetch(`${metricsUrl}/metrics`)).text()))
  const samples = pages.flatMap(parseMetrics)
  return {
    reconcileErrors: sumOf(samples, 'controller_runtime_reconcile_errors_total'),
    ownershipConflicts: sumOf(samples, 'status_ownership_conflicts_total'),
    passes: passesIn(samples),
  }
}

function passesIn(samples: ReturnType<typeof parseMetrics>): Record<string, number> {
  const passes: Record<string, number> = {}
  for (const { name, labels, value } of samples) {
    const { controller } = labels
    if (name === 'controller_runtime_reconcile_total' && controller) passes[controller] = (passes[controller] ?? 0) + value
  }
  return passes
}

/** The objects of one settled claim, as bodies for the floor. */
export async function captureTemplates({ client }: Real, name: string, signal: AbortSignal): Promise<Templates> {
  const at = { name, namespace }
  const find = async (role: 'claim' | 'interface' | 'attachment' | 'definition') => client.find(realKind(role), at, signal)
  const [claim, nic, attachment, definition] = await Promise.all([
    find('claim'),
    find('interface'),
    find('attachment'),
    find('definition'),
  ])
  const leases = await client.list(AddressLease, { namespace }, signal)
  const lease = leases.items.find(({ spec }) => spec.holder.claimName === name)
  const advertisements = await client.list(BGPAdvertisement, {}, signal)
  const advertisement = advertisements.items.find(({ metadata }) =>
    Object.values(metadata.annotations ?? {}).includes(keyFor(name, namespace)),
  )
  const template = (what: string, stored: KubeObject | undefined): Template => {
    if (!stored) throw new Error(`no ${what} of claim ${name}`)
    return templateOf(stored)
  }
  return {
    // As its user writes it: the schema's defaults and the finalizer are the server's work, there as here.
    claim: { ...template('claim', claim), body: templateOf(claimBody(name)).body },
    lease: template('lease', lease),
    interface: template('interface', nic),
    attachment: template('attachment', attachment),
    definition: template('definition', definition),
    advertisement: template('advertisement', advertisement),
  }
}

/** Runs `work` and answers every completed request that the API server logged meanwhile. */
export async function audited<T>(plane: Plane, work: () => Promise<T>): Promise<{ result: T; audit: AuditEntry[] }> {
  const from = await tailAudit(plane)
  const result = await work()
  const to = await tailAudit(plane)
  const entries = await readAudit(plane.auditLogPath ?? '', { from, to })
  return { result, audit: entries.filter(({ stage }) => stage === 'ResponseComplete' || stage === 'Panic') }
}
