/**
 * Gives addresses back at the service: the IPClaim goes, and of a retained one its IPAllocation too. Only what bears a name
 * of the interface or claim that is let go, is for its network and location, and is nobody else's.
 * Crash between the two deletes: the interface still has its finalizer, and the next pass finds the IPAllocation by its block.
 */
import { annotations, labels, type NetworkInterface, type NetworkInterfaceClaim } from '@nso/api'
import { ApiError, type Key, keyFor, keyOf, together } from 'kube-control-loop'
import { IPAllocation, IPClaim } from 'kube-ipam'
import { wantsOf } from '../../claim/wants.ts'
import { holderKeyOf, holdOf, interfaceNameOf, isDeleting, isProjection } from '../../interface/holder.ts'
import { advice } from '../../messages.ts'
import { readBlock, sameBlock } from '../cidr.ts'
import { GiveBackWaits, type ReleasedClaim } from '../port.ts'
import type { Interested } from './interests.ts'
import { isSameToJudge, isScoped, type Place, sourceOf } from './ip-claim.ts'
import { isAskedAs } from './judge.ts'
import { allocationNameOf, ipClaimName, type Listed, listedIn } from './names.ts'
import type { IpamParts } from './parts.ts'
import { isAway } from './refusals.ts'
import { removeJudged } from './remove.ts'
import { projectIn } from './service.ts'

/** Where an interface is, as far as it says. */
export function placeOf(nic: NetworkInterface): { network: string; location: string | undefined } {
  return { network: nic.spec.network.name, location: nic.metadata.labels?.[labels.location] }
}

type Somewhere = { network: string | undefined; location: string | undefined }

/** What is not known is not compared. */
function isAt(ipClaim: IPClaim, { network, location }: Somewhere): boolean {
  const { scope } = ipClaim.spec
  const place: Place = {
    network: { name: network ?? scope?.network?.name ?? '' },
    location: { name: location ?? scope?.location?.name ?? '' },
  }
  return ipClaim.spec.target === undefined && isScoped(ipClaim, place)
}

/** An interface whose addresses bear that claim's name, other than `except`, and which lists what the IPClaim holds. */
export function listingInterface(
  { caches }: Pick<IpamParts, 'caches'>,
  ipClaim: Pick<IPClaim, 'metadata'>,
  { namespace, name }: { namespace: string | undefined; name: string },
  except?: Key,
): NetworkInterface | undefined {
  const key = keyFor(name, namespace)
  // One of earlier software may note no claim name: its claim's counts then.
  const nics = [...caches.interfaces.by('allocation', key), ...caches.interfaces.by('claim', key)]
  return nics.find(
    (nic) => keyOf(nic) !== except && !isProjection(nic) && listedIn(nic).some((one) => one.ipClaim === ipClaim.metadata.name),
  )
}

/** Whether a claim that lives asks for what bears this name. */
function isWanted(claim: NetworkInterfaceClaim | undefined, ipClaim: IPClaim): boolean {
  if (!claim || isDeleting(claim)) return false
  return wantsOf(claim).some((want) => ipClaimName(claim.metadata.name, want) === ipClaim.metadata.name)
}

export async function releaseInterface(parts: IpamParts, nic: NetworkInterface, signal: AbortSignal): Promise<void> {
  const listed = listedIn(nic)
  await whileReachable(parts, `interface ${keyOf(nic)}`, { signal, isAsked: true }, async () => {
    const project = await projectNamespace(parts, nic.metadata.namespace ?? '', signal)
    if (project.namespace === undefined && listed.length > 0 && bySource(parts, nic).length === 0) {
      throw new GiveBackWaits(`Addresses cannot be given back. ${project.message}`)
    }
    const named = await together(listed.map((one) => standing(parts, { ...one, namespace: project.namespace }, signal)))
    const own = [...named.flatMap((found) => found ?? []), ...bySource(parts, nic)].filter((found) => isOf(parts, found, nic))
    await together(
      [...new Map(own.map((found) => [keyOf(found), found])).values()].map((each) => removeHeld(parts, each, signal)),
    )
    const gone = listed.filter((_, at) => named[at] === undefined)
    if (nic.spec.reclaimPolicy === 'Retain') await removeRetained(parts, { nic, gone, namespace: project.namespace }, signal)
  })
}

