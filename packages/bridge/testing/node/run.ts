/** Runs a program and takes what it says. */
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'

export type Ran = { code: number | null; stdout: string; stderr: string }

export type RunOptions = { env?: NodeJS.ProcessEnv; input?: string; signal?: AbortSignal }

/** Resolves whatever its exit status; rejects when it could not be started or the signal is aborted. */
export async function run(command: string, args: readonly string[], { env, input, signal }: RunOptions = {}): Promise<Ran> {
  signal?.throwIfAborted()
  const child = spawn(command, args, { env: { ...process.env, ...env }, ...(signal ? { signal } : {}) })
  const code = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  // It may end without having read everything.
  child.stdin.on('error', () => {})
  child.stdin.end(input ?? '')
  const [status, stdout, stderr] = await Promise.all([code, text(child.stdout), text(child.stderr)])
  return { code: status, stdout, stderr }
}

/** Resolves with its standard output; rejects with what it complained of when it ends with another status than 0. */
export async function mustRun(command: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const { code, stdout, stderr } = await run(command, args, options)
  if (code === 0) return stdout
  throw new Error(`${[command, ...args].join(' ')}: status ${code}: ${(stderr + stdout).trim()}`)
}
