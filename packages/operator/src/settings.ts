/** What an administrator may set. Every setting has a value that works. */
import { InvalidArgumentError } from 'commander'

export type Settings = {
  /** Name of this location, where no single ServingLocation tells it. */
  readonly location: string | undefined
  /** Whether this process also makes contexts and subnets from Networks; off where they arrive by propagation. */
  readonly networkControllers: boolean
  /** How long a first status waits for the data plane's report, in ms. */
  readonly earlyStatusAfterMs: number
  /** How long a rejected claim waits when no watch wakes it earlier, in ms. */
  readonly retryRejectedMs: number
}

export const defaultSettings: Settings = {
  location: undefined,
  networkControllers: true,
  earlyStatusAfterMs: 250,
  retryRejectedMs: 60_000,
}

/** `host:port`, `:port` (loopback: what is served tells about the system), or `0` (nowhere). */
export function parseBindAddress(text: string): { host: string; port: number } | undefined {
  if (text === '0') return undefined
  const at = text.lastIndexOf(':')
  const port = Number(text.slice(at + 1))
  if (at < 0 || text.endsWith(':') || !Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new InvalidArgumentError('not of the form host:port')
  }
  const host = text.slice(0, at).replace(/^\[(.*)\]$/, '$1')
  return { host: host === '' ? '127.0.0.1' : host, port }
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** `250ms`, `30s`, `1m`, `1h`; `0`. In ms. */
export function parseDuration(text: string): number {
  if (text === '0') return 0
  const [, digits, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text) ?? []
  const factor = unit === undefined ? undefined : unitMs[unit]
  if (digits === undefined || factor === undefined) throw new InvalidArgumentError('not of the form 250ms, 30s, 1m or 1h')
  return Number(digits) * factor
}
