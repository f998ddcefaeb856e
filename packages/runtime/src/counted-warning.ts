/** Something that should not happen often: counted for alerts, and told on the object that it happened to. */
import { Counter } from 'prom-client'
import type { KubeObject } from './kind.ts'
import type { Manager } from './manager.ts'

export type CountedWarning = {
  /** Name of the counter, and what it counts. */
  readonly metric: string
  readonly help: string
  /** Of the event. */
  readonly reason: string
  readonly action: string
  readonly note: string
}

/** Registers the counter at once, so that it is there with 0; each call of what it returns counts one and records one event. */
export function countedWarning(
  { metrics, events }: Pick<Manager, 'metrics' | 'events'>,
  { metric, help, ...note }: CountedWarning,
): (object: KubeObject) => void {
  const counter = new Counter({ name: metric, help, registers: [metrics.registry] })
  return (object) => {
    counter.inc()
    events.record(object, { type: 'Warning', ...note })
  }
}
