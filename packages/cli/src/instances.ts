/**
 * Which systems of this user are running, as one small file each in the user's state folder. What a run leaves that ended
 * without cleaning up (a crash, a power cut) is removed by the next one, so stale state heals by itself.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { findProcess, isAlive, type ProcessIdentity } from 'kube-localplane'

export type Instance = ProcessIdentity & {
  /** `start`: ends by itself or by Ctrl-C; `up`: for daily work, at most one. */
  mode: 'start' | 'up'
  kubeconfigPath: string
  /** Of those that this command can run. Absent: recorded by a version that could run one only. */
  dataPlane?: string
  /** Where addresses come from. Absent: recorded by a version that built them in. */
  addresses?: string
  /** Whether `kubeconfigPath` is of a cluster that the instance did not start. */
  given: boolean
  /** Set once everything is up. */
  ready: boolean
  /** RFC 3339. */
  startedAt: string
}

export type Instances = {
  /** Instances whose process runs, newest first. Changes nothing. */
  live(): Instance[]
  /** Removes what runs that did not end in order have left behind; answers the numbers of their processes. */
  heal(): number[]
  /** Working folder of the instance with this process number: data, certificates, logs. Not to be made before `write`, else it is taken for a leftover. */
  dirOf(pid: number): string
  write(instance: Instance): void
  /** Removes the instance's folder, then its entry. */
  remove(pid: number): void
}

export function stateFolder(environment: NodeJS.ProcessEnv = process.env): string {
  return path.join(environment.XDG_STATE_HOME || path.join(os.homedir(), '.local', 'state'), 'nso')
}

export function createInstances(folder = stateFolder()): Instances {
  const entries = path.join(folder, 'instances')
  const runs = path.join(folder, 'runs')
  const fileOf = (pid: number) => path.join(entries, `${pid}.json`)
  const dirOf = (pid: number) => path.join(runs, String(pid))
  for (const each of [entries, runs]) mkdirSync(each, { recursive: true, mode: 0o700 })

  function live(): Instance[] {
    const known = readdirSync(entries).flatMap((name) => read(path.join(entries, name)) ?? [])
    return known.filter(isAlive).sort((a, b) => b.startedAt.localeCompare(a.startedAt))
  }

  function heal(): number[] {
    // Folders first: whoever made one has written its entry before, so the entry of a running process is seen below.
    const folders = readdirSync(runs)
    const files = readdirSync(entries)
    const used = new Set(live().map(({ pid }) => pid))
    for (const name of files) {
      const pid = Number.parseInt(name, 10)
      // A `.partial` file of a running process is between the two steps of `write`.
      const isUsed = used.has(pid) || (name.endsWith('.partial') && findProcess(pid) !== undefined)
      if (!isUsed) rmSync(path.join(entries, name), { force: true })
    }
    const left = folders.filter((name) => !used.has(Number(name)))
    for (const name of left) removeFolder(path.join(runs, name))
    return left.map(Number)
  }

  return {
    live,
    heal,
    dirOf,
    write(instance) {
      const partial = `${fileOf(instance.pid)}.partial`
      writeFileSync(partial, JSON.stringify(instance, undefined, 2), { mode: 0o600 })
      renameSync(partial, fileOf(instance.pid))
    },
    remove(pid) {
      removeFolder(dirOf(pid))
      rmSync(fileOf(pid), { force: true })
    },
  }
}

/** Programs of a run that was killed may still write into it for a moment; what cannot be removed now goes at the next start. */
function removeFolder(dir: string): void {
  try {
    rmSync(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  } catch {
    // Without a running process it is found again by the next `heal`.
  }
}

function read(file: string): Instance | undefined {
  if (!file.endsWith('.json')) return undefined
  try {
    const parsed: unknown = JSON.parse(readFileSync(file, 'utf8'))
    return isInstance(parsed) ? parsed : undefined
  } catch {
    // Not ours, or removed since it was listed.
    return undefined
  }
}

function isInstance(value: unknown): value is Instance {
  if (typeof value !== 'object' || value === null) return false
  const { pid, started, kubeconfigPath, startedAt } = value as Record<string, unknown>
  return Number.isSafeInteger(pid) && [started, kubeconfigPath, startedAt].every((text) => typeof text === 'string')
}
