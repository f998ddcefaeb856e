/**
 * How a documented writer behaves while someone else keeps writing its status paths: what of it was told already, and how
 * long it leaves them alone before it takes them back once more. Per key, bounded, without timers.
 */
import type { Clock } from './clock.ts'
import { type Key, type KubeObject, keyOf } from './kind.ts'

export type ContentionOptions = {
  clock: Clock
  /** An episode is over when nobody else wrote for so long. */
  quietMs?: number
  /** So many times in an episode the paths are taken back at once. */
  freeRounds?: number
  /** Delay between own writes after that: doubles from the first to the longest, and stays there. */
  delayMs?: readonly [first: number, longest: number]
  /** Keys that are remembered; of more, the one that is quiet for longest is forgotten. */
  limit?: number
}

/** Who a write is attributed to that left no trace. */
export const unknownManager = 'unknown'

export type Contention = {
  /** Someone else was found on documented paths just now. Whether this is the first word of it in this episode; that nobody knows who wrote a path is no news where someone was named. */
  isNews(object: KubeObject, path: string, manager: string): boolean
  /** The documented writer takes its paths back now. */
  round(object: KubeObject): void
  /** Milliseconds until it may do so again, at most the longest delay; 0: now. */
  heldBackMs(object: KubeObject): number
  forget(key: Key): void
  clear(): void
  /** Keys that are remembered. */
  readonly size: number
}

type Episode = {
  uid: string | undefined
  /** Path → managers. */
  told: Map<string, Set<string>>
  tellings: number
  rounds: number
  lastForeign: number
  notBefore: number
}

/** Of writers that use a new name each time, or every path there is, no more is told in one episode. */
const mostTellings = 32

export function createContention(options: ContentionOptions): Contention {
  const { clock, quietMs = 30_000, freeRounds = 3, delayMs = [50, 600], limit = 20_000 } = options
  const [firstMs, longestMs] = delayMs
  /** The one that is quiet for longest comes first. */
  const episodes = new Map<Key, Episode>()

  const isOver = ({ lastForeign }: Episode) => clock.monotonic() - lastForeign >= quietMs

  const standing = (object: KubeObject): Episode | undefined => {
    const episode = episodes.get(keyOf(object))
    return episode && episode.uid === object.metadata.uid && !isOver(episode) ? episode : undefined
  }

  const tidy = () => {
    for (const [key, episode] of episodes) {
      if (episodes.size <= limit && !isOver(episode)) return
      episodes.delete(key)
    }
  }

  const noticed = (object: KubeObject): Episode => {
    const key = keyOf(object)
    const { uid } = object.metadata
    const now = clock.monotonic()
    const episode = standing(object) ?? { uid, told: new Map(), tellings: 0, rounds: 0, lastForeign: now, notBefore: now }
    episode.lastForeign = now
    episodes.delete(key)
    episodes.set(key, episode)
    tidy()
    return episode
  }

  return {
    isNews(object, path, manager) {
      const episode = noticed(object)
      const managers = episode.told.get(path) ?? new Set()
      const isKnown = managers.has(manager) || (manager === unknownManager && managers.size > 0)
      if (isKnown || episode.tellings >= mostTellings) return false
      episode.tellings += 1
      episode.told.set(path, managers.add(manager))
      return true
    },
    round(object) {
      const episode = noticed(object)
      episode.rounds += 1
      const slowed = episode.rounds - freeRounds
      const delay = slowed < 0 ? 0 : Math.min(longestMs, firstMs * 2 ** slowed)
      episode.notBefore = clock.monotonic() + delay
    },
    heldBackMs(object) {
      const episode = standing(object)
      return episode ? Math.max(0, episode.notBefore - clock.monotonic()) : 0
    },
    forget: (key) => episodes.delete(key),
    clear: () => episodes.clear(),
    get size() {
      return episodes.size
    },
  }
}
