/** A child logger that is made when its first line is written: most passes write none, and making one costs more than they do. */
import type { Logger } from './log.ts'

/** `bindings` are asked for once, at the first line that `parent` would write. */
export function lazyChild(parent: Logger, bindings: () => Record<string, unknown>): Logger {
  let made: Logger | undefined
  const child = () => {
    made ??= parent.child(bindings())
    return made
  }
  const at =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (...line: [object, string] | [string]) => {
      if (parent.isLevelEnabled?.(level) === false) return
      if (line.length === 1) child()[level](line[0])
      else child()[level](...line)
    }
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (more) => child().child(more),
  }
}
