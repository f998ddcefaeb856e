/**
 * Allocates every request of a claim, or none: one IPClaim each, made side by side, since a workload waits. The name is the lock
 * and the memory: what stands under it from before is taken up again.
 * Crash at any point: the IPClaims made so far bear the claim's name, so the next pass takes them up or its release gives them back.
 */
import { NetworkInterface } from '@nso/api'
import { type Key, keyFor, keyOf } from 'kube-control-loop'
import { IPClaim, IPClass } from 'kube-ipam'
import { familiesOf } from '../../claim/wants.ts'
import { interfaceNameOf, isDeleting, isProjection } from '../../interface/holder.ts'
import { advice } from '../../messages.ts'
import { type Block, formatCidr } from '../cidr.ts'
import { addressIndexKey } from '../lease.ts'
import type { AddressAllocator, AddressRequest, AllocatedAddress, Allocation } from '../port.ts'
import { isFromHere, listingInterface, removeHeld } from './give-back.ts'
import { type Look, topics } from './interests.ts'
import { ipClaimFor, sourceOf, type Wish } from './ip-claim.ts'
import { judge } from './judge.ts'
import { fieldManager, type IpamParts } from './parts.ts'
import type { Project } from './project.ts'
import { refusalOf, type ServiceRefusal } from './refusals.ts'
import { postClaim, projectIn, unlessAway } from './service.ts'
import { takeUp } from './take-up.ts'

type Request = Parameters<AddressAllocator['allocate']>[0]
type Identified = Wish & { readonly key: Key; readonly namespace: string; readonly uid: string; readonly look: Look }

/** What came of one request. `isOwn`: nobody but this claim ever had it. `waitsFor`: topics that may change the answer. */
type Held = { kind: 'held'; want: AddressRequest; address: AllocatedAddress; ipClaim: IPClaim; made: boolean; isOwn: boolean }
type Refused = { kind: 'refused'; waitsFor: readonly string[]; isAway?: true; isKept?: true } & ServiceRefusal
type Obtained = Held | Refused

export async function allocate(parts: IpamParts, request: Request, signal: AbortSignal): Promise<Allocation> {
  const { claim, context, wants } = request
  const { namespace = '', uid } = claim.metadata
  if (uid === undefined) throw new TypeError(`claim ${keyOf(claim)} has no uid: addresses are held by objects that exist`)
  const key = keyOf(claim)
  await parts.service.namespaces.ready(signal)
  using look = parts.interests.look()
  const answer = projectIn(parts.service, namespace)
  if (answer.kind === 'refused') return refuse(parts, { key, namespace, look }, { ...answer, waitsFor: [] })
  const namespaceUid = parts.service.namespaces.get(namespace)?.metadata.uid
  const project = projectOfHeld(parts, key, uid, answer.project)
  const wish: Identified = { claim, place: context.spec, project, namespaceUid, key, namespace, uid, look }
  const unfit = await unfitClass(parts, wish, wants, signal)
  if (unfit) return refuse(parts, wish, unfit)
  const made = await together(wants.map((want) => obtain(parts, wish, want, signal)))
  const ends = made.fault || made.refused ? made : await together(made.held.map((one) => confirm(parts, wish, one, signal)))
  const { fault, refused } = ends
  if (!fault && !refused) {
    parts.interests.drop(`claim ${key}`)
    return { kind: 'allocated', addresses: ends.held.map(({ address }) => address) }
  }
  // What could not be confirmed stands as it was obtained.
  const confirmed = new Set(ends.held.map(({ want }) => want))
  const held = [...ends.held, ...made.held.filter(({ want }) => !confirmed.has(want))]
  const isRefused = made.refused !== undefined && !made.fault && !made.refused.isAway
  await rollBack(parts, { wish, held, isRefused }, signal)
  if (fault) throw fault.reason
  return refuse(parts, wish, refused as Refused)
}

/** Labels that were changed do not move what the claim holds: an interface that is made again gets the same addresses. */
function projectOfHeld({ service }: IpamParts, key: Key, uid: string, labelled: Project): Project {
  const held = service.claims.by('source', key).filter((each) => sourceOf(each)?.uid === uid && isFromHere({ service }, each))
  const where = new Set(held.map(({ metadata }) => metadata.namespace ?? ''))
  const [first = labelled.namespace] = where
  return where.has(labelled.namespace) ? labelled : { ...labelled, namespace: first }
}

/** All have ended before anything is decided. */
async function together(asked: readonly Promise<Obtained>[]) {
  const ends = await Promise.allSettled(asked)
  const obtained = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []))
  return {
    held: obtained.filter((one) => one.kind === 'held'),
    refused: obtained.find((one) => one.kind === 'refused'),
    fault: ends.find((end) => end.status === 'rejected'),
  }
}

