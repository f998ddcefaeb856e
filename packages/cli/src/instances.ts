/**
 * Which systems of this user are running, as one small file each in the user's state folder. A file whose process has ended
 * (a crash, a power cut) is removed together with the folder it names, so stale state heals by itself.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'

export type Instance = {
  pid: number
  /** When the process started, in the kernel's clock ticks: tells a process from a later one of the same number. Absent where unknown. */
  startTicks?: string | undefined
  /** `start`: ends by itself or by Ctrl-C; `up`: for daily work, at most one. */
  mode: 'start' | 'up'
  /** Working folder: data, certificates, logs. Removed when the instance ends. */
  dir: string
  kubeconfigPath: string
  /** Set once everything is up. */
  ready: boolean
  startedAt: string
}

export type Instances = {
  /** Instances whose process runs, newest first. Heals what is stale. */
  live(): Instance[]
  write(instance: Instance): void
  remove(pid: number): void
  readonly folder: string
}

export function stateFolder(environment: NodeJS.ProcessEnv = process.env): string {
  return path.join(environment.XDG_STATE_HOME || path.join(os.homedir(), '.local', 'state'), 'nso')
}

export function createInstances(folder = path.join(stateFolder(), 'instances')): Instances {
  const fileOf = (pid: number) => path.join(folder, `${pid}.json`)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return {
    folder,
    live() {
      const found: Instance[] = []
      for (const name of readdirSync(folder).filter((file) => file.endsWith('.json'))) {
        const instance = read(path.join(folder, name))
        if (instance && isRunning(instance)) found.push(instance)
        else {
          if (instance) rmSync(instance.dir, { recursive: true, force: true })
          rmSync(path.join(folder, name), { force: true })
        }
      }
      return found.sort((a, b) => b.startedAt.localeCompare(a.startedAt))
    },
    write: (instance) => writeFileSync(fileOf(instance.pid), JSON.stringify(instance, undefined, 2), { mode: 0o600 }),
    remove: (pid) => rmSync(fileOf(pid), { force: true }),
  }
}

function read(file: string): Instance | undefined {
  try {
    const parsed: unknown = JSON.parse(readFileSync(file, 'utf8'))
    return isInstance(parsed) ? parsed : undefined
  } catch {
    // Half-written by a process that was killed: as good as none.
    return undefined
  }
}

function isInstance(value: unknown): value is Instance {
  if (typeof value !== 'object' || value === null) return false
  const { pid, dir, kubeconfigPath } = value as Record<string, unknown>
  return Number.isSafeInteger(pid) && typeof dir === 'string' && typeof kubeconfigPath === 'string'
}

export function isRunning({ pid, startTicks }: Pick<Instance, 'pid' | 'startTicks'>): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  const ticks = startTicksOf(pid)
  return startTicks === undefined || ticks === undefined || ticks === startTicks
}

/** Field 22 of /proc/PID/stat (proc(5)); undefined where there is none. */
export function startTicksOf(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The command name stands in parentheses and may hold spaces; 20 fields follow up to the start time.
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19]
  } catch {
    return undefined
  }
}
