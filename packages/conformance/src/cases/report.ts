/** Cases about what the data plane says. */
import { type PlaneReport, reportedWhen } from '@nso/operator'
import type { KubeObject } from 'kube-control-loop'
import { inNamespace } from '../case.ts'
import { ordinary, type Wish } from '../requester.ts'
import { CaseFailed, fail, pass, skip, type Verdict } from '../verdict.ts'
import { shown, type World } from '../world.ts'

const asked = ['kinds'] as const
export const prepares = ['kinds', 'prepared'] as const

export const prepared = inNamespace('prepared', asked, async (world) => {
  const { clock } = world.bench
  const timeOf = async (wish: Wish) => {
    const from = clock.monotonic()
    await world.make(wish)
    await world.untilPrepared(wish)
    return Math.round(clock.monotonic() - from)
  }
  await world.makeNetwork()
  // The first may have had to wait for the process to come up.
  await timeOf({ name: 'first' })
  return pass({ preparedMs: await timeOf({ name: 'second', number: 3 }) })
})

/** One life of an attachment with all that can happen in it; then every status that any case of the run has seen is looked at. */
export const wellFormed = inNamespace('well-formed', asked, async (world) => {
  const { plane, limits, seen } = world.bench
  const wish = { name: 'spoken-of' }
  const at = { namespace: world.owner.namespace, name: wish.name }
  await world.makeNetwork()
  await world.makeNetwork('net-b')
  const made = await world.make(wish)
  const isSpoken = () => conditionsStand(world, wish)
  await world.until('anything is reported', () => isSpoken() || undefined).catch(unlessOverdue)
  await world.quiet(limits.settledMs)
  const standing = world.attachments.get(wish.name) ?? made
  const traffic = world.report(standing, wish).prepared.status === 'True' ? plane.traffic : undefined
  await traffic?.start(at, world.signal)
  await world.quiet(limits.settledMs)
  await changeSpec(world, world.attachments.get(wish.name) ?? made, wish)
  await world.quiet(limits.settledMs)
  await traffic?.stop(at, world.signal)
  await world.quiet(limits.settledMs)
  const spoke = isSpoken()
  await world.remove(made)
  await world.untilGone(made, plane.detachGraceMs + limits.patienceMs).catch(unlessOverdue)
  world.learn()
  const [first] = seen.malformed
  if (first) return fail(first.problem, first.evidence)
  return spoke ? pass() : skip('nothing was reported')
})

function conditionsStand({ attachments }: World, { name }: Wish): boolean {
  const { conditions } = (attachments.get(name)?.status ?? {}) as { conditions?: unknown }
  return conditions !== undefined && (!Array.isArray(conditions) || conditions.length > 0)
}

/** What does not come is another case’s matter. */
function unlessOverdue(error: unknown): void {
  if (!(error instanceof CaseFailed)) throw error
}

/** Wishes that differ from the first in one thing each; which of them reaches the specification is the templates’ affair. */
const changes: readonly Partial<Wish>[] = [{ mtu: ordinary.mtu + 100 }, { number: 77 }, { network: 'net-b' }]

/** Changes the specification to a later generation, by the first change that templates pass on and the schema takes. */
export async function changeSpec(
  world: World,
  attachment: KubeObject,
  wish: Wish,
): Promise<{ attachment: KubeObject; wish: Wish } | undefined> {
  for (const difference of changes) {
    const next = { ...wish, ...difference }
    const changed = await world.change(attachment, next)
    if (changed && (changed.metadata.generation ?? 0) > (attachment.metadata.generation ?? 0))
      return { attachment: changed, wish: next }
  }
  return undefined
}

export const unchangeable =
  'nothing that may change reaches the specification of the attachment, or its schema lets nothing change'

