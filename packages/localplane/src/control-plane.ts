/**
 * The programs of a control plane: the user's own (KUBEBUILDER_ASSETS), or one that is built from the Go module proxy the
 * first time and kept in the user's cache.
 */
import { access, constants, mkdir, readdir, rename, rm, utimes } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { findAssets } from './assets.ts'
import { cacheKey, readSources, type Sources } from './build-inputs.ts'
import { requireDiskSpace } from './disk-space.ts'
import { LocalplaneError } from './errors.ts'
import { compile, findToolchain, type Toolchain } from './go-toolchain.ts'
import { waitForLock } from './lock.ts'
import type { Program } from './processes.ts'

/** `etcd` is absent when it is part of the API server's program. Without a controller manager nothing collects garbage. */
export type ControlPlane = { apiServer: Program; etcd?: Program; controllerManager?: Program; kubectl?: Program }

export type Log = (line: string) => void

export type EnsureOptions = { log?: Log; signal?: AbortSignal; env?: NodeJS.ProcessEnv; goPlaces?: string[] }

const binaryName = 'localplane'

/** The three roles of the built binary. */
export function linkedPrograms(binary: string): ControlPlane {
  const role = (...args: string[]): Program => ({ command: binary, args, tether: 'stdin' })
  return { apiServer: role('serve'), controllerManager: role('controller-manager'), kubectl: role('kubectl') }
}

/** `$XDG_CACHE_HOME/kube-localplane`, by default `~/.cache/kube-localplane`. */
export function cacheRoot(env: NodeJS.ProcessEnv = process.env): string {
  return join(env.XDG_CACHE_HOME || join(env.HOME || homedir(), '.cache'), 'kube-localplane')
}

/**
 * Finds the programs, or builds them with progress to `log` (minutes, once for each user and version).
 * Two processes at once: one builds, the other waits. A kill half-way leaves nothing that the next run would not remove.
 * Rejects with `NO_TOOLCHAIN`, `NO_DISK_SPACE`, `BUILD_FAILED` or `ASSETS_INCOMPLETE`.
 */
export async function ensureControlPlane(options: EnsureOptions = {}): Promise<ControlPlane> {
  const { log = () => {}, signal, env = process.env } = options
  const assets = env.KUBEBUILDER_ASSETS
  if (assets) return await findAssets(assets, log)
  const sources = await readSources()
  const toolchain = await findToolchain(env, sources.dir, options.goPlaces)
  const root = cacheRoot(env)
  if (!toolchain) return linkedPrograms((await findBuiltFrom(root, sources)) ?? noToolchain())
  const binary = join(root, cacheKey(sources, toolchain.version), binaryName)
  if (!(await isExecutable(binary))) await buildOnce({ binary, sources, toolchain, env, log, ...(signal ? { signal } : {}) })
  await touch(dirname(binary))
  return linkedPrograms(binary)
}

type BuildRequest = {
  binary: string
  sources: Sources
  toolchain: Toolchain
  env: NodeJS.ProcessEnv
  log: Log
  signal?: AbortSignal
}

async function buildOnce({ binary, sources, toolchain, env, log, signal }: BuildRequest): Promise<void> {
  const target = dirname(binary)
  const root = dirname(target)
  await mkdir(root, { recursive: true, mode: 0o700 })
  const announce = ({ pid }: { pid: number }) => log(`waiting for process ${pid}, which is building the control plane`)
  const lock = await waitForLock(`${target}.lock`, announce, signal)
  const partial = `${target}.building-${process.pid}`
  try {
    if (await isExecutable(binary)) return
    await removeAbandoned(target)
    await requireDiskSpace({ cache: root, goCache: toolchain.buildCache, modules: toolchain.moduleCache })
    log(`building the control plane (Kubernetes ${sources.kubernetesVersion}) with ${toolchain.version}: some minutes, once`)
    await mkdir(partial, { recursive: true })
    const started = performance.now()
    await compile({ toolchain, sources, output: join(partial, binaryName), env, log, ...(signal ? { signal } : {}) })
    await rm(target, { recursive: true, force: true })
    await rename(partial, target)
    log(`built the control plane in ${Math.round((performance.now() - started) / 1000)} s: ${binary}`)
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
async function findBuiltFrom(root: string, sources: Sources): Promise<string | undefined> {
  const names = await readdir(root).catch(() => [])
  for (const name of names.filter((entry) => entry.startsWith(`${sources.hash}-`))) {
    const binary = join(root, name, binaryName)
    if (await isExecutable(binary)) return binary
  }
  return undefined
}

function noToolchain(): never {
  throw new LocalplaneError(
    'NO_TOOLCHAIN',
    [
      'a local control plane needs one of these, and none was found:',
      '  - Go 1.24 or later on PATH (https://go.dev/dl): the control plane is then built once, in some minutes',
      '  - KUBEBUILDER_ASSETS: a directory with kube-apiserver and etcd (and kube-controller-manager, kubectl)',
      '  - a kubeconfig of a cluster that you have, instead of a local control plane (--kubeconfig FILE)',
    ].join('\n'),
  )
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
