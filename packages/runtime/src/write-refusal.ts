/**
 * From a refused write to a signal, the same way for every writer: classify, ask the live object where that decides, take
 * what was learnt into the cache, count, throw.
 */
import { ApiError } from './api-error.ts'
import type { Cache } from './cache.ts'
import type { Client } from './client.ts'
import { type Kind, type KubeObject, keyOf } from './kind.ts'
import { type Addressed, type Classify, classify, decideByLive, type RequestVerb } from './races.ts'
import type { WriteMetrics } from './write-metrics.ts'
import type { WriteRegistry } from './write-registry.ts'
import {
  type GoneCause,
  KindUnserved,
  type RaceCause,
  WriteGone,
  WriteRaced,
  type WriteTarget,
  type WriteVerb,
} from './write-signals.ts'

export type WriteLog = {
  debug(fields: object, message: string): void
  warn(fields: object, message: string): void
}

/** What all writers of a process have in common. */
export type WriterEnvironment = {
  client: Client
  metrics: WriteMetrics
  registry: WriteRegistry
  log?: WriteLog
  /** What the refusal of a write means; `classify` of races.ts unless given. */
  classify?: Classify
}

export type WriterOptions<S, T> = WriterEnvironment & {
  kind: Kind<S, T>
  /** Label of the controller that writes. */
  controller: string
  /** Field manager of every request. */
  manager: string
  /** Takes in the answers; absent for kinds that nobody caches. */
  cache?: Cache<S, T> | undefined
  /** The kind belongs to someone else and may be absent: not being served is a signal then, and a fault otherwise. */
  mayBeUnserved?: boolean
  /** Creates and patches with a field that the server does not know are faults; else it drops the field without a word. */
  strict?: boolean
}

/** What a refusal turned out to be; `live` as it was read to decide. */
export type Judgement<O> =
  | { is: 'raced'; why: RaceCause; live?: O | undefined }
  | { is: 'gone'; why: GoneCause }
  | { is: 'unserved' }
  | { is: 'fault'; error: unknown }

const requestVerbs: Record<WriteVerb, RequestVerb> = {
  create: 'create',
  patch: 'patch',
  'add-finalizer': 'patch',
  'remove-finalizer': 'patch',
  delete: 'delete',
  apply: 'apply',
  migrate: 'patch',
}

type Written = { metadata: { name: string; namespace?: string; uid?: string } }

const addressed = (kind: Kind, { metadata: { name, namespace } }: Written): Addressed => ({
  plural: kind.plural,
  kind: kind.kind,
  name,
  namespace,
})

/** Decides what a refusal means, with at most one live GET. Rejects when that GET fails or the signal is aborted. */
export async function judge<S, T>(
  options: WriterOptions<S, T>,
  error: unknown,
  verb: WriteVerb,
  object: Written,
  signal: AbortSignal,
): Promise<Judgement<KubeObject<S, T>>> {
  const { client, kind, cache, mayBeUnserved } = options
  if (!(error instanceof ApiError)) return { is: 'fault', error }
  const { name, namespace, uid } = object.metadata
  const means: Classify = options.classify ?? classify
  const verdict = means(error, requestVerbs[verb], addressed(kind, object), options.controller)
  const readLive = async () => {
    const live = await client.find(kind, { name, namespace }, signal)
    if (live) cache?.absorb(live)
    return live
  }
  switch (verdict.is) {
    case 'exists':
      return { is: 'raced', why: 'already-exists', live: await readLive() }
    case 'raced':
      return { is: 'raced', why: 'stale' }
    case 'second-writer':
      return { is: 'raced', why: 'second-writer' }
    case 'ask': {
      const live = await readLive()
      const meaning = decideByLive(uid, live)
      if (meaning === 'raced') return { is: 'raced', why: 'stale', live }
      cache?.absorbGone(object)
      return { is: 'gone', why: meaning }
    }
    case 'gone':
      if (verdict.why === 'not-found') cache?.absorbGone(object)
      return { is: 'gone', why: verdict.why }
    case 'not-served':
      return mayBeUnserved ? { is: 'unserved' } : { is: 'fault', error }
    default:
      return { is: 'fault', error }
  }
}

/** As `judge`, and a kind that stopped being served between refusal and GET is told as that. */
export async function judgeSafely<S, T>(
  options: WriterOptions<S, T>,
  error: unknown,
  verb: WriteVerb,
  object: Written,
  signal: AbortSignal,
): Promise<Judgement<KubeObject<S, T>>> {
  try {
    return await judge(options, error, verb, object, signal)
  } catch (second) {
    const { kind, mayBeUnserved } = options
    const isGoing = second instanceof ApiError && classify(second, 'get', addressed(kind, object)).is === 'not-served'
    return isGoing && mayBeUnserved ? { is: 'unserved' } : { is: 'fault', error: second }
  }
}

export function targetOf(options: { kind: Kind; controller: string }, verb: WriteVerb, object: Written): WriteTarget {
  const resource = verb === 'apply' ? `${options.kind.plural}/status` : options.kind.plural
  return { controller: options.controller, resource, verb, key: keyOf(object) }
}

/** Counts a judgement; the caller throws or swallows what `signalOf` makes of it. */
export function count(options: { metrics: WriteMetrics }, target: WriteTarget, judgement: Judgement<unknown>): void {
  const { controller, resource, verb } = target
  if (judgement.is === 'raced') options.metrics.raceRequeue({ controller, resource, verb, cause: judgement.why })
  if (judgement.is === 'gone') options.metrics.gone({ controller, resource, verb, cause: judgement.why })
}

/** The Error to throw for a judgement. */
export function signalOf(target: WriteTarget, judgement: Judgement<unknown>, cause: unknown): unknown {
  switch (judgement.is) {
    case 'raced':
      return new WriteRaced(target, judgement.why, { cause })
    case 'gone':
      return new WriteGone(target, judgement.why, { cause })
    case 'unserved':
      return new KindUnserved(target, { cause })
    case 'fault':
      return judgement.error
  }
}
