/**
 * Signals that end a pass and are not errors. Writers throw them, already counted; the controller loop turns them into
 * an outcome. They are Error objects only so that throwing them keeps a stack.
 */
import type { Key } from './kind.ts'

/** What a writer does to an object; `apply` is a status apply, `migrate` moves ownership of earlier software. */
export type WriteVerb = 'create' | 'patch' | 'add-finalizer' | 'remove-finalizer' | 'delete' | 'apply' | 'migrate'

/** Why a write was refused, as a metric label: a closed set. */
export type RaceCause =
  /** The name is taken: a cache that had not seen it yet, a lost answer, or a foreign object. */
  | 'already-exists'
  /** What was read is no longer what stands (`test` failed, resourceVersion or uid moved). */
  | 'stale'
  /** Someone took a documented path while it was being taken back. */
  | 'second-writer'

export type GoneCause =
  /** 404 for this object. */
  | 'not-found'
  /** Another object has the name now. */
  | 'recreated'
  /** The object is being deleted and takes no new finalizer. */
  | 'deleting'
  /** Its namespace is going or gone. */
  | 'namespace'

/** What was written to. */
export type WriteTarget = { readonly controller: string; readonly resource: string; readonly verb: WriteVerb; readonly key: Key }

/** A lost race: the loop requeues the key through the rate limiter, logs at debug, counts no error. */
export class WriteRaced extends Error {
  override readonly name = 'WriteRaced'
  readonly code = 'WRITE_RACED'
  readonly target: WriteTarget
  readonly why: RaceCause
  constructor(target: WriteTarget, why: RaceCause, options?: ErrorOptions) {
    super(`${target.verb} ${target.resource} ${target.key}: lost a race (${why})`, options)
    this.target = target
    this.why = why
  }
}

/**
 * Others keep writing the paths of this status, and they are left to them for a moment before they are taken back: the loop
 * takes the key again after `afterMs`. Neither an error nor a lost race; nothing was sent.
 */
export class WriteHeldBack extends Error {
  override readonly name = 'WriteHeldBack'
  readonly code = 'WRITE_HELD_BACK'
  readonly target: WriteTarget
  readonly afterMs: number
  constructor(target: WriteTarget, afterMs: number, options?: ErrorOptions) {
    super(`${target.verb} ${target.resource} ${target.key}: held back, others keep writing there`, options)
    this.target = target
    this.afterMs = afterMs
  }
}

/** Deleted mid-pass: the loop ends the pass as a no-op. */
export class WriteGone extends Error {
  override readonly name = 'WriteGone'
  readonly code = 'WRITE_GONE'
  readonly target: WriteTarget
  readonly why: GoneCause
  constructor(target: WriteTarget, why: GoneCause, options?: ErrorOptions) {
    super(`${target.verb} ${target.resource} ${target.key}: gone (${why})`, options)
    this.target = target
    this.why = why
  }
}

/** The server does not serve this kind (now): the loop ends the pass as waiting. */
export class KindUnserved extends Error {
  override readonly name = 'KindUnserved'
  readonly code = 'KIND_UNSERVED'
  readonly target: WriteTarget
  constructor(target: WriteTarget, options?: ErrorOptions) {
    super(`${target.verb} ${target.resource} ${target.key}: the kind is not served`, options)
    this.target = target
  }
}
