/** Ctrl-C, TERM and a closed terminal as one AbortSignal. */
import { constants } from 'node:os'
import process from 'node:process'

/** Why a run was aborted: the reason of the signal that `stopSignal` gives. */
export class Interrupted extends Error {
  override name = 'Interrupted'
  readonly by: NodeJS.Signals
  constructor(by: NodeJS.Signals) {
    super(`stopped by ${by}`)
    this.by = by
  }
}

/** As shells have it: 130 for Ctrl-C, 143 for TERM, 129 for a closed terminal. */
export function statusOf(signal: AbortSignal): number {
  return signal.reason instanceof Interrupted ? 128 + constants.signals[signal.reason.by] : 1
}

/** A terminal and a wrapper such as npm both pass one Ctrl-C on: what comes this soon after the first is the same. */
const sameMs = 1000

/** Aborted by the first of them; a second Ctrl-C, a while later, ends this process at once (its children end with it). */
export function stopSignal(): AbortSignal {
  const controller = new AbortController()
  let firstAt = 0
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      if (!controller.signal.aborted) firstAt = performance.now()
      else if (name === 'SIGINT' && performance.now() - firstAt > sameMs) process.exit(130)
      controller.abort(new Interrupted(name))
    })
  }
  // Whoever read the output has gone (`nso start | head`).
  process.stdout.on('error', () => controller.abort(new Interrupted('SIGPIPE')))
  return controller.signal
}
