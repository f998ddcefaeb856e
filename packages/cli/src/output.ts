/** How commands that answer questions print: text for people, JSON or YAML for programs, and quietly into a closed pipe. */
import process from 'node:process'
import { styleText } from 'node:util'
import { stringify } from 'yaml'
import { type Paint, plain } from './tree.ts'

export const formats = ['text', 'json', 'yaml'] as const
export type Format = (typeof formats)[number]

const tones = { good: 'green', bad: 'red', dim: 'dim', strong: 'bold' } as const

/** Colours on a terminal only, and not where NO_COLOR is set (https://no-color.org). */
export function paintFor(stream: { isTTY?: boolean }, environment: NodeJS.ProcessEnv = process.env): Paint {
  const isPlain = stream.isTTY !== true || Boolean(environment.NO_COLOR) || environment.TERM === 'dumb'
  return isPlain ? plain : (text, tone) => styleText(tones[tone], text, { validateStream: false })
}

/** Each text in a value with its control characters made visible: messages are anybody's, and a terminal obeys some of them. */
export function visible<T>(value: T): T {
  const clean = (_: string, part: unknown) => (typeof part === 'string' ? part.replace(/\p{Cc}+/gu, '\uFFFD') : part)
  return JSON.parse(JSON.stringify(value, clean)) as T
}

/** A value in the format; `text` is what people get, from the value without control characters. */
export function formatted<T>(format: Format, value: T, text: (value: T) => string): string {
  if (format === 'json') return JSON.stringify(value, undefined, 2)
  if (format === 'yaml') return stringify(value, { aliasDuplicateObjects: false, lineWidth: 0 }).trimEnd()
  return text(visible(value))
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
