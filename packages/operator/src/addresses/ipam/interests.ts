/**
 * Who waits for what: claims and interfaces by topic, so that a change wakes those that it concerns and nobody else. Topics are
 * an IPClaim, a namespace or the end of an interface here, room in a pool, the service itself. Kept in memory only: whoever asks says it anew.
 */
import type { Key } from 'kube-control-loop'
import type { AllocationNews } from '../port.ts'

export const topics = {
  ipClaim: (key: Key) => `ipclaim ${key}`,
  namespace: (name: string) => `namespace ${name}`,
  /** An interface is deleted. */
  going: (key: Key) => `going ${key}`,
  room: (pool: string) => `room ${pool}`,
  /** The service answers again, or has told all that it holds. */
  service: 'service',
  /** It answers, but failed to do this, or news may have been missed: tried again after a while. */
  later: 'later',
} as const

export type Interested = `claim ${Key}` | `interface ${Key}`

/** A look at the world by a pass, from before its first read until it says what it waits for. */
export type Look = Disposable & {
  /** Whether one of the topics was told since the look began: what was read may be from before that. */
  missed(topics: readonly string[]): boolean
  /** What the pass does itself from here on: told of these topics, it is no news. Else who takes back what it made would wake itself. */
  doing(topics: readonly string[]): void
  /** What was told of these topics so far was of the pass's own making. */
  made(topics: readonly string[]): void
}

export type Interests = {
  /** Replaces what this one waited for. */
  set(who: Interested, topics: readonly string[]): void
  drop(who: Interested): void
  /** All that wait for the topic, or the one that has waited longest. */
  of(topic: string, most?: number): AllocationNews & { readonly size: number }
  look(): Look
  readonly size: number
}

export function createInterests(): Interests {
  const byTopic = new Map<string, Set<Interested>>()
  const byWho = new Map<Interested, readonly string[]>()
  /** What was told during each look that is under way: as many as there are workers. */
  const looks = new Set<(topic: string) => void>()

  const leave = (topic: string, who: Interested) => {
    const waiting = byTopic.get(topic)
    waiting?.delete(who)
    if (waiting?.size === 0) byTopic.delete(topic)
  }

  const drop = (who: Interested) => {
    for (const topic of byWho.get(who) ?? []) leave(topic, who)
    byWho.delete(who)
  }

  return {
    set(who, wanted) {
      const before = byWho.get(who)
      // Whoever waits for the same again keeps its place.
      for (const topic of before ?? []) if (!wanted.includes(topic)) leave(topic, who)
      for (const topic of wanted) byTopic.set(topic, (byTopic.get(topic) ?? new Set()).add(who))
      if (wanted.length > 0) byWho.set(who, wanted)
      else byWho.delete(who)
    },
    drop,
    of(topic, most = Number.POSITIVE_INFINITY) {
      for (const hear of looks) hear(topic)
      const first = [...(byTopic.get(topic) ?? [])].slice(0, most)
      const keysOf = (prefix: 'claim ' | 'interface ') =>
        first.flatMap((who) => (who.startsWith(prefix) ? [who.slice(prefix.length)] : []))
      return { claims: keysOf('claim '), interfaces: keysOf('interface '), size: first.length }
    },
    look() {
      const told = new Set<string>()
      const own = new Set<string>()
      const hear = (topic: string) => {
        if (!own.has(topic)) told.add(topic)
      }
      looks.add(hear)
      return {
        missed: (wanted) => wanted.some((topic) => told.has(topic)),
        doing(topics) {
          for (const topic of topics) own.add(topic)
        },
        made(topics) {
          for (const topic of topics) told.delete(topic)
        },
        [Symbol.dispose]: () => void looks.delete(hear),
      }
    },
    get size() {
      return byWho.size
    },
  }
}
