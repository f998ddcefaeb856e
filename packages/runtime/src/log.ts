/** Structured logs: JSON lines, never a credential in them. */
import pino from 'pino'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

type LogMethod = {
  (fields: object, message: string): void
  (message: string): void
}

/** What the package and its callers log with: fields first, then one stable sentence. */
export type Logger = {
  debug: LogMethod
  info: LogMethod
  warn: LogMethod
  error: LogMethod
  /** A logger whose lines all carry `bindings`. */
  child(bindings: Record<string, unknown>): Logger
  /** Whether a line of that level is written; absent: it is. */
  isLevelEnabled?(level: string): boolean
}

export type LineSink = { write(line: string): void }

const secretNames = [
  'token',
  'password',
  'authorization',
  'Authorization',
  'client-key-data',
  'clientKeyData',
  'id_token',
  'refresh_token',
]

/** A bearer header, or a JSON Web Token wherever it stands. */
const secretText = /\b(Bearer\s+)[\w.~+/-]+=*|\beyJ[\w-]{8,}\.[\w-]+\.[\w-]+/g

function scrubbed(line: string): string {
  return line.replace(secretText, (_, bearer?: string) => `${bearer ?? ''}[redacted]`)
}

/**
 * Makes the process's logger. Fields with the name of a secret are replaced at two depths; bearer values and tokens inside
 * texts (an error message, say) wherever they stand. An error goes under `err`: type, message and stack are written.
 */
export function createLogger(options: { level?: LogLevel; name?: string; to?: LineSink } = {}): Logger {
  const to = options.to ?? process.stderr
  const paths = secretNames.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`])
  return pino(
    {
      level: options.level ?? 'info',
      base: options.name ? { app: options.name } : null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths, censor: '[redacted]' },
    },
    { write: (line: string) => to.write(scrubbed(line)) },
  )
}

/** A logger that says nothing. */
export const silentLogger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silentLogger,
  isLevelEnabled: () => false,
}
