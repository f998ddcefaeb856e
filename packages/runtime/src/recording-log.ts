/** A log that keeps its lines, for tests that ask what was said and how loudly. */
import type { Logger } from './log.ts'

export type RecordedLine = {
  level: 'debug' | 'info' | 'warn' | 'error'
  fields: Readonly<Record<string, unknown>>
  message: string
}

/** `lines` grows as the log is written to. */
export function createRecordingLog(): { log: Logger; lines: readonly RecordedLine[] } {
  const lines: RecordedLine[] = []
  const make = (bindings: object): Logger => {
    const at =
      (level: RecordedLine['level']) =>
      (fields: object | string, message = '') => {
        const isPlain = typeof fields === 'string'
        lines.push({ level, fields: { ...bindings, ...(isPlain ? {} : fields) }, message: isPlain ? fields : message })
      }
    return {
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
      child: (more) => make({ ...bindings, ...more }),
    }
  }
  return { log: make({}), lines }
}
