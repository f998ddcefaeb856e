/**
 * Migration within a running process: before a writer applies to an object that earlier software wrote, that software's
 * ownership of that writer's paths is moved to it. Who else writes: the earlier software, where it still runs beside this process.
 * Crash: the ownership is moved or it is not, and the next pass looks again.
 */
import { type KubeObject, keyOf, type ManagedFieldsEntry } from '../kind.ts'
import type { OwnershipTable, ResourceOwnership } from '../ownership.ts'
import { putOwnership } from '../ownership-patch.ts'
import { count, type Judgement, judgeSafely, signalOf, targetOf, type WriterOptions } from '../write-refusal.ts'
import { legacyPaths, migrateEntries } from './entries.ts'

/** What a status writer is given of it. */
export type Handover<S, T> = {
  readonly legacy: readonly string[]
  /** Whether anything of this version is to be moved. */
  isMigrationDue(object: KubeObject, entries: readonly ManagedFieldsEntry[]): boolean
  /**
   * Reads the object and moves what is to be moved; answers what stands then. Throws the signals of a writer: `WriteRaced`
   * when the object moved on meanwhile, `WriteGone`, and whatever the server refused as it came.
   */
  migrate(object: KubeObject<S, T>, signal: AbortSignal): Promise<KubeObject<S, T>>
}

export type HandoverOptions<S, T> = WriterOptions<S, T> & { table: OwnershipTable }

function requireRow({ table, kind }: HandoverOptions<never, never>): ResourceOwnership {
  const row = table.find((each) => each.kind.group === kind.group && each.kind.plural === kind.plural)
  if (!row?.legacy) throw new TypeError(`the ownership table has no earlier managers of ${kind.plural}`)
  return row
}

/** Makes the handover of one kind's objects to the writer whose field manager is `manager`. Registers the write. */
export function createHandover<S, T>(options: HandoverOptions<S, T>): Handover<S, T> {
  const { client, kind, cache, manager, controller, registry } = options
  const row = requireRow(options as unknown as HandoverOptions<never, never>)
  registry.add({ controller, resource: kind.plural, verb: 'migrate', manager })

  function end(object: KubeObject<S, T>, judgement: Judgement<unknown>, cause: unknown): never {
    const target = targetOf(options, 'migrate', object)
    count(options, target, judgement)
    throw signalOf(target, judgement, cause)
  }

  async function move(object: KubeObject<S, T>, signal: AbortSignal): Promise<KubeObject<S, T>> {
    const live = await client.find(kind, object.metadata, signal)
    if (!live || live.metadata.uid !== object.metadata.uid) {
      cache?.absorbGone(object)
      if (live) cache?.absorb(live)
      return end(object, { is: 'gone', why: live ? 'recreated' : 'not-found' }, undefined)
    }
    const entries = live.metadata.managedFields ?? []
    const moved = migrateEntries({ row, object: live, entries, writer: manager })
    if (!moved) return live
    try {
      return await putOwnership({ client, kind, fieldManager: manager, signal }, live, moved)
    } catch (error) {
      const judgement = await judgeSafely(options, error, 'migrate', object, signal)
      signal.throwIfAborted()
      return end(object, judgement, error)
    }
  }

  return {
    legacy: row.legacy ?? [],
    isMigrationDue: (object, entries) => legacyPaths(object, entries, { row, writer: manager }).length > 0,
    async migrate(object, signal) {
      const done = cache?.writing(keyOf(object))
      try {
        const stands = await move(object, signal)
        cache?.absorb(stands)
        return stands
      } finally {
        done?.()
      }
    },
  }
}
