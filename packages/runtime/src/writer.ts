/**
 * The only way a controller writes. Bound to one kind, one controller, one field manager and (for status) one owner of the
 * ownership table. Classifies every refusal once (races.ts), counts it, and absorbs every answer into the cache.
 *
 * A method returns what stands afterwards, or throws:
 *  - `WriteRaced`: a lost race. The controller loop requeues the key through the rate limiter; counted, no error, debug log.
 *  - `WriteGone`: the object (or its namespace) was deleted mid-pass. The loop ends the pass as a no-op; counted.
 *  - `WriteHeldBack` (status only): others keep writing the same paths; the loop takes the key again in a moment.
 *  - `KindUnserved`: the kind is going or not served. The loop ends the pass as waiting.
 *  - anything else: a fault; the loop surfaces it as an error with backoff.
 * The first four are signals that end a pass, not errors; nothing but the loop (and tear-down, for `WriteGone`) catches them.
 */
import type { JsonPatchOperation } from './client.ts'
import type { Key, KubeObject } from './kind.ts'
import type { StatusIntent, StatusOwner } from './ownership.ts'

export type ChildWriter<S, T> = {
  /** POST. AlreadyExists → WriteRaced(cause already-exists): the next pass finds the object (it was read and absorbed) and judges it. */
  create(object: KubeObject<S, T>, signal: AbortSignal): Promise<KubeObject<S, T>>
  /** JSON patch on the main resource; `test /metadata/uid` is put in front. A failed test → live GET → WriteRaced or WriteGone. No operations: no request. */
  patch(object: KubeObject<S, T>, operations: readonly JsonPatchOperation[], signal: AbortSignal): Promise<KubeObject<S, T>>
  /** Adds one finalizer when missing, by JSON patch with tests; never on a deleting object (that is WriteGone). */
  addFinalizer(object: KubeObject<S, T>, finalizer: string, signal: AbortSignal): Promise<KubeObject<S, T>>
  /** Removes exactly one finalizer by JSON patch with `test` on uid and on the entry; foreign ones are neither kept nor re-added. Absent: no request. Gone: resolves (nothing left to do), counted. */
  removeFinalizer(object: KubeObject<S, T>, finalizer: string, signal: AbortSignal): Promise<void>
  /** DELETE with a uid precondition. Already gone, or another uid under the name: resolves, counted as gone. */
  remove(object: KubeObject<S, T>, signal: AbortSignal): Promise<void>
}

export type StatusWriter<S, T, Owner extends StatusOwner> = {
  /**
   * Applies the complete intent of this owner on /status, polite first, then firm and loud. Equal to what stands: no request.
   * Conditions: `lastTransitionTime` is set here (kept unless `status` flips; whole seconds); `observedGeneration` is the caller's.
   */
  status(object: KubeObject<S, T>, intent: StatusIntent<T, Owner>, signal: AbortSignal): Promise<KubeObject<S, T>>
  /** The object is gone for good: drops what is remembered of it (a controller's `forget` calls this). */
  forget(key: Key): void
}
