/** The case about what was asked for: nobody but the requester writes that. */
import { isDeepStrictEqual } from 'node:util'
import type { KubeObject } from 'kube-control-loop'
import { inNamespace } from '../case.ts'
import type { Version } from '../journal.ts'
import { hold, holdingFinalizer, letGo } from '../leftovers.ts'
import { fail, pass, type Verdict } from '../verdict.ts'
import { shown, type World } from '../world.ts'
import { changeSpec, prepares } from './report.ts'

export const requestUntouched = inNamespace('request-untouched', prepares, async (world) => {
  const wish = { name: 'asked-for' }
  const network = await world.makeNetwork()
  await world.makeNetwork('net-b')
  const made = await world.make(wish)
  const first = await world.untilPrepared(wish)
  const changed = await changeSpec(world, first, wish)
  const last = changed && (await world.untilPrepared(changed.wish))
  const taken = await leaveUnderForeignFinalizer(world, made)
  if (taken) return taken
  const requests = [{ asked: made, until: changed?.attachment }, ...(changed && last ? [{ asked: changed.attachment }] : [])]
  for (const request of requests) {
    const problem = touched(world, world.attachments.of(made), request)
    if (problem) return problem
  }
  return (network && world.networks && touched(world, world.networks.of(network), { asked: network })) ?? pass()
})

/**
 * Removes the attachment while a finalizer of somebody else is on it, which only its owner may take off. Most planes let go meanwhile;
 * one that does not has that judged elsewhere.
 */
async function leaveUnderForeignFinalizer(world: World, made: KubeObject): Promise<Verdict | undefined> {
  const { bench, attachments } = world
  const held = await hold(world, [{ kind: attachments.kind, object: attachments.get(made.metadata.name) ?? made }])
  await world.remove(made)
  await world.quiet(bench.limits.settledMs)
  const isHeld = ({ object: { metadata } }: Version) => metadata.finalizers?.includes(holdingFinalizer) === true
  const seen = attachments.of(made)
  const since = seen.findIndex(isHeld)
  const taken = since < 0 ? undefined : seen.slice(since).find((version) => !isHeld(version))
  const lost = held.length > 0 ? (taken ?? goneEarly(world, made)) : undefined
  await letGo(world, held)
  await world.untilGone(made, bench.plane.detachGraceMs + bench.limits.patienceMs)
  return lost && fail('somebody else’s finalizer was taken off', shown(lost.object))
}

/** The last that was seen of an object that went although it was held. */
function goneEarly({ attachments }: World, made: KubeObject): Version | undefined {
  return attachments.get(made.metadata.name)?.metadata.uid === made.metadata.uid ? undefined : attachments.of(made).at(-1)
}

type Request = {
  /** As the server answered it: with defaults, and whatever admission added. */
  asked: KubeObject
  /** The next request, which ends this one. */
  until?: KubeObject | undefined
}

/** Whether a version says something else than was asked, or somebody else claims what was asked. */
function touched({ bench }: World, versions: readonly Version[], { asked, until }: Request): Verdict | undefined {
  const generation = asked.metadata.generation ?? 0
  for (const { object, managedFields } of versions) {
    const at = object.metadata.generation ?? 0
    if (at < generation || (until && at >= (until.metadata.generation ?? 0))) continue
    // A deletion raises the generation without changing the specification.
    if (!isDeepStrictEqual(object.spec, asked.spec)) return fail('the specification was changed', shown(object))
    for (const part of ['labels', 'annotations', 'ownerReferences'] as const) {
      if (!isDeepStrictEqual(object.metadata[part] ?? {}, asked.metadata[part] ?? {})) {
        return fail(`${part} were changed`, { asked: asked.metadata[part], stored: object.metadata[part] })
      }
    }
    const other = managedFields.find((entry) => entry.manager !== bench.by.fieldManager && claims(entry.fieldsV1))
    if (other) return fail(`${other.manager} owns a part of what was asked for`, other)
  }
  return undefined
}

function claims(fields: Record<string, unknown> | undefined): boolean {
  const metadata = (fields?.['f:metadata'] ?? {}) as Record<string, unknown>
  return fields?.['f:spec'] !== undefined || ['f:labels', 'f:annotations', 'f:ownerReferences'].some((name) => name in metadata)
}
