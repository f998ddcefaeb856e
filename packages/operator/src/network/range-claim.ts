/**
 * Ranges that an address service holds: a claim with target ScopeRange binds the pool of a network, or of its presence in one
 * location. Claims are named by the uid of the object that they are for, so that a restart, a second leader or a lost answer
 * finds the same one.
 */
import { group, Network } from '@nso/api'
import {
  ApiError,
  again,
  apiVersionOf,
  type CacheState,
  type Clock,
  keyFor,
  keyOf,
  type Outcome,
  waiting,
} from 'kube-control-loop'
import { IPClaim, type ScopeReference } from 'kube-ipam'
import type { Block } from '../addresses/cidr.ts'
import { blockOf } from '../addresses/ipam/ip-claim.ts'
import type { Project, ProjectAnswer } from '../addresses/ipam/project.ts'
import { type AddressService, type Away, postClaim, projectIn, unlessAway } from '../addresses/ipam/service.ts'
import type { RefusalReason } from '../addresses/port.ts'
import { advice } from '../messages.ts'

/** How the network controllers work with an address service. */
export type RangeService = AddressService & {
  /** Class of a network's range, and of a context's; without one no range of that sort is asked for. */
  readonly classes: { readonly network?: string | undefined; readonly subnet?: string | undefined }
  /** How long a refusal stands before the service is asked again, in ms. */
  readonly retryRefusedMs: number
}

/** How long an answer that did not come is waited for before the service is asked again, in ms. */
export const askAgainMs = 3_000

const prefixes = { network: 'network-', context: 'networkcontext-' } as const

/** Names of the IPClaims, by the uid of whose range it is: one made again under its name gets another range. */
export const networkClaimName = (uid: string): string => `${prefixes.network}${uid}`
export const contextClaimName = (uid: string): string => `${prefixes.context}${uid}`

/** The uid of the object that a claim of that name is for; undefined when the name is no such one. */
export function uidIn(claimName: string, of: keyof typeof prefixes): string | undefined {
  return claimName.startsWith(prefixes[of]) ? claimName.slice(prefixes[of].length) : undefined
}

export type Place = { readonly network: string; readonly location?: string }

export type RangeRequest = { readonly claim: IPClaim; readonly project: Project }

const role = (kind: string, name: string): ScopeReference => ({ apiGroup: group, kind, name })

export function rangeRequest(wanted: { name: string; className: string; project: Project; place: Place }): RangeRequest {
  const { name, className, project, place } = wanted
  const location = place.location === undefined ? {} : { location: role('Location', place.location) }
  const claim: IPClaim = {
    apiVersion: apiVersionOf(IPClaim),
    kind: IPClaim.kind,
    metadata: { name, namespace: project.namespace },
    spec: { className, scope: { network: role(Network.kind, place.network), ...location }, target: 'ScopeRange' },
  }
  return { claim, project }
}

/** Where a range is held, as statuses say it. */
export type RangeRef = { project: string; namespace: string; claimName: string; poolName: string }

/**
 * In which project a range is held: by the labels of the namespace. What is held does not move when they change or go; that it
 * is held, the service says: where its claims are not followed yet, one that is not known may stand, and asking for it again in the
 * same place finds it.
 */
export function projectOfRange(
  service: Pick<AddressService, 'claims' | 'namespaces'>,
  namespace: string,
  onRecord: RangeRef | undefined,
): ProjectAnswer {
  const labelled = projectIn(service, namespace)
  if (!onRecord) return labelled
  const stands = service.claims.get(keyFor(onRecord.claimName, onRecord.namespace)) !== undefined
  if (labelled.kind === 'resolved' && !stands && isFollowed(service.claims)) return labelled
  return { kind: 'resolved', project: { name: onRecord.project, namespace: onRecord.namespace } }
}

/** Whether what a cache does not have does not stand. */
const isFollowed = ({ state }: { state: CacheState }): boolean => state === 'synced' || state === 'stale'

export type HeldRange =
  | { readonly kind: 'held'; readonly range: Block; readonly ref: RangeRef }
  /** `againMs`: when the service is asked again. */
  | { readonly kind: 'refused'; readonly reason: RefusalReason; readonly message: string; readonly againMs: number }
  | Away

export type RangeAsker = {
  /** How long a refusal that is no answer of the service stands, in ms. */
  readonly retryRefusedMs: number
  /** Holds a range. Repeatable: the same request has the same range while its claim stands. */
  hold(request: RangeRequest, signal: AbortSignal): Promise<HeldRange>
  /** Gives back what is held under a claim's name. */
  giveBack(name: string, signal: AbortSignal): Promise<GivenBack>
}

/**
 * Asks the service only when what is known does not tell. What it refused is not asked again before its time, however often the
 * object changes meanwhile.
 */