/** What was told while the pass asked woke nobody who waits only now, so the pass is made again. */
function refuse(
  parts: IpamParts,
  { key, namespace, look }: Pick<Identified, 'key' | 'namespace' | 'look'>,
  { reason, message, waitsFor }: ServiceRefusal & { waitsFor: readonly string[] },
): Allocation {
  const awaited = [...waitsFor, topics.namespace(namespace)]
  parts.interests.set(`claim ${key}`, look.missed(awaited) ? [...awaited, ...parts.inAWhile()] : awaited)
  return { kind: 'refused', reason, message }
}

/** Asked before anything is made, once per class and process: a class is of one family for ever. */
async function unfitClass(
  parts: IpamParts,
  wish: Identified,
  wants: readonly AddressRequest[],
  signal: AbortSignal,
): Promise<Refused | undefined> {
  const classes = wants.flatMap((want) => (want.class === undefined ? [] : [want.class]))
  const answers = await Promise.all(classes.map((name) => unfitFor(parts, wish, name, signal)))
  return answers.find((answer) => answer !== undefined)
}

async function unfitFor(parts: IpamParts, wish: Identified, name: string, signal: AbortSignal) {
  const known = parts.families.get(name)
  const found = known === undefined ? await findClass(parts, wish, name, signal) : { family: known }
  if (!('family' in found)) return found
  parts.families.set(name, found.family)
  const families: readonly string[] = familiesOf(wish.claim)
  if (families.includes(found.family)) return undefined
  const what = `Class ${name} of the address service is of ${found.family}, which the claim does not ask for`
  return rejected(advice(what, `make a claim of family ${found.family} too, or of another class`))
}

async function findClass(parts: IpamParts, { project }: Wish, name: string, signal: AbortSignal) {
  const asked = await ask(parts, project, () => parts.service.client.find(IPClass, { name }, signal), signal)
  if (asked.kind === 'refused') return asked
  if (!asked.found) return rejected(advice(`The address service has no class ${name}`, 'ask for a class that it has'))
  return { family: asked.found.spec.ipFamily }
}

/** A read at the service, whose failures are answers. */
async function ask<T>(
  parts: IpamParts,
  project: Wish['project'],
  question: () => Promise<T>,
  signal: AbortSignal,
): Promise<{ kind: 'found'; found: T } | Refused> {
  try {
    const answer = await unlessAway(async () => ({ kind: 'found' as const, found: await question() }), signal)
    return answer.kind === 'away' ? away(parts, answer.message) : answer
  } catch (error) {
    return refusedBy(error, project)
  }
}

const rejected = (message: string) =>
  ({ kind: 'refused', reason: 'AddressAllocationRejected', message, waitsFor: [] }) as const satisfies Obtained

function away(parts: IpamParts, message: string): Refused {
  return { kind: 'refused', reason: 'AllocationFailed', message, waitsFor: parts.whenBack(), isAway: true }
}

/** Other answers end the pass, as they are. */
function refusedBy(error: unknown, project: Wish['project']): Refused {
  const refusal = refusalOf(error, project)
  if (!refusal) throw error
  // Credentials that were not accepted may be by the time that the service is followed again.
  return { kind: 'refused', ...refusal, waitsFor: refusal.reason === 'AllocationFailed' ? [topics.service] : [] }
}

async function obtain(parts: IpamParts, wish: Identified, want: AddressRequest, signal: AbortSignal): Promise<Obtained> {
  const ipClaim = ipClaimFor(wish, want)
  const posted = (await standing(parts, wish, ipClaim, signal)) ?? (await post(parts, wish, want, ipClaim, signal))
  if (posted.kind === 'refused') return posted
  const judged = judgedFor(parts, wish, want, posted)
  if (judged.kind === 'refused') {
    if (posted.made && !judged.isKept) await takeBack(parts, wish, posted.claim, signal).catch(() => undefined)
    if (want.class !== undefined) parts.families.delete(want.class)
  }
  return judged
}

function judgedFor(
  parts: IpamParts,
  wish: Identified,
  want: AddressRequest,
  { claim: ipClaim, made }: { claim: IPClaim; made: boolean },
): Obtained {
  const others = { holder: holderOf(parts, wish, ipClaim), lister: (block: Block) => listerOf(parts, wish, block) }
  const judgement = judge(ipClaim, { wish, request: want, others })
  if (judgement.kind !== 'ours') {
    const { kind, reason, message } = judgement
    const own = topics.ipClaim(keyOf(ipClaim))
    if (kind !== 'taken') return { kind: 'refused', reason, message, waitsFor: [own] }
    // Given back, it would be what the service gives the next claim, and the one after that.
    return { kind: 'refused', reason, message, waitsFor: [own, topics.going(judgement.by)], isKept: true }
  }
  const { block, isOwn } = judgement
  if (!(familiesOf(wish.claim) as readonly string[]).includes(block.family)) {
    return rejected(`${lacking(want)}: the address service answered with one of ${block.family}.`)
  }
  const address = { request: want, family: block.family, cidr: formatCidr(block), external: want.class !== undefined }
  return { kind: 'held', want, address, ipClaim, made, isOwn }
}