/** Known to have been made for one of its claims; also where its namespace does not tell the project any more. */
function bySource({ service }: IpamParts, nic: NetworkInterface): readonly IPClaim[] {
  const { namespace, annotations: written } = nic.metadata
  const names = new Set(listedIn(nic).map(({ ipClaim }) => ipClaim))
  const keys = new Set([keyFor(allocationNameOf(nic), namespace), holderKeyOf(nic) ?? []].flat())
  const isMeant = (ipClaim: IPClaim) =>
    names.has(ipClaim.metadata.name) || sourceOf(ipClaim)?.uid === (written?.[annotations.claimUid] ?? nic.metadata.uid)
  return [...keys].flatMap((key) => service.claims.by('source', key)).filter(isMeant)
}

/** Whether it is this interface's to give back: neither another interface nor a claim of the same name has it since. */
function isOf({ caches }: IpamParts, ipClaim: IPClaim, nic: NetworkInterface): boolean {
  const { namespace } = nic.metadata
  const source = sourceOf(ipClaim)
  if (!isAt(ipClaim, placeOf(nic)) || (source && source.namespace !== namespace)) return false
  const name = source?.claim ?? allocationNameOf(nic)
  if (listingInterface({ caches }, ipClaim, { namespace, name }, keyOf(nic))) return false
  const claim = caches.claims.get(keyFor(name, namespace))
  if (!claim || holdOf(nic, claim) === 'ours') return true
  const isAnothers = claim.metadata.uid === source?.uid && interfaceNameOf(claim) !== nic.metadata.name
  return !(isAnothers && isWanted(claim, ipClaim))
}

export async function releaseClaim(parts: IpamParts, released: ReleasedClaim, signal: AbortSignal): Promise<void> {
  const { namespace, name, uid, wants = [] } = released
  const key = keyFor(name, namespace)
  const isDone = await whileReachable(parts, `claim ${key}`, { signal, isAsked: wants.length > 0 }, async () => {
    const project = await projectNamespace(parts, namespace, signal)
    const named = await together(
      wants.map(async (want) => {
        const at = { ipClaim: ipClaimName(name, want), namespace: project.namespace, trusting: true }
        const found = await standing(parts, at, signal)
        return found && isAskedAs(found, want) ? found : undefined
      }),
    )
    const made = parts.service.claims.by('source', key).filter((each) => sourceOf(each)?.uid === uid)
    const own = [...named.flatMap((found) => found ?? []), ...made].filter((found) => isLeftOf(parts, found, released))
    await together(
      [...new Map(own.map((found) => [keyOf(found), found])).values()].map((each) => removeHeld(parts, each, signal)),
    )
  })
  if (isDone) parts.interests.drop(`claim ${key}`)
}

/**
 * Whether it was left by this claim. The service may be shared with other clusters, which have namespaces and claims of the
 * same names: what is not marked as made here must be for this location and the claim's network.
 */
export function isLeftOf(parts: IpamParts, ipClaim: IPClaim, { namespace, name, uid }: ReleasedClaim): boolean {
  if (listingInterface(parts, ipClaim, { namespace, name })) return false
  const claim = parts.caches.claims.get(keyFor(name, namespace))
  if (claim?.metadata.uid !== uid && isWanted(claim, ipClaim)) return false
  const source = sourceOf(ipClaim)
  if (source && (source.namespace !== namespace || source.claim !== name)) return false
  if (source && isFromHere(parts, ipClaim)) return true
  const network = claim?.spec.network.name
  const location = parts.location()
  return network !== undefined && location !== undefined && isAt(ipClaim, { network, location })
}

/** Marked with the very namespace that stands here under its name. */
export function isFromHere({ service }: Pick<IpamParts, 'service'>, ipClaim: IPClaim): boolean {
  const source = sourceOf(ipClaim)
  return source?.namespaceUid !== undefined && service.namespaces.get(source.namespace)?.metadata.uid === source.namespaceUid
}

export async function releaseSurplus(
  parts: IpamParts,
  ipClaims: readonly IPClaim[],
  claim: NetworkInterfaceClaim,
  signal: AbortSignal,
): Promise<void> {
  if (ipClaims.length === 0) return
  await whileReachable(parts, `claim ${keyOf(claim)}`, { signal, isAsked: isDeleting(claim) }, async () => {
    await together(ipClaims.map((each) => removeHeld(parts, each, signal)))
  })
}

async function projectNamespace({ service }: IpamParts, namespace: string, signal: AbortSignal) {
  await service.namespaces.ready(signal)
  const answer = projectIn(service, namespace)
  return answer.kind === 'resolved'
    ? { namespace: answer.project.namespace, message: '' }
    : { namespace: undefined, message: answer.message }
}

