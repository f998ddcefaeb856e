/** Cases about names that are used again. */
import { ApiError, type KubeObject } from 'kube-control-loop'
import { auditEnd, auditLines, isWrite } from '../audit-log.ts'
import { inNamespace } from '../case.ts'
import { type Found, hold, holdingFinalizer, letGo, objectsIn } from '../leftovers.ts'
import type { Wish } from '../requester.ts'
import { CaseFailed, fail, pass, skip, type Verdict } from '../verdict.ts'
import { shown, type World } from '../world.ts'
import { aheadOf, changeSpec, prepares, unchangeable } from './report.ts'

/**
 * Each incarnation is brought to generation 2 and removed while the data plane still works on it; the next one of its name is of
 * generation 1. So a report on the earlier one tells itself: it speaks of a generation that is not there yet. Where the audit log keeps
 * bodies, each write is held against the rule as well.
 */
export const uid = inNamespace('uid', ['kinds', 'prepared'], async (world) => {
  const { limits } = world.bench
  const from = await auditEnd(world.bench, world.signal)
  await world.makeNetwork()
  await world.makeNetwork('net-b')
  const answersInMs = await timeOfReport(world)
  let canChange = true
  let lived = 0
  for (; lived < limits.rounds && canChange; lived++) canChange = await oneLife(world, lived, answersInMs)
  for (const { object } of world.attachments.versions) {
    const leaked = object.metadata.generation === 1 ? aheadOf(world, object) : undefined
    if (leaked) return leaked
  }
  const writes = await statusWrites(world, from)
  const open = writes.find(({ fenced }) => !fenced)
  if (open) return fail('a status was written without resourceVersion, test of the uid, or finalizer', open.evidence)
  if (!canChange && writes.length === 0) return skip(`${unchangeable}, and no audit log shows what is written`)
  return pass({ lives: lived, ...(writes.length > 0 ? { writesLookedAt: writes.length } : {}) })
})

/** How long this data plane takes to report on a change, in ms: the moments around that time are those that matter. */
async function timeOfReport(world: World): Promise<number> {
  const { bench } = world
  const wish: Wish = { name: 'first' }
  const made = await world.make(wish)
  const changed = await changeSpec(world, await world.untilPrepared(wish), wish)
  const from = bench.clock.monotonic()
  if (changed) await world.untilPrepared(changed.wish)
  const tookMs = bench.clock.monotonic() - from
  await world.remove(made)
  return Math.min(tookMs, bench.limits.settledMs)
}

/** Parts of that time after which an attachment is removed, in turn. */
const moments = [0, 0.25, 0.5, 0.75, 0.9, 1, 1.1, 1.3, 1.6, 2]

/** False where it could not be brought to generation 2. */
async function oneLife(world: World, round: number, answersInMs: number): Promise<boolean> {
  const { bench, signal } = world
  const wish: Wish = { name: 'again', number: 2 + round, mtu: 1300 + round }
  const made = await world.make(wish)
  const { clock } = bench
  // A report on the life before comes now or not at all; in every other life the data plane is not left the time for one.
  if (round % 4 === 2) await letPrepare(world, wish)
  else await world.quiet(round % 2 === 0 ? 2 * answersInMs : 0)
  const changed = await changeSpec(world, world.attachments.get(wish.name) ?? made, wish)
  // What is remembered by name is remembered of this life, and met by the next.
  if (changed && round % 4 === 1) await letPrepare(world, changed.wish)
  else await clock.sleep(answersInMs * (moments[round % moments.length] ?? 1), signal)
  // Once it is not there to see the end of one life and the beginning of the next.
  const restarted = round === bench.limits.rounds - 2 ? bench.plane.restart?.(signal) : undefined
  await world.remove(made)
  await world.untilGone(made, bench.plane.detachGraceMs + bench.limits.patienceMs)
  await restarted
  return changed !== undefined
}

