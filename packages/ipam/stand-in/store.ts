/** What the service reads and writes on the real API server, under its own identity. */
import { apiVersionOf, type Client, type Kind, type KubeObject } from 'kube-control-loop'
import { IPAllocation, IPClaim, IPClass, IPPool } from '../src/index.ts'
import { allocationName } from './names.ts'
import { type NewPool, type Plan, planFor, type Standing } from './plan.ts'
import { Refused } from './refused.ts'
import { type Chore, carvedLabel, choresIn, claimUidLabel } from './tidy.ts'

export const fieldManager = 'ipam-stand-in'

const Namespace: Kind = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', scope: 'Cluster' }

export type Store = {
  hasNamespace(name: string, signal: AbortSignal): Promise<boolean>
  findClaim(namespace: string, name: string, signal: AbortSignal): Promise<IPClaim | undefined>
  /** All that stands, once everything that was left unfinished is put right. What others have just written may be missing. */
  settled(signal: AbortSignal): Promise<Standing>
  /** The next `settled` shows what others have written until then. */
  forget(): void
  /** Makes what the plan says and writes the answer into the claim, which stands. */
  carryOut(claim: IPClaim, plan: Plan, signal: AbortSignal): Promise<IPClaim>
  removeClaim(claim: IPClaim, signal: AbortSignal): Promise<void>
}

/** More rounds than there is ever to put right: whatever needs more is changed by somebody all the time. */
const rounds = 10_000

export function createStore(client: Client): Store {
  const known = createKnown()
  const writing: Writing = { client, known }
  const standing = async (signal: AbortSignal): Promise<Standing> => {
    const all = async <S, T>(kind: Kind<S, T>) => {
      const { items, resourceVersion } = await client.list(kind, known.since(kind), signal)
      known.note(kind, resourceVersion)
      return items
    }
    const [classes, pools, allocations, claims] = await Promise.all([all(IPClass), all(IPPool), all(IPAllocation), all(IPClaim)])
    return { classes, pools, allocations, claims }
  }
  const carryOut: Store['carryOut'] = async (claim, plan, signal) => {
    for (const pool of plan.pools) await createPool(writing, pool, signal)
    const allocation = plan.allocation && (await hold(writing, claim, plan, plan.allocation, signal))
    return await writeStatus(writing, IPClaim, claim.metadata, statusOf(plan, allocation), signal)
  }
  const store: Store = {
    hasNamespace: async (name, signal) => (await client.find(Namespace, { name }, signal)) !== undefined,
    findClaim: (namespace, name, signal) => client.find(IPClaim, { namespace, name }, signal),
    forget: known.forget,
    carryOut,
    removeClaim: ({ metadata }, signal) => remove(writing, IPClaim, metadata, signal),
    async settled(signal) {
      let now = await standing(signal)
      for (let round = 0; round < rounds; round++) {
        const [chore, ...others] = choresIn(now)
        if (!chore) return now
        // A claim's answer depends on those before it; the rest do not concern each other.
        const all = chore.do === 'answer' ? [chore] : [chore, ...others]
        for (const each of all) await doChore({ writing, store, standing: now }, each, signal)
        now = all.every(isRemoval) ? without(now, all) : await standing(signal)
      }
      throw new Error(`after ${rounds} rounds there is still something to put right`)
    },
  }
  return store
}

/**
 * How far each kind was read or written here: a list is to show at least that, which the server has at once. A list that shows everything
 * takes it some tenths of a second after any write.
 */
function createKnown() {
  const versions = new Map<string, string>()
  return {
    note(kind: Kind, resourceVersion: string | undefined): void {
      if (resourceVersion !== undefined) versions.set(kind.plural, resourceVersion)
    },
    /** A deletion is answered without a version. */
    forget(kind?: Kind): void {
      if (kind) versions.delete(kind.plural)
      else versions.clear()
    },
    since(kind: Kind): { resourceVersion?: string } {
      const resourceVersion = versions.get(kind.plural)
      return resourceVersion === undefined ? {} : { resourceVersion }
    },
  }
}

type Writing = { client: Client; known: ReturnType<typeof createKnown> }
type Removal = Extract<Chore, { do: 'drop-allocation' | 'drop-pool' }>

const isRemoval = (chore: Chore): chore is Removal => chore.do === 'drop-allocation' || chore.do === 'drop-pool'

function without(standing: Standing, removals: readonly Removal[]): Standing {
  const gone = new Set<unknown>(removals.map((each) => (each.do === 'drop-pool' ? each.pool : each.allocation)))
  return {
    ...standing,
    pools: standing.pools.filter((pool) => !gone.has(pool)),
    allocations: standing.allocations.filter((allocation) => !gone.has(allocation)),
  }
}

type ChoreParts = { writing: Writing; store: Store; standing: Standing }

async function doChore({ writing, store, standing }: ChoreParts, chore: Chore, signal: AbortSignal): Promise<void> {
  switch (chore.do) {
    case 'drop-allocation':
      return await remove(writing, IPAllocation, chore.allocation.metadata, signal)
    case 'drop-pool':
      return await remove(writing, IPPool, chore.pool.metadata, signal)
    case 'retain-allocation':
      return await letGo(writing, chore.allocation, signal)
    case 'answer':
      return await answerLate(store, chore.claim, standing, signal)
  }
}

