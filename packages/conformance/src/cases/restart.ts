/** The case in which the process is killed in the middle of work. */
import { isDeepStrictEqual } from 'node:util'
import type { KubeObject } from 'kube-control-loop'
import { each, inNamespace } from '../case.ts'
import type { Wish } from '../requester.ts'
import { fail, pass, skip } from '../verdict.ts'
import { shown, type World } from '../world.ts'
import { prepares } from './report.ts'

const atOnce = 8

export const restart = inNamespace('restart', prepares, async (world) => {
  const { plane, limits, chance } = world.bench
  if (!plane.restart) return skip('the process cannot be restarted from here')
  const wishes = Array.from({ length: limits.crowd }, (_, at): Wish => ({ name: `crowd-${at}`, number: 2 + at }))
  await world.makeNetwork()
  const inCreations = Math.floor(chance() * wishes.length)
  await whileKilled(world, inCreations, (after) =>
    each(wishes, atOnce, async (wish, at) => {
      await world.make(wish)
      after(at)
    }),
  )
  for (const wish of wishes) await world.untilPrepared(wish)
  await world.quiet(world.bench.limits.settledMs)

  const said = new Map(world.attachments.present.map((object) => [object.metadata.name, reportOf(object)]))
  const from = world.attachments.versions.length
  await plane.restart(world.signal)
  await probe(world)
  for (const { object } of world.attachments.versions.slice(from)) {
    const before = said.get(object.metadata.name)
    if (!before || isDeepStrictEqual(reportOf(object), before)) continue
    return fail(`after a restart ${object.metadata.name} is reported otherwise`, {
      before,
      after: reportOf(object),
      object: shown(object),
    })
  }

  const standing = world.attachments.present.filter(({ metadata }) => said.has(metadata.name))
  const inDeletions = Math.floor(chance() * standing.length)
  await whileKilled(world, inDeletions, (after) =>
    each(standing, atOnce, async (object, at) => {
      await world.remove(object)
      after(at)
    }),
  )
  for (const object of standing) await world.untilGone(object, plane.detachGraceMs + limits.patienceMs)
  return pass({ attachments: wishes.length, killedAfterCreations: inCreations, killedAfterDeletions: inDeletions })
})

/** Kills and starts the process when the given piece of the work is done, while the rest goes on. */
async function whileKilled(
  { bench, signal }: World,
  at: number,
  work: (after: (index: number) => void) => Promise<void>,
): Promise<void> {
  let restarted: Promise<void> | undefined
  const after = (index: number) => {
    if (index >= at) restarted ??= bench.plane.restart?.(signal)
    restarted?.catch(() => {})
  }
  await work(after)
  await restarted
}

/** A new attachment tells that the process acts; then what it had to say of the others is said. */
async function probe(world: World): Promise<void> {
  const wish = { name: 'probe', number: 9000 }
  await world.make(wish)
  await world.untilPrepared(wish)
  await world.quiet(world.bench.limits.settledMs)
}

type Condition = { type?: string; status?: string; reason?: string }

/** All that a status says, but for times and for texts that are for people. */
function reportOf({ status }: KubeObject): Record<string, unknown> {
  const { conditions = [], ...values } = (status ?? {}) as { conditions?: Condition[] }
  return { ...values, conditions: conditions.map(({ type, status: is, reason }) => ({ type, status: is, reason })) }
}
