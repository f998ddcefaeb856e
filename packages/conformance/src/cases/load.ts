/** Cases about nothing to do, and much at once. */
import type { Kind } from 'kube-control-loop'
import { auditEnd, auditLines, isWrite } from '../audit-log.ts'
import { each, inNamespace } from '../case.ts'
import { type Journal, keepJournal } from '../journal.ts'
import type { Wish } from '../requester.ts'
import { fail, pass } from '../verdict.ts'
import { quiet } from '../wait.ts'
import type { World } from '../world.ts'
import { prepares } from './report.ts'

export const idle = inNamespace('idle', prepares, async (world) => {
  const { bench, owner, signal } = world
  const { clock, limits, plane } = bench
  const wishes = [0, 1, 2].map((at): Wish => ({ name: `resting-${at}`, number: 2 + at }))
  await world.makeNetwork()
  for (const wish of wishes) await world.make(wish)
  for (const wish of wishes) await world.untilPrepared(wish)
  const at = { namespace: owner.namespace, name: 'resting-0' }
  await plane.traffic?.start(at, signal)
  const { journals, unseen } = await followAll(world)
  // Whether it ever comes to rest is what the count tells.
  await quiet(2 * limits.settledMs, {
    clock,
    limitMs: limits.patienceMs,
    signal,
    onChange: (look) => onChangeOfAny(journals, look),
  })
  const counts = journals.map(({ versions }) => versions.length)
  const from = await auditEnd(bench, signal)
  await clock.sleep(limits.idleMs, signal)
  const written = journals.flatMap(({ kind, versions }, index) =>
    versions.slice(counts[index]).map(({ object, managedFields }) => ({
      object: `${kind.kind} ${object.metadata.name}`,
      managers: managedFields.map(({ manager }) => manager),
    })),
  )
  const asked = await writesSince(world, from)
  await plane.traffic?.stop(at, signal)
  const measured = { idleMs: limits.idleMs, kindsWatched: journals.length, ...(unseen > 0 ? { kindsNotSeen: unseen } : {}) }
  if (written.length + asked.length === 0) return pass(measured)
  const count = Math.max(written.length, asked.length)
  return fail(`${count} writes within ${limits.idleMs / 1000} s in which nothing changed`, {
    written: written.slice(0, 20),
    asked: asked.slice(0, 20),
  })
})

function onChangeOfAny(journals: readonly Journal[], handler: () => void): () => void {
  const undo = journals.map((journal) => journal.onChange(handler))
  return () => {
    for (const each of undo) each()
  }
}

/** A kind that is in discovery and cannot be followed, for instance of an API server that is down, is not waited for longer. */
const followableWithinMs = 10_000

/** All kinds in the case’s namespace, and those of the data plane’s group that are in none. */
async function followAll({
  bench,
  owner,
  attachments,
  signal,
}: World): Promise<{ journals: readonly Journal[]; unseen: number }> {
  const { client, clock } = bench
  const own = attachments.kind.group
  const kinds = (await bench.servedKinds(signal)).filter((kind) => isOfInterest(kind, own))
  const late = Promise.withResolvers<undefined>()
  const cancel = clock.after(followableWithinMs, () => late.resolve(undefined))
  try {
    const journals = await Promise.all(
      kinds.map((kind) => Promise.race([keepJournal(kind, { client, clock, namespace: owner.namespace, signal }), late.promise])),
    )
    const followed = journals.filter((journal) => journal !== undefined)
    return { journals: followed, unseen: kinds.length - followed.length }
  } finally {
    cancel()
  }
}

/** Leases are meant to be renewed. What workloads bring with them moves by itself: a Pod that stands for traffic, and what follows it. */
const moving = ['coordination.k8s.io', 'events.k8s.io', 'metrics.k8s.io', 'apps', 'batch', 'discovery.k8s.io']
const movingOfCore = ['events', 'pods', 'endpoints', 'replicationcontrollers', 'services']

function isOfInterest({ group, plural, scope }: Kind, own: string): boolean {
  if (group === own) return true
  return scope === 'Namespaced' && !moving.includes(group) && !(group === '' && movingOfCore.includes(plural))
}

/** Questions about permissions and identities are asked by POST, and store nothing. */
const unstored = ['authorization.k8s.io', 'authentication.k8s.io', 'coordination.k8s.io']

async function writesSince({ bench, signal }: World, from: number): Promise<readonly string[]> {
  const { auditLog, user } = bench.plane
  if (auditLog === undefined || user === undefined) return []
  const found: string[] = []
  for await (const line of auditLines(auditLog, { from, to: await auditEnd(bench, signal), having: user })) {
    if (line.user === user && isWrite(line) && !unstored.includes(line.group)) found.push(`${line.verb} ${line.uri}`)
  }
  return found
}

const atOnce = 32

export const burst = inNamespace('burst', prepares, async (world) => {
  const { bench, signal } = world
  const { clock, limits, plane } = bench
  const wishes = Array.from({ length: limits.burst }, (_, at): Wish => ({ name: `burst-${at}`, number: 2 + at }))
  const from = await auditEnd(bench, signal)
  await world.makeNetwork()
  const began = clock.monotonic()
  await each(wishes, atOnce, async (wish) => void (await world.make(wish)))
  for (const wish of wishes) await world.untilPrepared(wish)
  const preparedMs = Math.round(clock.monotonic() - began)
  const standing = [...world.attachments.present]
  const left = clock.monotonic()
  await each(standing, atOnce, (object) => world.remove(object))
  for (const object of standing) await world.untilGone(object, plane.detachGraceMs + limits.patienceMs)
  const goneMs = Math.round(clock.monotonic() - left)
  return pass({ attachments: wishes.length, preparedMs, goneMs, ...(await conflictsSince(world, from)) })
})

async function conflictsSince({ bench, signal }: World, from: number): Promise<{ conflicts?: number }> {
  const { auditLog, user } = bench.plane
  if (auditLog === undefined || user === undefined) return {}
  let conflicts = 0
  for await (const line of auditLines(auditLog, { from, to: await auditEnd(bench, signal), having: user })) {
    if (line.user === user && line.code === 409) conflicts++
  }
  return { conflicts }
}
