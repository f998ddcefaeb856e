/** A program that is built from the Go module proxy the first time and kept in the user's cache. */
import { access, constants, mkdir, readdir, rename, rm, utimes } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { cacheKey, type GoSources } from './build-inputs.ts'
import { type BuildNeeds, requireDiskSpace } from './disk-space.ts'
import { compile, findToolchain, type Toolchain } from './go-toolchain.ts'
import { waitForLock } from './lock.ts'

export type Log = (line: string) => void

export type EnsureOptions = { log?: Log; signal?: AbortSignal; env?: NodeJS.ProcessEnv; goPlaces?: string[] }

export type GoProgram = {
  /** Name of the binary. */
  name: string
  /** Of what is inside, for people: `Kubernetes v1.36.3`. */
  version: string
  sources: GoSources
  needs: BuildNeeds
}

/** `$XDG_CACHE_HOME/kube-localplane`, by default `~/.cache/kube-localplane`. */
export function cacheRoot(env: NodeJS.ProcessEnv = process.env): string {
  return join(env.XDG_CACHE_HOME || join(env.HOME || homedir(), '.cache'), 'kube-localplane')
}

/**
 * Path of the binary: found, or built with progress to `log` (minutes, once for each user and version). Undefined when there
 * is neither a binary nor Go. Two processes at once: one builds, the other waits. A kill half-way leaves nothing that the
 * next run would not remove. Rejects with `NO_DISK_SPACE` or `BUILD_FAILED`.
 */
export async function ensureGoProgram(program: GoProgram, options: EnsureOptions = {}): Promise<string | undefined> {
  const { log = () => {}, signal, env = process.env } = options
  const { sources, name } = program
  const toolchain = await findToolchain(env, sources.dir, options.goPlaces)
  const root = cacheRoot(env)
  if (!toolchain) return findBuiltFrom(root, program)
  const binary = join(root, cacheKey(sources, toolchain.version), name)
  if (!(await isExecutable(binary))) await buildOnce({ binary, program, toolchain, env, log, ...(signal ? { signal } : {}) })
  await touch(dirname(binary))
  return binary
}

type BuildRequest = {
  binary: string
  program: GoProgram
  toolchain: Toolchain
  env: NodeJS.ProcessEnv
  log: Log
  signal?: AbortSignal
}

async function buildOnce({ binary, program, toolchain, env, log, signal }: BuildRequest): Promise<void> {
  const { name, version, sources, needs } = program
  const { what } = needs
  const target = dirname(binary)
  const root = dirname(target)
  await mkdir(root, { recursive: true, mode: 0o700 })
  const announce = ({ pid }: { pid: number }) => log(`waiting for process ${pid}, which is building ${what}`)
  const lock = await waitForLock(`${target}.lock`, announce, signal)
  const partial = `${target}.building-${process.pid}`
  try {
    if (await isExecutable(binary)) return
    await removeAbandoned(target)
    await requireDiskSpace({ cache: root, goCache: toolchain.buildCache, modules: toolchain.moduleCache }, needs)
    log(`building ${what} (${version}) with ${toolchain.version}: some minutes, once`)
    await mkdir(partial, { recursive: true })
    const started = performance.now()
    await compile({ toolchain, sources, output: join(partial, name), env, log, ...(signal ? { signal } : {}) })
    await rm(target, { recursive: true, force: true })
    await rename(partial, target)
    log(`built ${what} in ${Math.round((performance.now() - started) / 1000)} s: ${binary}`)
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
async function findBuiltFrom(root: string, { sources, name }: GoProgram): Promise<string | undefined> {
  const names = await readdir(root).catch(() => [])
  for (const entry of names.filter((each) => each.startsWith(`${sources.hash}-`))) {
    const binary = join(root, entry, name)
    if (await isExecutable(binary)) return binary
  }
  return undefined
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