export const generation = inNamespace('generation', prepares, async (world) => {
  const wish = { name: 'changing' }
  await world.makeNetwork()
  await world.makeNetwork('net-b')
  await world.make(wish)
  await world.untilPrepared(wish)
  const { plane, limits, view } = world.bench
  const at = { namespace: world.owner.namespace, name: wish.name }
  // Some planes say nothing of traffic before there was any.
  await plane.traffic?.start(at, world.signal)
  await world.quiet(limits.settledMs)
  const before = await world.untilPrepared(wish)
  const changed = await changeSpec(world, before, wish)
  if (!changed) return skip(unchangeable)
  const after = await world.untilPrepared(changed.wish)
  const { programmed } = view.conditions
  if (programmed && reportedWhen(before, programmed) !== 'never') {
    await world.until(`${programmed} of ${wish.name} is reported again`, () => {
      const now = world.attachments.get(wish.name)
      return now && reportedWhen(now, programmed) === 'since' ? now : undefined
    })
  }
  await plane.traffic?.stop(at, world.signal)
  return aheadOf(world, after) ?? pass()
})

/** A report on a generation that is not there yet is one on another object, or made up. */
export function aheadOf({ attachments }: World, attachment: KubeObject): Verdict | undefined {
  for (const { object } of attachments.of(attachment)) {
    const ahead = observedIn(object).find((observed) => observed > (object.metadata.generation ?? 0))
    if (ahead === undefined) continue
    const is = `${object.kind} ${object.metadata.name} of generation ${object.metadata.generation}`
    return fail(`${is} has a report on generation ${ahead}`, shown(object))
  }
  return undefined
}

function observedIn({ status }: KubeObject): number[] {
  const { conditions = [], observedGeneration } = (status ?? {}) as {
    conditions?: { observedGeneration?: unknown }[]
    observedGeneration?: unknown
  }
  const all = Array.isArray(conditions) ? conditions.map((condition) => condition?.observedGeneration) : []
  return [...all, observedGeneration].filter((observed): observed is number => typeof observed === 'number')
}

export const programmedBothWays = inNamespace('programmed-both-ways', prepares, async (world) => {
  const { plane, view } = world.bench
  if (!view.conditions.programmed) return skip('the DataPlane names no condition for it: Programmed is not reported')
  const wish = { name: 'carrying' }
  await world.makeNetwork()
  await world.make(wish)
  await world.untilPrepared(wish)
  const at = { namespace: world.owner.namespace, name: wish.name }
  const { traffic } = plane
  if (!traffic) {
    await world.quiet(world.bench.limits.settledMs)
    const { status, reason } = programmedOf(world, wish) ?? { status: 'Unknown', reason: '' }
    return skip(`no traffic can be started and stopped here; without any it says ${status} ${reason}`.trim())
  }
  await world.quiet(world.bench.limits.settledMs)
  if (isProgrammed(world, wish)) return fail('Programmed is True before there is traffic', shownOf(world, wish))
  for (const round of ['', ' again']) {
    await traffic.start(at, world.signal)
    await world.until(`Programmed is True${round}, with traffic`, () => isProgrammed(world, wish) || undefined)
    await traffic.stop(at, world.signal)
    await world.until(`Programmed is not True${round}, without traffic`, () => !isProgrammed(world, wish) || undefined)
  }
  return pass()
})

function programmedOf(world: World, wish: Wish): PlaneReport['programmed'] | undefined {
  const attachment = world.attachments.get(wish.name)
  return attachment && world.report(attachment, wish).programmed
}

function shownOf({ attachments }: World, { name }: Wish): unknown {
  const attachment = attachments.get(name)
  return attachment && shown(attachment)
}

const isProgrammed = (world: World, wish: Wish): boolean => programmedOf(world, wish)?.status === 'True'

export const networkValues = inNamespace('network-values', prepares, async (world) => {
  const { vpc, podNetwork } = world.bench.view.reports
  if (!vpc && !podNetwork) return skip('the DataPlane reads neither value')
  const wish = { name: 'valued' }
  await world.makeNetwork()
  await world.make(wish)
  await world.untilPrepared(wish)
  await world.until('the values that the DataPlane reads are reported', () => {
    const attachment = world.attachments.get(wish.name)
    const report = attachment && world.report(attachment, wish)
    return report && (!vpc || report.vpc) && (!podNetwork || report.podNetwork) ? true : undefined
  })
  return pass()
})
