/** Texts of a command line that every process of this kind takes, checked. Errors are sentences for whoever typed them. */
import type { Address, OpsServerOptions } from './server.ts'

/** `host:port`, `:port` or `[v6]:port`; `0` serves nothing. An absent host is loopback: what is served tells about the system. */
export function parseBindAddress(text: string): Required<Address> | undefined {
  if (text === '0') return undefined
  const [, six, host, digits] = /^(?:\[([0-9a-fA-F:]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text) ?? []
  const port = Number(digits)
  if (digits === undefined || port > 65_535) throw new Error(`${text} is no address to serve on: say host:port, or 0 for none`)
  return { host: six || host || '127.0.0.1', port }
}

const unitsMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** `30s`, `1m30s`, `500ms`, `0`: a duration in milliseconds. */
export function parseDuration(text: string): number {
  if (text === '0') return 0
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)]
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== text) {
    throw new Error(`${text} is no duration: say for example 30s or 1m30s`)
  }
  return parts.reduce((sum, [, amount, unit = '']) => sum + Number(amount) * (unitsMs[unit] ?? 0), 0)
}

/** Metrics and probes on the first address, probes also on the second; where metrics are off, probes alone have theirs. */
export function served(
  metrics: Required<Address> | undefined,
  probes: Required<Address> | undefined,
): Pick<OpsServerOptions, 'host' | 'port' | 'probes'> | undefined {
  if (!metrics) return probes
  return probes ? { ...metrics, probes } : metrics
}

/** `parse` for a command-line library whose own error class makes one line with the option's name out of a wrong text. */
export function argument<T>(parse: (text: string) => T, Invalid: new (message: string) => Error): (text: string) => T {
  return (text) => {
    try {
      return parse(text)
    } catch (error) {
      throw new Invalid(error instanceof Error ? error.message : String(error))
    }
  }
}
