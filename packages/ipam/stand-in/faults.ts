/**
 * For tests in the same process: what is to go wrong with requests that come. Not to be reached over the network. A request that
 * a fault has is answered whole, also where it would be a stream.
 */
import { type Clock, systemClock } from 'kube-control-loop'
import type { Answer } from './behind.ts'
import { jsonAnswer } from './statuses.ts'

/** A request as it came. */
export type Came = { readonly method: string; readonly path: string; readonly query: URLSearchParams }

export type Fault = {
  /** How often it acted. */
  readonly count: number
  /** Resolves when it has acted so often. */
  acted(times?: number): Promise<void>
  /** Takes it out; what it holds goes on. */
  remove(): void
}

export type HeldFault = Fault & {
  /** Lets go on what is held, and all that follows. */
  release(): void
}

export type Faults = {
  /** The connection breaks, and nothing was done. */
  drop(): Fault
  /** It is done, and the connection breaks before the answer. */
  lose(): Fault
  /** This is answered, and nothing is done. An object is sent as JSON. */
  fail(status: number, body: unknown): Fault
  /** It waits, before anything is done, until it is released. */
  hold(): HeldFault
  /** It is done at once; its answer waits until it is released. */
  holdAnswer(): HeldFault
  /** It waits for so long before anything is done. */
  delay(ms: number): Fault
}

/** `times`: how often it acts (default 1); `skip`: how many it lets by first. */
export type FaultOptions = { times?: number; skip?: number }

/** Undefined: the connection is broken. */
type Act = (handle: () => Promise<Answer>) => Promise<Answer | undefined>
type Rule = { predicate: (came: Came) => boolean; left: number; skip: number; acted: number; act: Act; tell: () => void }

export type FaultScript = {
  on(predicate: (came: Came) => boolean, options?: FaultOptions): Faults
  /** What happens to this request instead of what would. Undefined: nothing does. */
  take(came: Came): Act | undefined
}

export function createFaults(clock: Clock = systemClock): FaultScript {
  const rules: Rule[] = []

  function add(predicate: Rule['predicate'], { times = 1, skip = 0 }: FaultOptions, act: Act, release = () => {}): Fault {
    const waiting: { times: number; resolve: () => void }[] = []
    const rule: Rule = {
      ...{ predicate, left: times, skip, acted: 0, act },
      tell: () => {
        for (const each of waiting) if (rule.acted >= each.times) each.resolve()
      },
    }
    rules.unshift(rule)
    return {
      get count() {
        return rule.acted
      },
      acted: (wanted = 1) =>
        new Promise((resolve) => {
          waiting.push({ times: wanted, resolve })
          rule.tell()
        }),
      remove() {
        rules.splice(rules.indexOf(rule) >>> 0, 1)
        release()
      },
    }
  }

  function addHeld(predicate: Rule['predicate'], options: FaultOptions, isAnswer: boolean): HeldFault {
    const gate = Promise.withResolvers<void>()
    const act: Act = async (handle) => {
      if (!isAnswer) await gate.promise
      const answer = await handle()
      await gate.promise
      return answer
    }
    const fault = add(predicate, options, act, gate.resolve)
    return Object.defineProperties({ release: gate.resolve } as HeldFault, Object.getOwnPropertyDescriptors(fault))
  }

  return {
    on: (predicate, options = {}) => ({
      drop: () => add(predicate, options, async () => undefined),
      lose: () =>
        add(predicate, options, async (handle) => {
          await handle()
          return undefined
        }),
      fail: (status, body) => add(predicate, options, async () => jsonAnswer(status, body)),
      hold: () => addHeld(predicate, options, false),
      holdAnswer: () => addHeld(predicate, options, true),
      delay: (ms) =>
        add(predicate, options, async (handle) => {
          await clock.sleep(ms, new AbortController().signal)
          return await handle()
        }),
    }),
    take(came) {
      const rule = rules.find((each) => each.left > 0 && each.predicate(came) && each.skip-- <= 0)
      if (!rule) return undefined
      rule.left--
      rule.acted++
      rule.tell()
      return rule.act
    },
  }
}