/** Whoever made the claim has had no answer, or an error: one that cannot be served goes, as if it had been refused. */
async function answerLate(store: Store, claim: IPClaim, standing: Standing, signal: AbortSignal): Promise<void> {
  try {
    await store.carryOut(claim, planFor(draftOf(claim), standing), signal)
  } catch (error) {
    // Deleted meanwhile.
    if (isGone(error)) return store.forget()
    if (!(error instanceof Refused)) throw error
    await store.removeClaim(claim, signal)
  }
}

export const draftOf = ({ metadata, spec }: IPClaim) => ({
  namespace: metadata.namespace ?? '',
  name: metadata.name,
  spec,
})

/** Also when it is gone already. */
async function remove({ client, known }: Writing, kind: Kind, at: KubeObject['metadata'], signal: AbortSignal): Promise<void> {
  const { name, namespace, uid } = at
  known.forget(kind)
  await client.remove(kind, { name, namespace }, uid ? { uid } : {}, signal).catch((error: unknown) => {
    if (!isGone(error)) throw error
  })
}

const isGone = (error: unknown): boolean => (error as { status?: number } | undefined)?.status === 404

async function letGo({ client, known }: Writing, { metadata }: IPAllocation, signal: AbortSignal): Promise<void> {
  const { name, namespace, resourceVersion = '' } = metadata
  known.forget(IPAllocation)
  const operations = [
    { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
    { op: 'remove', path: '/spec/claimRef' },
    ...(metadata.labels?.[claimUidLabel] ? [{ op: 'remove', path: labelPath } as const] : []),
  ] as const
  await client.jsonPatch(IPAllocation, { name, namespace }, operations, { fieldManager }, signal).catch((error: unknown) => {
    if (!isGone(error)) throw error
  })
}

const labelPath = `/metadata/labels/${claimUidLabel.replace('/', '~1')}`

async function createPool(writing: Writing, pool: NewPool, signal: AbortSignal): Promise<void> {
  const { name, cidr, family, parent, classNames, scope } = pool
  const object: IPPool = {
    apiVersion: apiVersionOf(IPPool),
    kind: IPPool.kind,
    metadata: { name, labels: { [carvedLabel]: 'true' } },
    spec: { cidr, ipFamily: family, parentPoolRef: { name: parent }, classNames, scope: { ...scope } },
  }
  await writing.client.create(IPPool, object, { fieldManager }, signal)
  await writeStatus(writing, IPPool, object.metadata, { allocatedCIDR: cidr }, signal)
}

type Held = NonNullable<Plan['allocation']>

/** Makes the allocation, or takes a retained one up again; resolves with its name. */
async function hold(writing: Writing, claim: IPClaim, plan: Plan, held: Held, signal: AbortSignal): Promise<string> {
  const { name: claimName, namespace = '', uid = '' } = claim.metadata
  const claimRef = { name: claimName }
  const { reclaimPolicy = 'Delete', scope } = claim.spec
  const labels = { [claimUidLabel]: uid }
  // A claim that goes without this service having been asked takes what it held along.
  const ownerReferences =
    reclaimPolicy === 'Delete' ? [{ apiVersion: apiVersionOf(IPClaim), kind: IPClaim.kind, name: claimName, uid }] : []
  if (held.retained !== undefined) {
    const operations = [
      { op: 'add', path: '/spec/claimRef', value: claimRef },
      { op: 'add', path: '/spec/reclaimPolicy', value: reclaimPolicy },
      { op: 'add', path: '/metadata/labels', value: labels },
      { op: 'add', path: '/metadata/ownerReferences', value: ownerReferences },
    ] as const
    const at = { name: held.retained, namespace }
    const taken = await writing.client.jsonPatch(IPAllocation, at, operations, { fieldManager }, signal)
    writing.known.note(IPAllocation, taken.metadata.resourceVersion)
    return held.retained
  }
  const name = allocationName(namespace, claimName)
  const object: IPAllocation = {
    apiVersion: apiVersionOf(IPAllocation),
    kind: IPAllocation.kind,
    metadata: { name, namespace, labels, ownerReferences },
    spec: {
      ...{ ipFamily: held.family, poolRef: { name: plan.pool }, className: held.className, purpose: 'Claim', claimRef },
      ...{ reclaimPolicy, ...(scope ? { scope } : {}) },
    },
  }
  await writing.client.create(IPAllocation, object, { fieldManager }, signal)
  await writeStatus(writing, IPAllocation, object.metadata, { phase: 'Bound', allocatedCIDR: plan.cidr }, signal)
  return name
}

export function statusOf({ cidr, pool }: Plan, allocation: string | undefined): NonNullable<IPClaim['status']> {
  const bound = allocation === undefined ? {} : { boundAllocationRef: { name: allocation } }
  return { phase: 'Bound', allocatedCIDR: cidr, poolRef: { name: pool }, ...bound }
}

async function writeStatus<S, T>(
  { client, known }: Writing,
  kind: Kind<S, T>,
  { name, namespace }: KubeObject['metadata'],
  value: unknown,
  signal: AbortSignal,
): Promise<KubeObject<S, T>> {
  const at = { name, namespace, subresource: 'status' }
  const written = await client.jsonPatch(kind, at, [{ op: 'add', path: '/status', value }], { fieldManager }, signal)
  known.note(kind, written.metadata.resourceVersion)
  return written
}
