/** Runs the real `nso` command in a home of its own, and finds whatever it has left running. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { TestContext } from 'node:test'
import { eventually } from 'kube-localplane/testing'

const root = path.resolve(import.meta.dirname, '..', '..')
const script = path.join(root, 'packages', 'cli', 'src', 'main.ts')

export type Home = {
  readonly folder: string
  readonly env: NodeJS.ProcessEnv
  /** Processes that were started here and run: all of them, however far from their starter. */
  processes(): number[]
  /** Working folders of runs. */
  runs(): string[]
}

/** A state folder of its own; the control plane's program comes from the user's cache. What still runs at the end of the test is killed. */
export function makeHome(t: TestContext): Home {
  const folder = mkdtempSync(path.join(tmpdir(), 'nso-home-'))
  const mark = `NSO_TEST_HOME=${folder}`
  const home: Home = {
    folder,
    env: { ...process.env, NSO_TEST_HOME: folder, XDG_STATE_HOME: folder },
    processes: () => pidsWith(mark),
    runs: () => readdirSync(path.join(folder, 'nso', 'runs')),
  }
  t.after(() => {
    for (const pid of home.processes()) process.kill(pid, 'SIGKILL')
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  })
  return home
}

/** By the environment, which children inherit (proc(5)). */
function pidsWith(mark: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && read(`/proc/${name}/environ`).split('\0').includes(mark))
    .map(Number)
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

export type Run = {
  readonly child: ChildProcess
  /** Both streams together, and standard output alone. */
  output(): string
  stdout(): string
  /** Resolves with the exit status when it has ended and its output is complete. */
  readonly ended: Promise<number | null>
  /** Resolves with the match when the output has one; rejects when it ends before. */
  sees(pattern: RegExp, timeoutMs?: number): Promise<RegExpMatchArray>
}

/** `user`: numbers of the user and group it runs as; absent: of the test's. */
export function nso(home: Home, args: readonly string[], env: NodeJS.ProcessEnv = {}, user?: number): Run {
  const as = user === undefined ? {} : { uid: user, gid: user }
  const child = spawn(process.execPath, [script, ...args], { cwd: home.folder, env: { ...home.env, ...env }, ...as })
  let output = ''
  let stdout = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    output += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  let isOver = false
  const ended = once(child, 'close').then(([code]) => {
    isOver = true
    return code as number | null
  })
  return {
    child,
    output: () => output,
    stdout: () => stdout,
    ended,
    async sees(pattern, timeoutMs = 90_000) {
      const found = await eventually(
        `the output has ${pattern}`,
        () => output.match(pattern) ?? (isOver ? ('over' as const) : undefined),
        { timeoutMs },
      )
      if (found === 'over') throw new Error(`it ended without ${pattern}:\n${output}`)
      return found
    },
  }
}

/** Everything that was started in this home has ended within the time. */
export async function nothingRuns(home: Home, timeoutMs: number): Promise<void> {
  await eventually('nothing runs any more', () => home.processes().length === 0, { timeoutMs, everyMs: 100 })
}
