/** A running control plane: starting, restarting and ending it. */
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { AuditedKinds } from './audit.ts'
import { pkiFiles } from './certificates.ts'
import { type ControlPlane, ensureControlPlane } from './control-plane.ts'
import { LocalplaneError } from './errors.ts'
import type { Log } from './go-program.ts'
import { type Lock, tryLock } from './lock.ts'
import { openPlane, type PlaneAccess } from './plane-access.ts'
import { prepareFiles, removeAbandonedPlanes, temporaryPrefix } from './plane-files.ts'
import { PlanePrograms } from './plane-programs.ts'
import { type PlaneState, readState, writeState } from './plane-state.ts'
import { endLeftover, findProcess } from './processes.ts'
import { planeFiles } from './server-flags.ts'

export type PlaneOptions = {
  /** Holds everything of the plane. Absent: a temporary one, removed by `stop`. Data of an earlier run are kept. */
  dir?: string
  /** Throws away what an earlier run has left in `dir`. */
  fresh?: boolean
  /** Names the cluster in kubeconfigs. */
  name?: string
  /** Absent: any free one. */
  port?: number
  /** Writes an audit log; true unless said otherwise. */
  audit?: boolean
  /** Kinds whose writes the audit log has with what was answered, managedFields and all; none unless said otherwise. */
  auditBodies?: readonly AuditedKinds[]
  /** Further flags of kube-apiserver. */
  apiServerFlags?: readonly string[]
  /** False: only the API server, for what needs no garbage collection. */
  controllers?: boolean
  /** Absent: `ensureControlPlane`. */
  programs?: ControlPlane
  log?: Log
  /** Ends the start, not the plane that runs after it. */
  signal?: AbortSignal
}

export type Plane = PlaneAccess & {
  /** By role: `server`, `controllers` (and `etcd` when it is a program of its own). */
  pids(): Record<string, number>
  /** Settles when a program ends that nobody stopped, with its name and its last output. */
  readonly failed: Promise<string>
  /** The same data and port. Connections break, watches end. */
  restart(options?: { signal?: AbortSignal }): Promise<void>
  /** Ends all programs, by force after a grace period. Can be repeated. */
  stop(): Promise<void>
  /** Ends all programs by force and without waiting: for an exit handler. A temporary directory is left. */
  kill(): void
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Starts a control plane of its own and resolves when it serves: a namespace is there and RBAC allows what it should.
 * Its programs end with this process, also when that is killed. Several run side by side, each in its directory.
 * Rejects with `ALREADY_RUNNING` (another process runs one in `dir`), `PORT_TAKEN`, `START_FAILED`, or as `ensureControlPlane`.
 */
export async function startPlane(options: PlaneOptions = {}): Promise<Plane> {
  const { log = () => {}, signal } = options
  const programs = options.programs ?? (await ensureControlPlane({ log, ...(signal ? { signal } : {}) }))
  const dir = options.dir ? resolve(options.dir) : await temporaryDir()
  await mkdir(dir, { recursive: true })
  await chmod(dir, 0o700)
  const lock = await requireLock(dir)
  try {
    await endLeftovers(dir, log)
    return await run({ options, programs, dir, lock })
  } catch (error) {
    await lock.release()
    if (!options.dir) await rm(dir, { recursive: true, force: true })
    throw error
  }
}

async function temporaryDir(): Promise<string> {
  await removeAbandonedPlanes(tmpdir())
  return await mkdtemp(join(tmpdir(), temporaryPrefix))
}

async function requireLock(dir: string): Promise<Lock> {
  const lock = await tryLock(join(dir, planeFiles.lock))
  if ('release' in lock) return lock
  const state = await readState(dir)
  const where = state ? `; it serves ${state.url}, kubeconfig ${state.kubeconfigPath}` : ''
  throw new LocalplaneError('ALREADY_RUNNING', `process ${lock.heldBy.pid} runs a control plane in ${dir}${where}`)
}

/** The programs of a killed run end by themselves within seconds; waiting for that would be slower than ending them. */
async function endLeftovers(dir: string, log: Log): Promise<void> {
  const state = await readState(dir)
  for (const [role, identity] of Object.entries(state?.processes ?? {})) {
    await endLeftover(identity)
    log(`${dir}: the ${role} of an earlier run that did not stop in order is gone`)
  }
  await rm(join(dir, planeFiles.state), { force: true })
}

/** A temporary plane has nothing to lose by an end without notice, and ends a second sooner. */
const graceMs = 5000

type Context = { options: PlaneOptions; programs: ControlPlane; dir: string; lock: Lock }

async function run({ options, programs, dir, lock }: Context): Promise<Plane> {
  const { log = () => {}, name = 'localplane', audit = true, controllers = true, apiServerFlags = [], fresh = false } = options
  const started = performance.now()
  const files = await prepareFiles({ dir, name, fresh, auditBodies: options.auditBodies ?? [] })
  let written = Promise.resolve()
  const processes = new PlanePrograms({
    ...{ programs, dir, name, audit, controllers, apiServerFlags, files },
    onChange: () => {
      written = written.then(() => writeState(stateOf(processes, { programs, dir, name, audit })))
    },
  })
  await processes.start(options.port, options.signal)
  await written
  const access = await openPlane(stateOf(processes, { programs, dir, name, audit }))
  log(`control plane ready in ${((performance.now() - started) / 1000).toFixed(1)} s: ${access.url}`)
  const end = async () => {
    access.connection.close()
    await processes.end(options.dir ? graceMs : 0)
    await written
    await rm(join(dir, planeFiles.state), { force: true })
    await lock.release()
    if (!options.dir) await rm(dir, { recursive: true, force: true })
  }
  let ending: Promise<void> | undefined
  const stop = () => {
    ending ??= end()
    return ending
  }
  return {
    ...access,
    pids: () => Object.fromEntries(Object.entries(processes.children).map(([role, child]) => [role, child.identity.pid])),
    failed: processes.failed,
    async restart({ signal } = {}) {
      const { port } = processes
      await processes.end()
      await processes.start(port, signal)
      await written
    },
    stop,
    kill: () => processes.kill(),
    [Symbol.asyncDispose]: stop,
  }
}

type Facts = { programs: ControlPlane; dir: string; name: string; audit: boolean }

function stateOf(processes: PlanePrograms, { programs, dir, name, audit }: Facts): PlaneState {
  return {
    name,
    dir,
    url: processes.url,
    port: processes.port,
    kubeconfigPath: join(dir, planeFiles.adminKubeconfig),
    caPath: join(dir, planeFiles.pki, pkiFiles.authority),
    ...(audit ? { auditLogPath: join(dir, planeFiles.auditLog) } : {}),
    starter: findProcess(process.pid) ?? { pid: process.pid, started: '' },
    processes: Object.fromEntries(Object.entries(processes.children).map(([role, child]) => [role, child.identity])),
    programs,
  }
}
