/** Programs that are built from the Go module proxy the first time and kept in the user's cache. */
import { access, constants, mkdir, readdir, rename, rm, utimes } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { cacheKey, type GoSources } from './build-inputs.ts'
import { type BuildNeeds, requireDiskSpace } from './disk-space.ts'
import { compile, findToolchain, type Toolchain } from './go-toolchain.ts'
import { waitForLock } from './lock.ts'

export type Log = (line: string) => void

export type EnsureOptions = { log?: Log; signal?: AbortSignal; env?: NodeJS.ProcessEnv; goPlaces?: string[] }

export type GoPrograms = {
  /** Names of the binaries; of several, in the order of the targets, each is the last part of its target. */
  names: readonly string[]
  /** Of what is inside, for people: `Kubernetes v1.36.3`. */
  version: string
  sources: GoSources
  needs: BuildNeeds
}

export type GoProgram = Omit<GoPrograms, 'names'> & { name: string }

/** `$XDG_CACHE_HOME/kube-localplane`, by default `~/.cache/kube-localplane`. */
export function cacheRoot(env: NodeJS.ProcessEnv = process.env): string {
  return join(env.XDG_CACHE_HOME || join(env.HOME || homedir(), '.cache'), 'kube-localplane')
}

/** As `ensureGoPrograms`, of one: resolves with the path of the binary. */
export async function ensureGoProgram({ name, ...program }: GoProgram, options: EnsureOptions = {}): Promise<string | undefined> {
  const folder = await ensureGoPrograms({ ...program, names: [name] }, options)
  return folder === undefined ? undefined : join(folder, name)
}

/**
 * Folder of the binaries: found, or built with progress to `log` (minutes, once for each user and version). Undefined when
 * there are neither binaries nor Go. Two processes at once: one builds, the other waits. A kill half-way leaves nothing that
 * the next run would not remove. Rejects with `NO_DISK_SPACE` or `BUILD_FAILED`.
 */
export async function ensureGoPrograms(program: GoPrograms, options: EnsureOptions = {}): Promise<string | undefined> {
  const { log = () => {}, signal, env = process.env } = options
  const { sources, names } = program
  const toolchain = await findToolchain(env, sources.dir, options.goPlaces)
  const root = cacheRoot(env)
  if (!toolchain) return findBuiltFrom(root, program)
  const target = join(root, cacheKey(sources, toolchain.version))
  if (!(await areExecutable(target, names)))
    await buildOnce({ target, program, toolchain, env, log, ...(signal ? { signal } : {}) })
  await touch(target)
  return target
}

type BuildRequest = {
  /** Folder that the binaries go to. */
  target: string
  program: GoPrograms
  toolchain: Toolchain
  env: NodeJS.ProcessEnv
  log: Log
  signal?: AbortSignal
}

async function buildOnce({ target, program, toolchain, env, log, signal }: BuildRequest): Promise<void> {
  const { names, version, sources, needs } = program
  const { what } = needs
  const [only, ...others] = names
  const single = others.length === 0 ? (only ?? '') : ''
  const root = dirname(target)
  await mkdir(root, { recursive: true, mode: 0o700 })
  const announce = ({ pid }: { pid: number }) => log(`waiting for process ${pid}, which is building ${what}`)
  const lock = await waitForLock(`${target}.lock`, announce, signal)
  const partial = `${target}.building-${process.pid}`
  try {
    if (await areExecutable(target, names)) return
    await removeAbandoned(target)
    await requireDiskSpace({ cache: root, goCache: toolchain.buildCache, modules: toolchain.moduleCache }, needs)
    log(`building ${what} (${version}) with ${toolchain.version}: some minutes, once`)
    await mkdir(partial, { recursive: true })
    const started = performance.now()
    await compile({ toolchain, sources, output: `${partial}/${single}`, env, log, ...(signal ? { signal } : {}) })
    await rm(target, { recursive: true, force: true })
    await rename(partial, target)
    log(`built ${what} in ${Math.round((performance.now() - started) / 1000)} s: ${join(target, single)}`)
  } finally {
    await rm(partial, { recursive: true, force: true })
    await lock.release()
  }
}

/** Only the holder of the lock calls this, so every `.building-` directory beside the target belongs to a dead build. */
async function removeAbandoned(target: string): Promise<void> {
  const root = dirname(target)
  for (const name of await readdir(root)) {
    const path = join(root, name)
    if (path.startsWith(`${target}.building-`)) await rm(path, { recursive: true, force: true })
  }
}

/** Without Go its version is unknown, and any binary built from the same sources will do. */
async function findBuiltFrom(root: string, { sources, names }: GoPrograms): Promise<string | undefined> {
  const entries = await readdir(root).catch(() => [])
  for (const entry of entries.filter((each) => each.startsWith(`${sources.hash}-`))) {
    const folder = join(root, entry)
    if (await areExecutable(folder, names)) return folder
  }
  return undefined
}

async function areExecutable(folder: string, names: readonly string[]): Promise<boolean> {
  const each = await Promise.all(names.map((name) => isExecutable(join(folder, name))))
  return each.every(Boolean)
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** So that one can see which of several versions is in use. */
async function touch(path: string): Promise<void> {
  const now = new Date()
  await utimes(path, now, now).catch(() => {})
}
