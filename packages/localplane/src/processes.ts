/**
 * Child processes that cannot outlive this one, and telling a process from a later one with the same number.
 * A child is tied by its standard input: this process holds the other end, and the kernel closes it however this process ends.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { eventually } from './wait.ts'

/** `started` is the start time that the kernel gives ('' where it gives none): numbers are used again, pairs are not. */
export type ProcessIdentity = { pid: number; started: string }

/** Undefined when no such process runs; one that has ended but was not yet waited for does not run. */
export function findProcess(pid: number): ProcessIdentity | undefined {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return undefined
  }
  if (process.platform !== 'linux') return { pid, started: '' }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' ? undefined : { pid, started: fields[19] ?? '' }
  } catch {
    return undefined
  }
}

export function isAlive({ pid, started }: ProcessIdentity): boolean {
  return findProcess(pid)?.started === started
}

/** How a program learns that its starter has gone: by itself, from its standard input, or through a shell around it. */
export type Tether = 'stdin' | 'shell'

export type Program = { command: string; args: readonly string[]; tether: Tether }

export type Child = {
  identity: ProcessIdentity
  /** Settles once, with how it ended. Never rejects. */
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  /** Asks it to stop; after `graceMs` it is killed. Resolves when it has ended. */
  stop(graceMs: number): Promise<void>
  /** Ends it at once, without waiting. */
  kill(): void
}

/**
 * Runs "$@", and ends the whole process group when standard input ends. The reader ignores TERM so that it can follow with
 * KILL; it ends with the program because the shell then kills what is left of the group.
 */
const tetherScript = `exec 3<&0
trap 'asked=1; test -z "$child" || kill -TERM $child' TERM
"$@" </dev/null 3<&- & child=$!
test -z "$asked" || kill -TERM $child
( trap '' TERM; while read -r _; do :; done; kill -TERM 0; sleep 5; kill -KILL 0 ) <&3 3<&- >/dev/null 2>&1 & reader=$!
exec 3<&-
while :; do wait $child; code=$?; kill -0 $child 2>/dev/null || break; done
kill -KILL $reader 2>/dev/null
exit $code`

/** The command line of a program tied by its tether. */
export function commandLine({ command, args, tether }: Program): { command: string; args: string[] } {
  if (tether === 'stdin') return { command, args: [...args] }
  return { command: '/bin/sh', args: ['-c', tetherScript, 'tether', command, ...args] }
}

export type StartOptions = { program: Program; cwd: string; env: NodeJS.ProcessEnv; outputPath: string }

/**
 * Starts a program in its own process group (so a Ctrl-C in the terminal reaches only this process, which then stops things
 * in order), its output appended to a file. The child does not keep this process's event loop alive.
 */
export async function startProgram({ program, cwd, env, outputPath }: StartOptions): Promise<Child> {
  const output = openSync(outputPath, 'a', 0o600)
  try {
    const { command, args } = commandLine(program)
    const child = spawn(command, args, { cwd, env, detached: true, stdio: ['pipe', output, output] })
    await once(child, 'spawn')
    return tie(child)
  } finally {
    closeSync(output)
  }
}

function tie(child: ChildProcess): Child {
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
  const pid = child.pid ?? 0
  child.stdin?.on('error', () => {})
  child.unref()
  if (child.stdin && 'unref' in child.stdin && typeof child.stdin.unref === 'function') child.stdin.unref()
  const running = () => child.exitCode === null && child.signalCode === null
  return {
    identity: findProcess(pid) ?? { pid, started: '' },
    exited,
    async stop(graceMs) {
      if (!running()) return
      child.ref()
      child.kill('SIGTERM')
      const deadline = AbortSignal.timeout(graceMs)
      deadline.addEventListener('abort', () => killGroup(pid, running), { once: true })
      await exited
      child.stdin?.destroy()
    },
    kill: () => killGroup(pid, running),
  }
}

function killGroup(pid: number, running: () => boolean): void {
  if (!running()) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It ended between the question and the answer.
  }
}

/** Ends a process that another, dead one of ours had started. Resolves when it is gone. */
export async function endLeftover(identity: ProcessIdentity): Promise<void> {
  for (const [signal, timeoutMs] of [
    ['SIGTERM', 3000],
    ['SIGKILL', 3000],
  ] as const) {
    if (!isAlive(identity)) return
    process.kill(identity.pid, signal)
    try {
      await eventually(`process ${identity.pid} ends`, () => !isAlive(identity), { timeoutMs })
    } catch (error) {
      if (signal === 'SIGKILL') throw error
    }
  }
}
