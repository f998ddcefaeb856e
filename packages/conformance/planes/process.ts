/** A data plane’s own process: started, killed without warning and started again, ended. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import process from 'node:process'

export type Command = {
  readonly program: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

export type PlaneProcess = {
  /** Resolves with how it ended, when nobody ended it. */
  readonly failed: Promise<string>
  /** Killed, and started again as soon as it has ended. */
  restart(): Promise<void>
  stop(): Promise<void>
}

const shownLines = 20

/** Everything it says goes to the log. It is killed when this process exits. */
export function startProcess({ program, args, env = {} }: Command, logPath: string): PlaneProcess {
  const failure = Promise.withResolvers<string>()
  const start = () => {
    const output = openSync(logPath, 'a', 0o600)
    // A group of its own: programs that it starts are killed with it.
    const child = spawn(program, args, { stdio: ['ignore', output, output], detached: true, env: { ...process.env, ...env } })
    closeSync(output)
    const ended = endOf(child)
    const isMeant = { end: false }
    void ended.then(async (how) => {
      if (!isMeant.end) failure.resolve(`${program} ${how}. The end of its log:\n${await tail(logPath)}`)
    })
    return { child, ended, isMeant }
  }
  let running = start()
  const kill = async () => {
    running.isMeant.end = true
    killGroup(running.child)
    await running.ended
  }
  const atExit = () => killGroup(running.child)
  process.once('exit', atExit)
  return {
    failed: failure.promise,
    async restart() {
      await kill()
      running = start()
    },
    async stop() {
      process.removeListener('exit', atExit)
      await kill()
    },
  }
}

function killGroup({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    // It has ended in this instant.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

async function endOf(child: ChildProcess): Promise<string> {
  try {
    const [code, signal] = await once(child, 'exit')
    return signal ? `was killed by ${String(signal)}` : `ended with status ${String(code)}`
  } catch (error) {
    return `could not be started: ${String(error)}`
  }
}

async function tail(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch(() => '')
  return text.trimEnd().split('\n').slice(-shownLines).join('\n')
}
