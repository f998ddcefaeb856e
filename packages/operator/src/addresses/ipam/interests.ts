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
  /** It answers, but failed to do this: tried again after a while. */
  later: 'later',
} as const

export type Interested = `claim ${Key}` | `interface ${Key}`

export type Interests = {
  /** Replaces what this one waited for. */
  set(who: Interested, topics: readonly string[]): void
  drop(who: Interested): void
  /** All that wait for the topic, or the one that has waited longest. */
  of(topic: string, most?: number): AllocationNews & { readonly size: number }
  readonly size: number
}

export function createInterests(): Interests {
  const byTopic = new Map<string, Set<Interested>>()
  const byWho = new Map<Interested, readonly string[]>()

  const drop = (who: Interested) => {
    for (const topic of byWho.get(who) ?? []) {
      const waiting = byTopic.get(topic)
      waiting?.delete(who)
      if (waiting?.size === 0) byTopic.delete(topic)
    }
    byWho.delete(who)
  }

  return {
    set(who, wanted) {
      const before = byWho.get(who)
      // Whoever says the same again keeps its place.
      if (before && before.length === wanted.length && before.every((topic, at) => topic === wanted[at])) return
      drop(who)
      if (wanted.length === 0) return
      byWho.set(who, wanted)
      for (const topic of wanted) byTopic.set(topic, (byTopic.get(topic) ?? new Set()).add(who))
    },
    drop,
    of(topic, most = Number.POSITIVE_INFINITY) {
      const first = [...(byTopic.get(topic) ?? [])].slice(0, most)
      const keysOf = (prefix: 'claim ' | 'interface ') =>
        first.flatMap((who) => (who.startsWith(prefix) ? [who.slice(prefix.length)] : []))
      return { claims: keysOf('claim '), interfaces: keysOf('interface '), size: first.length }
    },
    get size() {
      return byWho.size
    },
  }
}
