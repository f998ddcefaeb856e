/**
 * Counts the writes of one process and decides what becomes of each. One interception stands behind all servers that the process
 * writes to, so that "the n-th write" means the same whichever of them it goes to.
 */
import { leftOutBecause, type Write } from './writes.ts'

/**
 * What happens at the n-th write. `before`: the process is killed, the server never sees the write. `after`: the server has
 * answered, the process is killed before it hears. `lost`: the server has answered, the connection breaks, the process lives on.
 * `late`: the process is killed, and the write reaches the server when its successor is at work.
 */
export const modes = ['before', 'after', 'lost', 'late'] as const
export type Mode = (typeof modes)[number]

export type Rule = {
  readonly at: number
  readonly mode: Mode
  /** Called in the instant of the crash, before anything else of the process reaches a server. Not called where it lives on. */
  readonly crash: () => void
  /** With `late`: takes what lets the write reach the server after all, and resolves when it was answered. */
  readonly whenLate: (send: () => Promise<unknown>) => void
}

export type Fate = 'pass' | Mode

export type Interception = {
  /** Decides, and counts. */
  fateOf(write: Write): Fate
  /** The rule in force, for whoever carries out the fate. */
  readonly rule: Rule | undefined
  /** From now on counts from 1; without a rule it counts only. */
  arm(rule: Rule | undefined, isEarlier: (namespace: string) => boolean): void
  /** Hits and counts nothing any more; what was counted stays. */
  disarm(): void
  /** Counted since armed. */
  readonly writes: readonly Write[]
  /** The one at which the rule struck. */
  readonly struck: Write | undefined
  /** Not counted since armed, by reason. */
  readonly leftOut: ReadonlyMap<string, number>
  /** Uids of what it has created since armed. */
  readonly created: ReadonlySet<string>
  made(uid: string | undefined): void
  /** Calls back after each counted write was answered. */
  onAnswered(handler: () => void): void
  answered(): void
}

/** Counts nothing before it is armed. */
export function createInterception(): Interception {
  let rule: Rule | undefined
  let isEarlier: (namespace: string) => boolean = () => false
  let isArmed = false
  let writes: Write[] = []
  let struck: Write | undefined
  let leftOut = new Map<string, number>()
  let created = new Set<string>()
  const handlers: (() => void)[] = []
  const whyNot = (write: Write) => {
    const why = leftOutBecause(write)
    if (why !== undefined) return why
    return write.namespace !== undefined && isEarlier(write.namespace) ? 'in namespaces of earlier runs' : undefined
  }
  return {
    fateOf(write) {
      if (!isArmed) return 'pass'
      const why = whyNot(write)
      if (why !== undefined) {
        leftOut.set(why, (leftOut.get(why) ?? 0) + 1)
        return 'pass'
      }
      writes.push(write)
      if (rule?.at !== writes.length) return 'pass'
      struck = write
      return rule.mode
    },
    get rule() {
      return rule
    },
    arm(given, earlier) {
      rule = given
      isArmed = true
      isEarlier = earlier
      writes = []
      struck = undefined
      leftOut = new Map()
      created = new Set()
    },
    disarm() {
      rule = undefined
      isArmed = false
    },
    get writes() {
      return writes
    },
    get struck() {
      return struck
    },
    get leftOut() {
      return leftOut
    },
    get created() {
      return created
    },
    made(uid) {
      if (uid !== undefined) created.add(uid)
    },
    onAnswered: (handler) => void handlers.push(handler),
    answered: () => {
      for (const handler of handlers) handler()
    },
  }
}
