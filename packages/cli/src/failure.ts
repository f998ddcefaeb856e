/** How a failure is shown, and what is kept of it. */
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { LocalplaneError } from 'kube-localplane'

/** A failure that its message explains in full: no stack is of use to its reader. */
export class Explained extends Error {
  override name = 'Explained'
}

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** What is expected to happen to users explains itself; anything else is a mistake of ours, whose place is worth showing. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const isExpected = error instanceof Explained || error instanceof LocalplaneError || 'syscall' in error
  return isExpected ? error.message : (error.stack ?? error.message)
}

/** Keeps the error and the logs of a run in `kept`, in place of those of the last failure. Answers what there is to tell, or nothing. */
export function keepLogs(error: unknown, dir: string, kept: string): string {
  try {
    rmSync(kept, { recursive: true, force: true })
    mkdirSync(kept, { recursive: true, mode: 0o700 })
    writeFileSync(path.join(kept, 'error.txt'), error instanceof Error ? (error.stack ?? error.message) : String(error))
    let count = 0
    for (const from of [dir, path.join(dir, 'control-plane')].filter((folder) => existsSync(folder))) {
      for (const name of readdirSync(from).filter((file) => file.endsWith('.log'))) {
        cpSync(path.join(from, name), path.join(kept, name))
        count++
      }
    }
    return count === 0 ? '' : `The logs of this run are kept in ${kept} until the next failure.`
  } catch (cause) {
    return `The logs of this run could not be kept in ${kept}: ${reasonOf(cause)}`
  }
}
