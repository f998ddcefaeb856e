/** Typed calls on one API server. No cache, no policy about races: what the server answers comes back or is thrown. */
import type { Kind, KubeObject } from './kind.ts'

export type JsonPatchOperation = { op: 'test' | 'add' | 'replace'; path: string; value: unknown } | { op: 'remove'; path: string }

/** Addresses one object. */
export type At = { name: string; namespace?: string | undefined }

export type WatchEvent<O> =
  | { type: 'ADDED' | 'MODIFIED' | 'DELETED'; object: O }
  /** Only a resource version: everything up to it has been delivered. `initialEventsEnd` ends a streaming list. */
  | { type: 'BOOKMARK'; resourceVersion: string; initialEventsEnd: boolean }

/** `strict`: a field that the server does not know is refused (400 or 422) instead of dropped without a word (KEP-2885). */
export type Strictness = { strict?: boolean }

/**
 * Every call throws `ApiError` (api-error.ts) on an answer that is no success. Answers that mean "the server is starting or
 * stopping" and 429 are retried within the call, briefly (DESIGN 4). So are calls whose connection broke, with
 * `ConnectionBroken` in the end: a POST whose answer was lost is told by AlreadyExists (the name is the identity), a JSON
 * patch by its tests, a delete by its precondition.
 */
export type Client = {
  /** The object, or undefined when exactly this object does not exist (404 naming it). */
  find<S, T>(kind: Kind<S, T>, at: At, signal: AbortSignal): Promise<KubeObject<S, T> | undefined>
  /** `pageSize`: asked for in pages of so many objects, all of one version; a list that takes too long is answered 410. */
  list<S, T>(
    kind: Kind<S, T>,
    options: { namespace?: string; labelSelector?: string; fieldSelector?: string; resourceVersion?: string; pageSize?: number },
    signal: AbortSignal,
  ): Promise<{ items: KubeObject<S, T>[]; resourceVersion: string }>
  /** Iteration throws ApiError on an ERROR line (410 inside a 200 stream), ConnectionBroken when the stream breaks or is silent. */
  watch<S, T>(
    kind: Kind<S, T>,
    options: {
      namespace?: string
      labelSelector?: string
      fieldSelector?: string
      resourceVersion: string
      sendInitialEvents?: boolean
    },
    signal: AbortSignal,
  ): Promise<AsyncIterable<WatchEvent<KubeObject<S, T>>>>
  create<S, T>(
    kind: Kind<S, T>,
    object: KubeObject<S, T>,
    options: { fieldManager: string; dryRun?: boolean } & Strictness,
    signal: AbortSignal,
  ): Promise<KubeObject<S, T>>
  /** RFC 6902. A failed `test` is a 422 without details. */
  jsonPatch<S, T>(
    kind: Kind<S, T>,
    at: At & { subresource?: string },
    operations: readonly JsonPatchOperation[],
    options: { fieldManager: string } & Strictness,
    signal: AbortSignal,
  ): Promise<KubeObject<S, T>>
  /** Server-side apply (KEP-555). */
  apply<S, T>(
    kind: Kind<S, T>,
    at: At & { subresource?: string },
    body: unknown,
    options: { fieldManager: string; force: boolean },
    signal: AbortSignal,
  ): Promise<KubeObject<S, T>>
  /** Answers the object as it stands afterwards (finalizers may hold it), or undefined when the server says that it is gone. */
  remove<S, T>(
    kind: Kind<S, T>,
    at: At,
    preconditions: { uid?: string; resourceVersion?: string },
    signal: AbortSignal,
  ): Promise<KubeObject<S, T> | undefined>
  /** Any other request, e.g. discovery or a SelfSubjectAccessReview. Throws ApiError like the rest. */
  raw(request: import('./transport.ts').ApiRequest, signal: AbortSignal): Promise<unknown>
}
