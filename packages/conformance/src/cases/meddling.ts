/** Cases about a report that somebody else changes. */
import { ApiError, type JsonPatchOperation, type KubeObject, orderOfVersions, pathOf } from 'kube-control-loop'
import { inNamespace } from '../case.ts'
import { CaseFailed, fail, pass, skip } from '../verdict.ts'
import type { World } from '../world.ts'
import { prepares } from './report.ts'

const meddler = 'conformance-meddler'
const meddled = 'Meddled'

type Condition = { type: string; status?: string; reason?: string; message?: string }
const conditionsOf = ({ status }: KubeObject): Condition[] =>
  (status as { conditions?: Condition[] } | undefined)?.conditions ?? []

/** Two ways in which a condition is made wrong: said otherwise, and taken away. */
type Harm = { type: string; how: 'changed' | 'removed' }

/** To each condition that is read and stands there. */
function harmsTo({ bench: { view } }: World, attachment: KubeObject): Harm[] {
  const stands = (type: string | undefined): type is string => conditionsOf(attachment).some((each) => each.type === type)
  return [view.conditions.prepared, view.conditions.programmed]
    .filter(stands)
    .flatMap((type) => (['changed', 'removed'] as const).map((how) => ({ type, how })))
}

function harmful(attachment: KubeObject, { type, how }: Harm): JsonPatchOperation[] {
  const at = conditionsOf(attachment).findIndex((condition) => condition.type === type)
  const path = `/status/conditions/${at}`
  const stood = conditionsOf(attachment)[at]
  const status = stood?.status === 'True' ? 'False' : 'True'
  const value = { ...stood, status, reason: meddled, message: 'somebody else was here' }
  return [
    { op: 'test', path: '/metadata/uid', value: attachment.metadata.uid },
    { op: 'test', path: `${path}/type`, value: type },
    how === 'changed' ? { op: 'replace', path, value } : { op: 'remove', path },
  ]
}

/** What the API server made of it: the object, or its words where a policy refuses it. */
async function meddle(world: World, attachment: KubeObject, harm: Harm, dryRun: boolean): Promise<KubeObject | string> {
  const { bench, owner, attachments, signal } = world
  const { name } = attachment.metadata
  try {
    const answer = await bench.client.raw(
      {
        method: 'PATCH',
        path: pathOf(attachments.kind, { namespace: owner.namespace, name, subresource: 'status' }),
        contentType: 'application/json-patch+json',
        query: { fieldManager: meddler, dryRun: dryRun ? 'All' : undefined },
        body: harmful(attachment, harm),
      },
      signal,
    )
    return answer as KubeObject
  } catch (error) {
    if (error instanceof ApiError && isDenied(error)) return error.text
    throw error
  }
}

/**
 * By admission. A missing permission is no such refusal: others have it. A ValidatingAdmissionPolicy that names no reason answers 422
 * instead of 403; a webhook may answer anything from 400 on.
 */
const isDenied = ({ status, text }: ApiError): boolean => status < 500 && /denied (the )?request/.test(text)

const lookEveryMs = 200

/** Policies act some time after they were written: looks, storing nothing, until it is as it should be, or patience is over. */
async function untilRefusalIs(wanted: boolean, world: World, attachment: KubeObject): Promise<void> {
  const { clock, limits } = world.bench
  const deadline = clock.monotonic() + limits.patienceMs
  const [harm] = harmsTo(world, attachment)
  while (harm && clock.monotonic() < deadline) {
    const now = world.attachments.get(attachment.metadata.name) ?? attachment
    if ((typeof (await meddle(world, now, harm, true)) === 'string') === wanted) return
    await clock.sleep(lookEveryMs, world.signal)
  }
}

export const reportRestored = inNamespace('report-restored', prepares, async (world) => {
  const wish = { name: 'meddled-with' }
  const { plane, limits } = world.bench
  await world.makeNetwork()
  await world.make(wish)
  await world.untilPrepared(wish)
  await world.quiet(limits.settledMs)
  const restore = await plane.liftEnforcement?.(world.signal)
  const ready = await world.untilPrepared(wish)
  try {
    if (restore) await untilRefusalIs(false, world, ready)
    for (const harm of harmsTo(world, ready)) {
      const before = await world.untilPrepared(wish)
      const met = await meddle(world, before, harm, false)
      if (typeof met === 'string') return skip(`the API server refuses the change: ${met}`)
      await untilRestored(world, before, met, harm)
    }
    return pass()
  } finally {
    await restore?.()
    if (restore && !world.signal.aborted) await untilRefusalIs(true, world, ready)
  }
})

/**
 * True must be True again, and what was not must not be; a plane may tell otherwise why not, by what it has seen since. Nothing of the
 * meddler’s may stand.
 */
async function untilRestored(world: World, before: KubeObject, harmed: KubeObject, { type, how }: Harm): Promise<void> {
  const said = (object: KubeObject) => conditionsOf(object).find((condition) => condition.type === type)
  const isTrue = (object: KubeObject) => said(object)?.status === 'True'
  const isHarmed = (object: KubeObject) =>
    said(object) === undefined || isTrue(object) !== isTrue(before) || said(object)?.reason === meddled
  if (!isHarmed(harmed)) throw new CaseFailed(`${type} could not be ${how}`)
  const { resourceVersion } = harmed.metadata
  await world.until(`${type} says again what it said before it was ${how} by somebody else`, () => {
    const now = world.attachments.get(before.metadata.name)
    const isLater = orderOfVersions(now?.metadata.resourceVersion, resourceVersion) === 'newer'
    return now && isLater && !isHarmed(now) ? true : undefined
  })
}

export const foreignStatusRefused = inNamespace('foreign-status-refused', prepares, async (world) => {
  const wish = { name: 'guarded' }
  await world.makeNetwork()
  await world.make(wish)
  await world.untilPrepared(wish)
  await world.quiet(world.bench.limits.settledMs)
  const attachment = await world.untilPrepared(wish)
  for (const harm of harmsTo(world, attachment)) {
    if (typeof (await meddle(world, attachment, harm, true)) === 'string') continue
    return fail(`the API server lets an administrator have ${harm.type} ${harm.how}; no policy guards it`)
  }
  return pass()
})
