/** Settings as they stand on a command line, checked. */

/** `host:port`, `:port` or `[v6]:port`; `0` serves nothing. An absent host is loopback: what is served tells about the system. */
export function parseBindAddress(text: string): { host: string; port: number } | undefined {
  if (text === '0') return undefined
  const [, six, host, digits] = /^(?:\[([0-9a-fA-F:]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text) ?? []
  const port = Number(digits)
  if (digits === undefined || port > 65_535) throw new Error(`${text} is no address to serve on: say host:port, or 0 for none`)
  return { host: six || host || '127.0.0.1', port }
}

const unitsMs: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** `30s`, `1m30s`, `500ms`: a duration in milliseconds. */
export function parseDuration(text: string): number {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)]
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== text) {
    throw new Error(`${text} is no duration: say for example 30s or 1m30s`)
  }
  return parts.reduce((sum, [, amount, unit = '']) => sum + Number(amount) * (unitsMs[unit] ?? 0), 0)
}