/** `trusting`: what the followed cache lacks is absent; if it stands after all, its event tells of it. */
async function standing(
  { service }: IpamParts,
  { ipClaim: name, namespace, trusting = false }: { ipClaim: string; namespace: string | undefined; trusting?: boolean },
  signal: AbortSignal,
): Promise<IPClaim | undefined> {
  if (namespace === undefined) return undefined
  const known = service.claims.get(keyFor(name, namespace))
  if (known || (trusting && service.knowledge() === 'followed')) return known
  const live = await service.client.find(IPClaim, { name, namespace }, signal)
  if (live) service.claims.absorb(live)
  return live
}

/** Deletes exactly this one, as it was judged. Gone already, or another under its name: nothing is left to do. */
export async function removeHeld(parts: IpamParts, ipClaim: IPClaim, signal: AbortSignal): Promise<void> {
  const { claims } = parts.service
  const done = claims.writing(keyOf(ipClaim))
  try {
    const isAsJudged = (live: IPClaim) => isSameToJudge(live, ipClaim)
    const stands = await removeJudged(parts.service, { kind: IPClaim, judged: ipClaim, isAsJudged }, signal)
    if (stands) claims.absorb(stands)
    else claims.absorbGone(ipClaim)
  } finally {
    done()
  }
  const { boundAllocationRef: bound, poolRef } = ipClaim.status ?? {}
  if (ipClaim.spec.reclaimPolicy === 'Retain' && bound) await removeAllocation(parts, ipClaim, bound.name, signal)
  parts.freed(poolRef?.name)
}

/** Of a retained IPClaim that is gone or going. Another one of its name may have taken its allocation up again. */
async function removeAllocation(
  { service }: IpamParts,
  { metadata: { name, namespace, uid } }: IPClaim,
  allocation: string,
  signal: AbortSignal,
): Promise<void> {
  const live = await service.client.find(IPAllocation, { name: allocation, namespace }, signal)
  if (!live) return
  const { claimRef } = live.spec
  if (claimRef && claimRef.name !== name) return
  const holder = claimRef && (await service.client.find(IPClaim, { name, namespace }, signal))
  if (holder && holder.metadata.uid !== uid) return
  await dropAllocation(service, live, signal)
}

/** One that is taken up meanwhile is somebody's, and stays. */
async function dropAllocation(service: IpamParts['service'], judged: IPAllocation, signal: AbortSignal): Promise<void> {
  const isAsJudged = ({ spec }: IPAllocation) => spec.claimRef === undefined
  await removeJudged(service, { kind: IPAllocation, judged, isAsJudged }, signal)
}

/** What an earlier pass left when it ended between the two deletes: retained blocks that the interface lists and no IPClaim has. */
async function removeRetained(
  { service }: IpamParts,
  given: { nic: NetworkInterface; gone: readonly Listed[]; namespace: string | undefined },
  signal: AbortSignal,
): Promise<void> {
  const { nic, gone, namespace } = given
  if (gone.length === 0 || namespace === undefined) return
  const { items } = await service.client.list(IPAllocation, { namespace, pageSize: 500 }, signal)
  const isLeft = ({ spec, status }: IPAllocation) => {
    const block = readBlock(status?.allocatedCIDR ?? '')
    const { network, location } = placeOf(nic)
    if (!block || spec.scope?.network?.name !== network) return false
    if (location !== undefined && spec.scope?.location?.name !== location) return false
    const lost = gone.find((one) => one.block !== undefined && sameBlock(one.block, block))
    // The service may not have let go of it yet.
    return lost !== undefined && (spec.claimRef === undefined || spec.claimRef.name === lost.ipClaim)
  }
  const left = items.filter(isLeft)
  await together(left.map((each) => dropAllocation(service, each, signal)))
}

/**
 * A service that does not answer, or refuses, is waited for: whoever gives back is told when it is worth trying again. Only who is
 * asked to give back says so: what lives goes on meanwhile. Answers whether all was done.
 */
async function whileReachable(
  parts: IpamParts,
  who: Interested,
  { signal, isAsked }: { signal: AbortSignal; isAsked: boolean },
  work: () => Promise<void>,
): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    signal.throwIfAborted()
    const faults: unknown[] = error instanceof AggregateError ? error.errors : [error]
    const told = faults.map((each) => waitOf(each)).find((wait) => wait !== undefined)
    if (!told) throw error
    parts.interests.set(who, parts.whenBack())
    if (isAsked) throw new GiveBackWaits(told, { cause: error })
    return false
  }
}

function waitOf(error: unknown): string | undefined {
  if (error instanceof GiveBackWaits) return error.message
  if (isAway(error)) return advice('Addresses cannot be given back: the address service does not answer', 'see that it runs')
  if (!(error instanceof ApiError)) return undefined
  const said = error.text || `HTTP ${error.status}`
  return advice(`Addresses cannot be given back: the address service refused: ${said}`, 'see what its operator says of it')
}
