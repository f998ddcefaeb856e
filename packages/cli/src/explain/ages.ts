/** Spans of time as people say them. */

const units = [
  { name: 'd', ms: 86_400_000 },
  { name: 'h', ms: 3_600_000 },
  { name: 'min', ms: 60_000 },
  { name: 's', ms: 1000 },
] as const

/** `45 s`, `3 min`, `2 h`, `5 d`: the largest unit that counts at least two, else the smallest. Never negative. */
export function span(ms: number): string {
  const unit = units.find((each) => ms >= 2 * each.ms) ?? units[3]
  return `${Math.max(0, Math.floor(ms / unit.ms))} ${unit.name}`
}

/** From a time until another; undefined where there is none, or it stands for "never" (the epoch). */
export function age(at: Date, time: string | undefined): string | undefined {
  const from = time === undefined ? Number.NaN : Date.parse(time)
  return Number.isNaN(from) || from === 0 ? undefined : span(at.getTime() - from)
}