/** Leaves time for a report. Whether one comes is another case’s question. */
async function letPrepare(world: World, wish: Wish): Promise<void> {
  const isPrepared = () => {
    const attachment = world.attachments.get(wish.name)
    return attachment && world.report(attachment, wish).prepared.status === 'True' ? true : undefined
  }
  await world.until(`${wish.name} is reported`, isPrepared, 2 * world.bench.limits.settledMs).catch((error: unknown) => {
    if (!(error instanceof CaseFailed)) throw error
  })
}

/** These hold an object without the data plane’s doing. */
const isOfOthers = (finalizer: string): boolean => ['foregroundDeletion', 'orphan', holdingFinalizer].includes(finalizer)

type Asked = { metadata?: { resourceVersion?: unknown } } | readonly { op?: string; path?: string }[]

/** How the data plane wrote statuses of attachments in this namespace; empty where the log has no bodies. */
async function statusWrites({ bench, owner, attachments, signal }: World, from: number) {
  const { auditLog, user } = bench.plane
  if (auditLog === undefined || user === undefined) return []
  const to = await auditEnd(bench, signal)
  const found: { fenced: boolean; evidence: unknown }[] = []
  for await (const line of auditLines(auditLog, { from, to, having: user })) {
    const isOurs = line.user === user && line.namespace === owner.namespace && line.resource === attachments.kind.plural
    if (!isOurs || line.subresource !== 'status' || !isWrite(line) || line.code >= 300 || line.asked === undefined) continue
    const { finalizers = [] } = (line.answered as KubeObject | undefined)?.metadata ?? {}
    const fenced = finalizers.some((name) => !isOfOthers(name)) || isFenced(line.asked as Asked)
    found.push({ fenced, evidence: { uri: line.uri, asked: line.asked } })
  }
  return found
}

function isFenced(asked: Asked): boolean {
  if (Array.isArray(asked)) {
    return asked.some(({ op, path }) => op === 'test' && (path === '/metadata/uid' || path === '/metadata/resourceVersion'))
  }
  return typeof (asked as { metadata?: { resourceVersion?: unknown } }).metadata?.resourceVersion === 'string'
}

const lives = 5

export const duplicateCreate = inNamespace('duplicate-create', prepares, async (world) => {
  const wish = { name: 'twice' }
  await world.makeNetwork()
  let held = 0
  for (let life = 0; life < lives; life++) {
    if (!world.attachments.get(wish.name)) await world.make(wish)
    const ready = await world.untilPrepared(wish)
    const refused = await askedAgain(world, wish, ready)
    if (refused) return refused
    held += await endOfLife(world, wish, ready)
  }
  return pass({ lives, dependentsThatStayed: held })
})

/** Whoever lost the answer to a creation sends it again. */
async function askedAgain(world: World, wish: Wish, ready: KubeObject): Promise<Verdict | undefined> {
  try {
    await world.make(wish)
  } catch (error) {
    if (!(error instanceof ApiError && error.reason === 'AlreadyExists')) throw error
  }
  const now = world.attachments.get(wish.name)
  return now?.metadata.uid === ready.metadata.uid
    ? undefined
    : fail('a second creation under the name did not leave the first object', now && shown(now))
}

/**
 * Ends a life so that what was made for it is still there when the next begins: a collector may be slow. Answers how many such
 * objects there were. A data plane that waits for them itself gets no next life before they are gone.
 */
async function endOfLife(world: World, wish: Wish, ready: KubeObject): Promise<number> {
  const { bench, attachments } = world
  const isDependent = ({ object }: Found) =>
    object.metadata.ownerReferences?.some((reference) => reference.uid === ready.metadata.uid) === true
  const held = await hold(world, (await objectsIn(world)).filter(isDependent))
  await world.remove(ready)
  await world.quiet(bench.limits.settledMs / 2)
  if (!attachments.get(wish.name)) {
    await world.make(wish)
    await world.quiet(bench.limits.settledMs / 2)
  }
  await letGo(world, held)
  await world.untilGone(ready, bench.plane.detachGraceMs + bench.limits.patienceMs)
  return held.length
}