/** What was made just now nobody has decided on before; all else is taken up, and judged as it stands then. */
async function confirm(parts: IpamParts, wish: Identified, held: Held, signal: AbortSignal): Promise<Obtained> {
  if (held.made) return held
  const asked = await ask(parts, wish.project, () => takeUp(parts, held.ipClaim, signal), signal)
  if (asked.kind === 'refused') return asked
  return judgedFor(parts, wish, held.want, { claim: asked.found, made: false })
}

/** Known to stand: read anew, since an address is about to be published; a POST would only be refused. */
async function standing(parts: IpamParts, { project }: Wish, { metadata }: IPClaim, signal: AbortSignal) {
  const { claims, client } = parts.service
  const known = claims.get(keyOf({ metadata }))
  if (!known) return undefined
  const asked = await ask(parts, project, () => client.find(IPClaim, metadata, signal), signal)
  if (asked.kind === 'refused') return asked
  if (!asked.found) return void claims.absorbGone(known)
  claims.absorb(asked.found)
  return { kind: 'stands', claim: asked.found, made: false } as const
}

const lacking = (want: AddressRequest) =>
  want.class === undefined ? `No ${want.family} address` : `No address of class ${want.class}`

async function post(parts: IpamParts, wish: Identified, want: AddressRequest, ipClaim: IPClaim, signal: AbortSignal) {
  const asked = { claim: ipClaim, project: wish.project, fieldManager }
  try {
    const posted = await postClaim(parts.service, asked, signal)
    if (posted.kind === 'away') return away(parts, posted.message)
    if (posted.kind === 'stands') {
      if (posted.made) wish.look.made([topics.ipClaim(keyOf(ipClaim))])
      return posted
    }
    const { pool, message } = posted
    const waitsFor = [pool === undefined ? topics.ipClaim(keyOf(ipClaim)) : topics.room(pool)]
    return { ...posted, message: `${lacking(want)}: ${message}`, waitsFor }
  } catch (error) {
    return refusedBy(error, wish.project)
  }
}

/** Another interface of this claim's name, kept (Retain) or still going: what bears that name is its own. */
function holderOf(parts: IpamParts, { claim, namespace }: Identified, ipClaim: IPClaim): NetworkInterface | undefined {
  return listingInterface(parts, ipClaim, { namespace, name: claim.metadata.name }, keyFor(interfaceNameOf(claim), namespace))
}

/**
 * Another interface of the network that lists the block: it goes on using what the service does not hold for it any more. One
 * that is going gives its addresses back when nothing uses them any more, and is still there for a moment.
 */
function listerOf({ caches }: IpamParts, { claim, namespace }: Identified, block: Block): NetworkInterface | undefined {
  const own = keyFor(interfaceNameOf(claim), namespace)
  const nics = caches.interfaces.by('address', addressIndexKey(namespace, block))
  return nics.find(
    (nic) => keyOf(nic) !== own && !isProjection(nic) && !isDeleting(nic) && nic.spec.network.name === claim.spec.network.name,
  )
}

/**
 * What this pass made goes. Where an address is refused so does what an earlier one made for this very claim, if it never came to an
 * interface. All else stands: it is what a claim made again, or an interface made again, is to get back. What cannot be given
 * back now is taken up by the next pass, or given back with the claim.
 */
async function rollBack(
  parts: IpamParts,
  { wish, held, isRefused }: { wish: Identified; held: readonly Held[]; isRefused: boolean },
  signal: AbortSignal,
): Promise<void> {
  const made = held.filter((one) => one.made)
  const left = isRefused ? held.filter((one) => !one.made && one.isOwn) : []
  const unused = left.length > 0 && (await neverUsed(parts, wish, signal).catch(() => false)) ? left : []
  await Promise.allSettled([...made, ...unused].map(({ ipClaim }) => takeBack(parts, wish, ipClaim, signal)))
}

async function takeBack(parts: IpamParts, { look }: Identified, ipClaim: IPClaim, signal: AbortSignal): Promise<void> {
  const pool = ipClaim.status?.poolRef?.name
  look.doing([topics.ipClaim(keyOf(ipClaim)), ...(pool === undefined ? [] : [topics.room(pool)])])
  await removeHeld(parts, ipClaim, signal)
}

/** Read live: an interface whose answer was lost is not in the cache yet, and lists what is about to go. */
async function neverUsed(parts: IpamParts, { claim, namespace }: Identified, signal: AbortSignal): Promise<boolean> {
  if (claim.status?.networkInterfaceRef) return false
  return (await parts.cluster.find(NetworkInterface, { name: interfaceNameOf(claim), namespace }, signal)) === undefined
}