export function createRangeAsker(
  service: RangeService,
  { clock, fieldManager }: { clock: Clock; fieldManager: string },
): RangeAsker {
  const { retryRefusedMs } = service
  const refused = new Map<string, { what: string; until: number; answer: Extract<HeldRange, { kind: 'refused' }> }>()
  return {
    retryRefusedMs,
    async hold({ claim, project }, signal) {
      const { name } = claim.metadata
      const known = service.claims.get(keyFor(name, project.namespace))
      if (known) return rangeOf(known, project, retryRefusedMs)
      const [what, earlier] = [JSON.stringify(claim), refused.get(name)]
      const left = earlier?.what === what ? earlier.until - clock.monotonic() : 0
      if (earlier && left > 0) return { ...earlier.answer, againMs: Math.ceil(left) }
      refused.delete(name)
      const posted = await postClaim(service, { claim, project, fieldManager }, signal)
      if (posted.kind === 'stands') return rangeOf(posted.claim, project, retryRefusedMs)
      if (posted.kind === 'away') return posted
      const answer = { ...posted, againMs: retryRefusedMs }
      refused.set(name, { what, until: clock.monotonic() + retryRefusedMs, answer })
      return answer
    },
    async giveBack(name, signal) {
      const back = await giveBackRange(service, name, signal)
      if (back.kind === 'gone') refused.delete(name)
      return back
    },
  }
}

function rangeOf(claim: IPClaim, project: Project, againMs: number): HeldRange {
  const { name } = claim.metadata
  const failed = (what: string, next: string): HeldRange => ({
    kind: 'refused',
    reason: 'AllocationFailed',
    message: advice(`IPClaim ${project.namespace}/${name} of project ${project.name} ${what}`, next),
    againMs,
  })
  if (claim.metadata.deletionTimestamp !== undefined) return failed('is being deleted', 'wait for that, it is made again')
  if (claim.spec.target !== 'ScopeRange') return failed('is not a claim on a whole range', 'delete it')
  const range = blockOf(claim)
  if (range?.family !== 'IPv6') return failed('holds no IPv6 range', 'ask whoever runs the address service')
  const ref = {
    project: project.name,
    namespace: project.namespace,
    claimName: name,
    poolName: claim.status?.poolRef?.name ?? '',
  }
  return { kind: 'held', range, ref }
}

export type GivenBack =
  | { readonly kind: 'gone' }
  /** Something inside the range is still held. */
  | { readonly kind: 'occupied'; readonly message: string }
  /** Deleted, and somebody's finalizer holds it. `isFollowed`: its end is told. */
  | { readonly kind: 'going'; readonly on: string; readonly isFollowed: boolean }
  | Away

/** How a pass ends that waits for the end of a claim. */
export function untilGone({ on, isFollowed }: Extract<GivenBack, { kind: 'going' }>): Outcome {
  return isFollowed ? waiting(on) : again(askAgainMs, on)
}

/** Where a finalizer says that a service holds a range, and this process was started without one. */
export const noService: GivenBack = {
  kind: 'away',
  message: advice(
    'An address service holds the range, and NSO runs without one',
    'start NSO with --ipam-kubeconfig, so that the range is given back',
  ),
}

/**
 * Gives a range back. Found by the name alone, in whichever namespace: neither the labels of a namespace nor a status need to
 * stand for it. Repeatable; `gone` is what a live list says.
 */
async function giveBackRange(service: AddressService, name: string, signal: AbortSignal): Promise<GivenBack> {
  const listed = await unlessAway(() => claimsNamed(service, name, signal), signal)
  if ('kind' in listed) return listed
  for (const claim of listed) {
    const end = await unlessAway(() => remove(service, claim, signal), signal)
    if (end.kind !== 'gone') return end
  }
  return { kind: 'gone' }
}

async function claimsNamed({ client }: AddressService, name: string, signal: AbortSignal): Promise<IPClaim[]> {
  const { items } = await client.list(IPClaim, { fieldSelector: `metadata.name=${name}` }, signal)
  return items.filter(({ metadata, spec }) => metadata.name === name && spec.target === 'ScopeRange')
}

async function remove({ client, claims }: AddressService, claim: IPClaim, signal: AbortSignal): Promise<GivenBack> {
  const { metadata } = claim
  const where = `IPClaim ${metadata.namespace}/${metadata.name}`
  /** Known from here on, so that a list of the cache that does not have it any more is the news of its end. */
  const going = (seen: IPClaim): GivenBack => {
    claims.absorb(seen)
    const isKnown = claims.get(keyOf(seen))?.metadata.uid === metadata.uid
    return { kind: 'going', on: `deletion of ${where}`, isFollowed: isKnown && isFollowed(claims) }
  }
  if (metadata.deletionTimestamp !== undefined) return going(claim)
  try {
    const left = await client.remove(IPClaim, metadata, metadata.uid === undefined ? {} : { uid: metadata.uid }, signal)
    if (left) claims.absorb(left)
    else claims.absorbGone(claim)
  } catch (error) {
    if (!(error instanceof ApiError) || (error.status !== 409 && error.status !== 404)) throw error
  }
  const live = await client.find(IPClaim, metadata, signal)
  if (!live || live.metadata.uid !== metadata.uid) {
    claims.absorbGone(claim)
    return { kind: 'gone' }
  }
  if (live.metadata.deletionTimestamp !== undefined) return going(live)
  const message = advice(
    `The address service keeps the range of ${where}, since something in it is still held`,
    'delete what holds it: interfaces, retained allocations, network contexts made by hand',
  )
  return { kind: 'occupied', message }
}
