/** How commands that answer questions print: text for people, JSON or YAML for programs, and quietly into a closed pipe. */
import process from 'node:process'
import { styleText } from 'node:util'
import { Scalar, stringify } from 'yaml'
import { type Paint, plain } from './tree.ts'

export const formats = ['text', 'json', 'yaml'] as const
export type Format = (typeof formats)[number]

const tones = { good: 'green', bad: 'red', dim: 'dim', strong: 'bold' } as const

/** Colours on a terminal only, and not where NO_COLOR is set (https://no-color.org). */
export function paintFor(stream: { isTTY?: boolean }, environment: NodeJS.ProcessEnv = process.env): Paint {
  const isPlain = stream.isTTY !== true || Boolean(environment.NO_COLOR) || environment.TERM === 'dumb'
  return isPlain ? plain : (text, tone) => styleText(tones[tone], text, { validateStream: false })
}

/** What a terminal obeys instead of showing: control characters, and those that turn the direction of text or end a line. */
const obeyed = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/u
const obeyedRuns = new RegExp(`${obeyed.source}+`, 'gu')

/** Each text in a value with what a terminal would obey made visible: messages are anybody's. */
export function visible<T>(value: T): T {
  const clean = (_: string, part: unknown) => (typeof part === 'string' ? part.replace(obeyedRuns, '\uFFFD') : part)
  return JSON.parse(JSON.stringify(value, clean)) as T
}

/** Of what stands within quotes: the escape that JSON and YAML share. Line ends are the format's own. */
const escaped = (text: string): string =>
  text.replace(new RegExp(obeyed.source, 'gu'), (each) =>
    each === '\n' ? each : `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/** Quotes what has to be escaped, which in YAML is possible nowhere else. */
function quoted(_: string, part: unknown): unknown {
  if (typeof part !== 'string' || !obeyed.test(part)) return part
  return Object.assign(new Scalar(part), { type: Scalar.QUOTE_DOUBLE })
}

/** A value in the format; `text` is what people get, from the value without control characters. */
export function formatted<T>(format: Format, value: T, text: (value: T) => string): string {
  if (format === 'json') return escaped(JSON.stringify(value, undefined, 2))
  if (format === 'yaml') return asYaml(value)
  return text(visible(value))
}

/** One document, of which a terminal obeys nothing. */
export function asYaml(value: unknown): string {
  const loose: unknown = JSON.parse(JSON.stringify(value), quoted)
  return escaped(stringify(loose, { aliasDuplicateObjects: false, lineWidth: 0 }).trimEnd())
}

/** From now on a reader that goes away (`| head`) ends the process without a word. */
export function quietOnBrokenPipe(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })
}

/** Resolves when all of it is with the reader: an exit does not wait for pipes. */
export function write(text: string): Promise<void> {
  return new Promise((resolve) => process.stdout.write(`${text}\n`, () => resolve()))
}

/** Resolves when all that was printed is with its readers, or they are gone. */
export async function allRead(): Promise<void> {
  await Promise.all([process.stdout, process.stderr].map((stream) => new Promise((resolve) => stream.write('', resolve))))
}
