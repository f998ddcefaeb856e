/**
 * Whether the service still holds each address of an interface for it. What is lost is told and counted, never allocated again:
 * the service would hand out another block, and a workload uses this one.
 */
import type { NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import { keyFor, keyOf } from 'kube-control-loop'
import { IPClaim } from 'kube-ipam'
import { holderKeyOf, holdOf, isDeleting } from '../../interface/holder.ts'
import { isOtherThanTold } from '../../interface/told.ts'
import { advice, few } from '../../messages.ts'
import { formatCidr, sameBlock } from '../cidr.ts'
import type { AddressAllocator, Verification } from '../port.ts'
import { placeOf } from './give-back.ts'
import { topics } from './interests.ts'
import { blockOf, sourceOf } from './ip-claim.ts'
import { namedFor } from './known.ts'
import { type Losses, missingSaid } from './losses.ts'
import { type Listed, listedIn } from './names.ts'
import type { IpamParts } from './parts.ts'
import type { Project, ProjectAnswer } from './project.ts'
import { isAway, refusalOf } from './refusals.ts'
import { projectIn } from './service.ts'

type Loss = { readonly address: string; readonly what: string; readonly next: string }

type Asked = Pick<Parameters<AddressAllocator['verify']>[0], 'interface' | 'speaker'>

export async function verify(parts: IpamParts, asked: Asked, signal: AbortSignal): Promise<Verification> {
  const nic = asked.interface
  const namespace = nic.metadata.namespace ?? ''
  const listed = listedIn(nic)
  await parts.service.namespaces.ready(signal)
  const found = parts.losses.looking(nic, holderOf(parts, asked))
  const answer = projectIn(parts.service, namespace)
  const doubtful = listed.filter((one) => !isKnownToStand(parts, nic, one, answer))
  const follows = [topics.namespace(namespace), ...listed.flatMap((one) => topicsOf(parts, nic, one, answer))]
  follow(parts, nic, follows)
  if (doubtful.length === 0) {
    if (answer.kind === 'resolved') found(answer.project.name, [])
    return { kind: 'standing' }
  }
  if (answer.kind === 'refused') return { kind: 'unknown', message: answer.message }
  if (parts.service.knowledge() === 'pending') return asSaid(parts, asked, [...follows, topics.service])
  return judgeLive(parts, { asked, doubtful, project: answer.project, follows, found }, signal)
}

function topicsOf(parts: IpamParts, nic: NetworkInterface, { ipClaim }: Listed, answer: ProjectAnswer): readonly string[] {
  const there = answer.kind === 'resolved' ? [keyFor(ipClaim, answer.project.namespace)] : []
  return [...new Set([...there, ...namedFor(parts, nic, ipClaim, answer).map(keyOf)])].map(topics.ipClaim)
}

/** From what is known; also where the namespace tells another project by now, or none. */
function isKnownToStand(parts: IpamParts, nic: NetworkInterface, one: Listed, answer: ProjectAnswer): boolean {
  if (parts.service.knowledge() !== 'followed') return false
  return namedFor(parts, nic, one.ipClaim, answer).some((named) => lossOf(nic, one, named, '') === undefined)
}

/** The cache may lag behind a leader before this one: a loss is told only after a live read. */
async function judgeLive(
  parts: IpamParts,
  given: {
    asked: Asked
    doubtful: readonly Listed[]
    project: Project
    follows: readonly string[]
    found: ReturnType<Losses['looking']>
  },
  signal: AbortSignal,
): Promise<Verification> {
  const { asked, doubtful, project, follows, found } = given
  const nic = asked.interface
  try {
    const losses = await Promise.all(doubtful.map((one) => liveLoss(parts, nic, one, project, signal)))
    const lost = losses.flatMap((loss) => loss ?? [])
    if (lost.length > 0 && !isLiving(parts, nic)) return asSaid(parts, asked, follows)
    found(
      project.name,
      lost.map(({ address }) => address),
    )
    const [first] = lost
    if (!first) return { kind: 'standing' }
    const what = lost.length === 1 ? first.what : few(lost.map((loss) => loss.what))
    return { kind: 'missing', address: first.address, message: advice(what, first.next) }
  } catch (error) {
    signal.throwIfAborted()
    if (!isAway(error) && !refusalOf(error, project)) throw error
    return asSaid(parts, asked, [...follows, ...parts.whenBack()])
  }
}

/** While it ends its addresses are given back: gone then, and not lost. */
function isLiving({ caches }: IpamParts, nic: NetworkInterface): boolean {
  const now = caches.interfaces.get(keyOf(nic))
  return now !== undefined && now.metadata.uid === nic.metadata.uid && !isDeleting(now)
}

/** The claim that holds it, also where the interface's own status is to say it. */
function holderOf({ caches }: IpamParts, { interface: nic, speaker }: Asked): NetworkInterfaceClaim | undefined {
  const key = holderKeyOf(nic)
  const claim = speaker ?? (key === undefined ? undefined : caches.claims.get(key))
  return claim && holdOf(nic, claim) === 'ours' ? claim : undefined
}

async function liveLoss(
  { service }: IpamParts,
  nic: NetworkInterface,
  one: Listed,
  { name, namespace }: Project,
  signal: AbortSignal,
): Promise<Loss | undefined> {
  const known = service.claims.get(keyFor(one.ipClaim, namespace))
  const live = await service.client.find(IPClaim, { name: one.ipClaim, namespace }, signal)
  if (live) service.claims.absorb(live)
  else if (known) service.claims.absorbGone(known)
  const where = `IPClaim ${keyFor(one.ipClaim, namespace)} in project ${name}`
  if (live) return lossOf(nic, one, live, where)
  const what = `Address ${one.text} is not held any more, ${where} is gone`
  return { address: one.text, what, next: remedy }
}

const remedy =
  'make it again for this very address, or delete the interface so that it gets another; nothing is renumbered by itself'

function lossOf(nic: NetworkInterface, { text, block }: Listed, ipClaim: IPClaim, where: string): Loss | undefined {
  const held = blockOf(ipClaim)
  const source = sourceOf(ipClaim)
  const { network, location } = placeOf(nic)
  const { scope, target } = ipClaim.spec
  const isElsewhere =
    target !== undefined ||
    scope?.network?.name !== network ||
    (location !== undefined && scope.location?.name !== location) ||
    (source !== undefined && source.namespace !== nic.metadata.namespace)
  const lost = (what: string): Loss => ({ address: text, what, next: remedy })
  if (isElsewhere) return lost(`Address ${text} is published, but ${where} is not for this interface`)
  if (!held) return lost(`Address ${text} is published, but ${where} holds none`)
  if (block && sameBlock(held, block)) return undefined
  return lost(`Address ${text} is published, but ${where} holds ${formatCidr(held)}`)
}

/** While nobody can tell, what was said last stands: each repeats its own word, since the other's may be of before. */
function asSaid(parts: IpamParts, asked: Asked, follows: readonly string[]): Verification {
  const { interface: nic, speaker } = asked
  follow(parts, nic, follows)
  const holder = holderOf(parts, asked)
  if (holder && isOtherThanTold(holder, nic)) {
    const what = `Network interface ${nic.metadata.name} lists other addresses than its claim was given`
    const message = advice(what, 'wait until the address service tells which of them it holds; they are put back then')
    return { kind: 'unknown', message, withheld: true }
  }
  const message = missingSaid(speaker?.status?.networkInterfaceRef?.name === nic.metadata.name ? speaker : nic)
  // Said of an earlier interface of the name, it names none of these addresses.
  const address = message === undefined ? undefined : listedIn(nic).find(({ text }) => message.includes(text))?.text
  return message === undefined || address === undefined ? { kind: 'standing' } : { kind: 'missing', address, message }
}

/** One that is going waits for what its release says, one that is gone for nothing, though this pass may not know it yet. */
function follow(parts: IpamParts, nic: NetworkInterface, follows: readonly string[]): void {
  if (isLiving(parts, nic)) parts.interests.set(`interface ${keyOf(nic)}`, follows)
}
