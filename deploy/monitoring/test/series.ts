/** Series in promtool's notation, by what they are like. Minutes, and values per minute. */
import type { Fires } from './promtool.ts'

/** Rows look at no later minute. */
export const horizon = 180

/** One value for as long as any row looks. */
export const flat = (value: number) => `${value}+0x${horizon}`
/** Grows by so much a minute. */
export const growing = (each: number) => `0+${each}x${horizon}`
/** Not there at first, then this value, as a counter is whose labels come up late. */
export const appears = (minute: number, value = 1) => `_x${minute} ${value}+0x${horizon}`
/** Values a minute, for so many minutes each, one after the other. */
export function phases(...each: readonly (readonly [minutes: number, perMinute: number])[]): string {
  let value = 0
  const parts = each.map(([minutes, perMinute]) => {
    const part = `${value}+${perMinute}x${minutes - 1}`
    value += perMinute * minutes
    return part
  })
  return [...parts, `${value}+0x${horizon}`].join(' ')
}
/** A burst every so many minutes, nothing between: what a storm of claims leaves in a counter. */
export const bursts = (every: number, each: number) =>
  Array.from({ length: Math.ceil(horizon / every) }, (_, at) => `${each * (at + 1)}+0x${every - 1}`).join(' ')

export const fires = (alertname: string, labels: Record<string, string> = {}): Fires => ({ alertname, ...labels })
