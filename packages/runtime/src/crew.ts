/** The controllers of a process: they work while it leads, and stop in order. */
import type { Controller } from './controller.ts'
import { aborted, linkedSignal } from './linked-signal.ts'
import { createLoop, type Loop, type LoopParts } from './loop.ts'

export type CrewOptions = LoopParts & {
  /** Passes in work may take so long once the process stops. */
  drainMs: number
}

export type Crew = {
  /** Watches from now on, works while the process leads. The returned function ends it and resolves when its passes have. */
  add(controller: Controller): () => Promise<void>
  /**
   * Works until `stopping` or `lost` is aborted; resolves when no pass is in work any more. `lost` cuts passes off at once,
   * `stopping` after the time to finish. A pass that ignores that is left behind, with an error in the log.
   */
  lead(stopping: AbortSignal, lost: AbortSignal): Promise<void>
  readonly leads: boolean
  readonly controllers: Iterable<Controller>
  close(): void
}

/** A pass that was aborted and goes on for so long is left behind; the fence refuses its writes once the lease is gone. */
const abandonMs = 5_000

type Member = { loop: Loop; ended: AbortController; running: Promise<void> }

/** The two signals of a time as leader: take no new work, and drop what is in work. */
type Shift = { stop: AbortSignal; kill: AbortSignal; end(): void }

export function createCrew(options: CrewOptions): Crew {
  const { clock, log, drainMs } = options
  const members = new Set<Member>()
  let present: Shift | undefined

  const work = (member: Member, shift: Shift) => {
    const stop = linkedSignal(shift.stop, member.ended.signal)
    member.running = member.loop
      .run(stop.signal, shift.kill)
      .catch((error) => log.error({ err: error, controller: member.loop.controller.name }, 'a controller ended by itself'))
      .finally(stop.release)
  }

  const openShift = (stopping: AbortSignal, lost: AbortSignal): Shift => {
    const stop = linkedSignal(stopping, lost)
    const kill = linkedSignal(lost)
    let cancel = () => {}
    const startCountdown = () => {
      cancel = clock.after(drainMs, () => kill.abort(new Error('the time to finish is over')))
    }
    const countdown = linkedSignal(stopping)
    if (stopping.aborted) startCountdown()
    else countdown.signal.addEventListener('abort', startCountdown, { once: true })
    return {
      stop: stop.signal,
      kill: kill.signal,
      end() {
        cancel()
        for (const each of [stop, kill, countdown]) each.release()
      },
    }
  }

  /** Resolves when all passes have ended, or have been left behind. */
  const handedOver = async (kill: AbortSignal) => {
    const over = linkedSignal()
    const ended = Promise.all([...members].map(({ running }) => running)).then(() => over.abort(undefined))
    const leftBehind = aborted(kill)
      .then(() => clock.sleep(abandonMs, over.signal))
      .then(
        () => log.error('a pass goes on although it was aborted'),
        () => ended,
      )
    await Promise.race([ended, leftBehind])
  }

  return {
    add(controller) {
      const member: Member = { loop: createLoop(controller, options), ended: new AbortController(), running: Promise.resolve() }
      members.add(member)
      if (present) work(member, present)
      return async () => {
        member.ended.abort(new Error('the controller was ended'))
        await member.running
        members.delete(member)
        member.loop.close()
      }
    },
    async lead(stopping, lost) {
      const shift = openShift(stopping, lost)
      present = shift
      for (const member of members) work(member, shift)
      await aborted(shift.stop)
      present = undefined
      await handedOver(shift.kill)
      shift.end()
    },
    get leads() {
      return present !== undefined
    },
    get controllers() {
      return [...members].map(({ loop }) => loop.controller)
    },
    close() {
      for (const { loop } of members) loop.close()
    },
  }
}
