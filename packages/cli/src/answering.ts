/** Commands that only answer questions: what they throw becomes a sentence on standard error and exit status 1. */
import process from 'node:process'
import { Explained, messageOf } from './failure.ts'
import { quietOnBrokenPipe, visible } from './output.ts'

/** Wraps a command's action. A returned number is the exit status. */
export function answering<Args extends unknown[]>(
  action: (...args: Args) => Promise<number | undefined> | Promise<void>,
): (...args: Args) => Promise<void> {
  return async (...args) => {
    quietOnBrokenPipe()
    try {
      process.exitCode = (await action(...args)) ?? 0
    } catch (error) {
      console.error(`nso: ${error instanceof Explained ? visible(error.message) : messageOf(error)}`)
      process.exitCode = 1
    }
  }
}
