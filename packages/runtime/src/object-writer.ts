/** Writes of metadata and spec: creates, JSON patches with tests, finalizers, deletes. See writer.ts for the promises. */
import type { JsonPatchOperation } from './client.ts'
import { inTurn } from './finalizer-turns.ts'
import { type KubeObject, keyOf } from './kind.ts'
import { count, judgeSafely, signalOf, targetOf, type WriterOptions } from './write-refusal.ts'
import { WriteGone, type WriteVerb } from './write-signals.ts'
import type { ChildWriter } from './writer.ts'

const verbs: Record<keyof ChildWriter<unknown, unknown>, WriteVerb> = {
  create: 'create',
  patch: 'patch',
  addFinalizer: 'add-finalizer',
  removeFinalizer: 'remove-finalizer',
  remove: 'delete',
}

const methods = Object.keys(verbs) as (keyof typeof verbs)[]

/** The uid of an object that was read: only such objects are written to. */
export function requireUid(object: KubeObject): string {
  const { uid } = object.metadata
  if (!uid)
    throw new TypeError(`${object.kind} ${keyOf(object)} carries no uid: only objects read from the server are written to`)
  return uid
}

/**
 * Makes a writer for one kind. `writes` names the methods that the caller uses, and the only ones it gets: they are what the
 * registry lists. Absent: all.
 */
export function createWriter<S, T, const M extends keyof ChildWriter<S, T> = keyof ChildWriter<S, T>>(
  options: WriterOptions<S, T> & { writes?: readonly M[] },
): Pick<ChildWriter<S, T>, M> {
  const { client, kind, cache, manager, controller, registry } = options
  for (const method of options.writes ?? methods)
    registry.add({ controller, resource: kind.plural, verb: verbs[method], manager })
  const plainly = { fieldManager: manager }
  const by = options.strict ? { ...plainly, strict: true } : plainly

  async function marked<R>(object: KubeObject<S, T>, write: () => Promise<R>): Promise<R> {
    const done = cache?.writing(keyOf(object))
    try {
      return await write()
    } finally {
      done?.()
    }
  }

  async function refuse(error: unknown, verb: WriteVerb, object: KubeObject<S, T>, signal: AbortSignal): Promise<never> {
    const judgement = await judgeSafely(options, error, verb, object, signal)
    signal.throwIfAborted()
    const target = targetOf(options, verb, object)
    count(options, target, judgement)
    throw signalOf(target, judgement, error)
  }

  function patchAs(verb: WriteVerb, object: KubeObject<S, T>, operations: readonly JsonPatchOperation[], signal: AbortSignal) {
    const test: JsonPatchOperation = { op: 'test', path: '/metadata/uid', value: requireUid(object) }
    return marked(object, async () => {
      try {
        const how = verb === 'patch' ? by : plainly
        const stands = await client.jsonPatch(kind, object.metadata, [test, ...operations], how, signal)
        cache?.absorb(stands)
        return stands
      } catch (error) {
        return refuse(error, verb, object, signal)
      }
    })
  }

  async function unlessGone(write: Promise<unknown>): Promise<void> {
    try {
      await write
    } catch (error) {
      if (!(error instanceof WriteGone)) throw error
    }
  }

  const writer: ChildWriter<S, T> = {
    create: (object, signal) =>
      marked(object, async () => {
        try {
          const stands = await client.create(kind, object, by, signal)
          cache?.absorb(stands)
          return stands
        } catch (error) {
          return refuse(error, 'create', object, signal)
        }
      }),

    async patch(object, operations, signal) {
      return operations.length === 0 ? object : patchAs('patch', object, operations, signal)
    },

    async addFinalizer(object, finalizer, signal) {
      if (object.metadata.finalizers?.includes(finalizer)) return object
      return inTurn(cache, object, async (standing) => {
        const { finalizers = [], deletionTimestamp } = standing.metadata
        if (finalizers.includes(finalizer)) return standing
        if (deletionTimestamp !== undefined) {
          const target = targetOf(options, 'add-finalizer', standing)
          count(options, target, { is: 'gone', why: 'deleting' })
          throw new WriteGone(target, 'deleting')
        }
        return patchAs('add-finalizer', standing, finalizerAddition(finalizers, finalizer), signal)
      })
    },

    async removeFinalizer(object, finalizer, signal) {
      if (!object.metadata.finalizers?.includes(finalizer)) return
      await inTurn(cache, object, async (standing) => {
        const index = standing.metadata.finalizers?.indexOf(finalizer) ?? -1
        if (index < 0) return
        const path = `/metadata/finalizers/${index}`
        const operations: JsonPatchOperation[] = [
          { op: 'test', path, value: finalizer },
          { op: 'remove', path },
        ]
        await unlessGone(patchAs('remove-finalizer', standing, operations, signal))
      })
    },

    async remove(object, signal) {
      const uid = requireUid(object)
      const removal = marked(object, async () => {
        try {
          const stands = await client.remove(kind, object.metadata, { uid }, signal)
          if (stands) cache?.absorb(stands)
          else cache?.absorbGone(object)
        } catch (error) {
          await refuse(error, 'delete', object, signal)
        }
      })
      await unlessGone(removal)
    },
  }
  return writer
}

/** Tests the whole list that was read: another writer's addition in between is a lost race, never overwritten. */
function finalizerAddition(standing: readonly string[], finalizer: string): JsonPatchOperation[] {
  const path = '/metadata/finalizers'
  if (standing.length === 0) {
    return [
      { op: 'test', path, value: null },
      { op: 'add', path, value: [finalizer] },
    ]
  }
  return [
    { op: 'test', path, value: standing },
    { op: 'add', path: `${path}/-`, value: finalizer },
  ]
}
