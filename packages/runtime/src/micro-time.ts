/** MicroTime: RFC 3339 with exactly six fractional digits, which the API server demands of leases and events. */

export function microTime(date: Date): string {
  return date.toISOString().replace('Z', '000Z')
}

/** The instant of an RFC 3339 time with any number of fractional digits; undefined where it is none. */
export function parseTime(text: string | undefined): Date | undefined {
  const parts = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)$/.exec(text ?? '')
  if (!parts) return undefined
  const [, seconds, fraction = '', zone] = parts
  const date = new Date(`${seconds}${fraction.slice(0, 4)}${zone}`)
  return Number.isNaN(date.getTime()) ? undefined : date
}
