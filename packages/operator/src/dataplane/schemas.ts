/**
 * The published schemas of the kinds that DataPlanes name, fetched again when their definitions change. What the server cannot or
 * will not tell is not known, and speaks against nothing.
 * The document trails the definition by up to a second or two (its aggregation runs on its own), so the index, whose addresses
 * change with the content, is looked at a few times after each change, and then not again.
 */
import { backoff, type Client, type Clock, type Jitter, type Logger, linkedSignal } from 'kube-control-loop'
import type { Definitions } from './definitions.ts'
import { addressOf, type DocumentAddress, documentAt, type Schema, schemaIn } from './openapi.ts'
import type { KindRef } from './types.ts'

export type Schemas = {
  /** Undefined: not known. */
  of(ref: KindRef): Schema | undefined
  /** Follows it from now on; resolves with the first answer, of whatever kind, or when waiting longer would help nobody. */
  known(ref: KindRef, signal: AbortSignal): Promise<void>
  /** Calls back when what is known of a kind changes. */
  onSchema(handler: (ref: KindRef) => void): () => void
  /** Follows until aborted; also kinds that are named later. */
  run(signal: AbortSignal): Promise<void>
}

export type SchemasParts = {
  readonly client: Client
  /** Run by whoever made it. */
  readonly definitions: Pick<Definitions, 'stateOf' | 'onDefinition'>
  readonly clock: Clock
  readonly jitter: Jitter
  readonly log: Logger
}

/** Delays in ms between looks after there was reason for one. */
const looksMs = [400, 800, 1_600, 3_200] as const
/** First and longest delay in ms after the server failed to answer. */
const failedMs = [1_000, 300_000] as const
/** A kind is used without its schema when it does not come in so many ms. */
const firstMs = 2_000

type Entry = {
  readonly ref: KindRef
  schema: Schema | undefined
  /** What `schema` was read from, and how. */
  of: { address: DocumentAddress; prunes: boolean } | undefined
  answered: boolean
  readonly waiting: Set<() => void>
  /** There is reason to look. */
  wake: () => void
}

export function createSchemas(parts: SchemasParts): Schemas {
  const entries = new Map<string, Entry>()
  const handlers = new Set<(ref: KindRef) => void>()
  let start: ((entry: Entry) => void) | undefined
  const tell = (ref: KindRef) => {
    for (const handler of [...handlers]) handler(ref)
  }
  const follow = (ref: KindRef): Entry => {
    const id = idOf(ref)
    const known = entries.get(id)
    if (known) return known
    const entry: Entry = { ref, schema: undefined, of: undefined, answered: false, waiting: new Set(), wake() {} }
    entries.set(id, entry)
    start?.(entry)
    return entry
  }
  return {
    of: (ref) => entries.get(idOf(ref))?.schema,
    async known(ref, signal) {
      const entry = follow(ref)
      if (entry.answered) return entry.wake()
      const wait = linkedSignal(signal)
      const done = () => wait.abort(new Error('answered'))
      entry.waiting.add(done)
      await parts.clock.sleep(firstMs, wait.signal).catch(() => {})
      entry.waiting.delete(done)
      wait.release()
    },
    onSchema(handler) {
      handlers.add(handler)
      return () => handlers.delete(handler)
    },
    async run(signal) {
      const running = new Set<Promise<void>>()
      start = (entry) => {
        const task = followEntry(parts, entry, tell, signal).finally(() => running.delete(task))
        running.add(task)
      }
      for (const entry of entries.values()) start(entry)
      await new Promise<void>((resolve) => {
        if (signal.aborted) return resolve()
        signal.addEventListener('abort', () => resolve(), { once: true })
      })
      start = undefined
      await Promise.all(running)
    },
  }
}

const idOf = ({ apiVersion, kind }: KindRef): string => `${apiVersion} ${kind}`

/** Looks whenever there is reason to. Never rejects. */
async function followEntry(parts: SchemasParts, entry: Entry, tell: (ref: KindRef) => void, signal: AbortSignal): Promise<void> {
  const delay = backoff(...failedMs, parts.jitter)
  let looks = 0
  let failures = 0
  const asked = { again: false, now: () => {} }
  entry.wake = () => {
    looks = 0
    asked.again = true
    asked.now()
  }
  const unsubscribe = parts.definitions.onDefinition(entry.ref, () => entry.wake())
  while (!signal.aborted) {
    asked.again = false
    const before = entry.schema
    const isAnswered = await look(parts, entry, signal)
    failures = isAnswered ? 0 : failures + 1
    entry.answered = true
    for (const each of [...entry.waiting]) each()
    if (before !== entry.schema) tell(entry.ref)
    const ms = isAnswered ? looksMs[looks++] : delay(failures)
    if (!asked.again) await pause(parts.clock, ms, asked, signal)
  }
  unsubscribe()
}

/** Whether the server answered. A document that is the same, and one that cannot be had, leave what is known as it is. */
async function look({ client, definitions, log }: SchemasParts, entry: Entry, signal: AbortSignal): Promise<boolean> {
  const { ref } = entry
  try {
    const address = await addressOf(client, ref, signal)
    const prunes = definitions.stateOf(ref) === 'established'
    if (address !== undefined && address === entry.of?.address && prunes === entry.of.prunes) return true
    const document = address === undefined ? undefined : await documentAt(client, address, signal)
    entry.schema = schemaIn(document, { kind: ref, prunes })
    // A document without the kind is older than the definition: it is read again.
    entry.of = entry.schema && address ? { address, prunes } : undefined
    return true
  } catch (error) {
    if (!signal.aborted) log.warn({ err: error, ...ref }, 'the schema of a kind could not be had; its fields are not checked')
    return false
  }
}

/** Undefined: until there is reason to look. */
function pause(clock: Clock, ms: number | undefined, asked: { now: () => void }, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => {
      cancel?.()
      asked.now = () => {}
      signal.removeEventListener('abort', finish)
      resolve()
    }
    const cancel = ms === undefined ? undefined : clock.after(ms, finish)
    asked.now = finish
    signal.addEventListener('abort', finish, { once: true })
    if (signal.aborted) finish()
  })
}
