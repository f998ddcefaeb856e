/**
 * Holds back a status that the next one would overwrite at once: right after an interface was made, or while it goes, the
 * data plane usually reports within milliseconds, and one status write then says everything. In memory only: after a restart
 * a status is written that might have been spared.
 */
import type { Clock, Key } from 'kube-control-loop'

export type EarlyStatus = {
  /** The wait for the data plane's report begins now. */
  begin(key: Key): void
  /** Whether a wait was begun and not ended, due or not. */
  waits(key: Key): boolean
  /** Milliseconds that the status may still be held back; 0 when it is due. */
  leftMs(key: Key): number
  /** The report came, or the key is gone. */
  end(key: Key): void
}

export function createEarlyStatus(clock: Clock, afterMs: number): EarlyStatus {
  const due = new Map<Key, number>()
  return {
    begin: (key) => due.set(key, clock.monotonic() + afterMs),
    waits: (key) => due.has(key),
    leftMs: (key) => Math.max(0, Math.ceil((due.get(key) ?? Number.NEGATIVE_INFINITY) - clock.monotonic())),
    end: (key) => due.delete(key),
  }
}
