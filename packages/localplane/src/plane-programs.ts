/** The processes of one plane, from their start until their end. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { connectTo } from './api-connection.ts'
import type { ControlPlane } from './control-plane.ts'
import { LocalplaneError } from './errors.ts'
import { writeKubeconfig } from './kubeconfig.ts'
import type { PlaneFiles } from './plane-files.ts'
import { freePorts, isFree } from './ports.ts'
import { type Child, type Program, startProgram } from './processes.ts'
import { waitUntilServing } from './readiness.ts'
import { apiServerProgram, controllerManagerProgram, etcdProgram, memoryEnvironment, planeFiles } from './server-flags.ts'

export type Role = 'etcd' | 'server' | 'controllers'

export type StartRequest = {
  programs: ControlPlane
  dir: string
  name: string
  audit: boolean
  controllers: boolean
  apiServerFlags: readonly string[]
  files: PlaneFiles
  /** Called whenever other processes have taken the place of those before. */
  onChange: (children: Partial<Record<Role, Child>>) => void
}

const outputs: Record<Role, string> = {
  etcd: planeFiles.etcdOutput,
  server: planeFiles.serverOutput,
  controllers: planeFiles.controllersOutput,
}

const graceMs = 5000
const portAttempts = 5
const toleratedCrashes = 5

/**
 * The programs of one plane. A controller manager that ends is started again, as a cluster would; that is also how another
 * process has it restarted. Any other end that nobody asked for settles `failed`.
 */
export class PlanePrograms {
  readonly failed: Promise<string>
  readonly #request: StartRequest
  readonly #fail: (text: string) => void
  #children: Partial<Record<Role, Child>> = {}
  #port = 0
  #crashesLeft = toleratedCrashes
  #restarting: Promise<void> = Promise.resolve()

  constructor(request: StartRequest) {
    this.#request = request
    const failure = Promise.withResolvers<string>()
    this.failed = failure.promise
    this.#fail = failure.resolve
  }

  get url(): string {
    return `https://127.0.0.1:${this.#port}`
  }

  get port(): number {
    return this.#port
  }

  get children(): Readonly<Partial<Record<Role, Child>>> {
    return this.#children
  }

  /**
   * Starts them all and resolves when the server serves. A free port can be lost to another process before the server has
   * it; then another is tried, unless one was asked for.
   */
  async start(port?: number, signal?: AbortSignal): Promise<void> {
    if (port !== undefined && !(await isFree(port))) throw portTaken(port)
    for (let attempt = 1; ; attempt++) {
      this.#port = port ?? (await freePorts(1))[0] ?? 0
      try {
        return await this.#startOnPort(signal)
      } catch (error) {
        await this.end(0)
        const lost = error instanceof LocalplaneError && error.code === 'PORT_TAKEN'
        if (!lost || port !== undefined || attempt === portAttempts) throw error
      }
    }
  }

  async #startOnPort(signal?: AbortSignal): Promise<void> {
    const { dir, programs, audit, apiServerFlags: extraFlags, files } = this.#request
    await this.#writeKubeconfigs()
    const [client = 0, peer = 0] = programs.etcd ? await freePorts(2) : []
    if (programs.etcd) await this.#run('etcd', etcdProgram(programs.etcd, { client, peer }))
    const etcdPorts = programs.etcd ? { etcdPorts: { client, peer } } : {}
    const server = await this.#run('server', apiServerProgram(programs, { port: this.#port, audit, extraFlags, ...etcdPorts }))
    const connection = connectTo({ url: this.url, ca: files.ca, credential: { token: files.adminToken } })
    try {
      const outcome = await waitUntilServing(server, connection, signal)
      if ('ended' in outcome) {
        const output = await lastWords(join(dir, outputs.server))
        if (output.includes('address already in use')) throw portTaken(this.#port)
        throw new LocalplaneError('START_FAILED', `kube-apiserver ${outcome.ended}:\n${output}`)
      }
    } finally {
      connection.close()
    }
    await this.#runControllers()
    this.#request.onChange(this.#children)
  }

  async #writeKubeconfigs(): Promise<void> {
    const { dir, name, files } = this.#request
    const access = { url: this.url, ca: files.ca, cluster: name }
    const admin = { ...access, user: 'admin', credential: { token: files.adminToken } }
    const controllers = { ...access, user: 'system:kube-controller-manager', credential: { token: files.controllersToken } }
    await writeKubeconfig(join(dir, planeFiles.adminKubeconfig), admin)
    await writeKubeconfig(join(dir, planeFiles.controllersKubeconfig), controllers)
  }

  async #runControllers(): Promise<void> {
    const { programs, controllers } = this.#request
    if (programs.controllerManager && controllers)
      await this.#run('controllers', controllerManagerProgram(programs.controllerManager))
  }

  async #run(role: Role, program: Program): Promise<Child> {
    const { dir } = this.#request
    const env = memoryEnvironment(role === 'controllers' ? '512MiB' : '2GiB')
    const child = await startProgram({ program, cwd: dir, env, outputPath: join(dir, outputs[role]) })
    this.#children[role] = child
    void child.exited.then(({ code, signal }) => this.#ended(role, child, { code, signal }))
    return child
  }

  async #ended(
    role: Role,
    child: Child,
    { code, signal }: { code: number | null; signal: NodeJS.Signals | null },
  ): Promise<void> {
    if (this.#children[role] !== child) return
    if (role === 'controllers') {
      const wasAsked = code === 0 || signal === 'SIGTERM'
      if (wasAsked || this.#crashesLeft-- > 0) return await this.restartControllers().catch((error) => this.#fail(String(error)))
    }
    const how = signal ?? `status ${code}`
    this.#fail(`the ${role} process ended (${how}):\n${await lastWords(join(this.#request.dir, outputs[role]))}`)
  }

  /** One after the other when called several times at once. Without a controller manager it does nothing. */
  restartControllers(): Promise<void> {
    const earlier = this.#restarting.catch(() => {})
    this.#restarting = earlier.then(async () => {
      const before = this.#children.controllers
      if (!before) return
      delete this.#children.controllers
      await before.stop(graceMs)
      if (!this.#children.server) return
      await this.#runControllers()
      this.#request.onChange(this.#children)
    })
    return this.#restarting
  }

  /** Ends them in order: the controllers first, since they would only complain about a server that goes. */
  async end(withinMs = graceMs): Promise<void> {
    const { controllers, server, etcd } = this.#children
    this.#children = {}
    for (const child of [controllers, server, etcd]) await child?.stop(withinMs)
    await this.#restarting.catch(() => {})
  }

  /** By force, without waiting. */
  kill(): void {
    const children = Object.values(this.#children)
    this.#children = {}
    for (const child of children) child.kill()
  }
}

function portTaken(port: number): LocalplaneError {
  return new LocalplaneError(
    'PORT_TAKEN',
    `port ${port} of 127.0.0.1 is in use by another process; choose another, or none to get a free one`,
  )
}

/** The line in which a program says why it ends, else its last ones. */
async function lastWords(path: string, count = 12): Promise<string> {
  const lines = (await readFile(path, 'utf8').catch(() => '')).trimEnd().split('\n').slice(-400)
  const reason = lines.findLast((line) => line.includes('"command failed"') || line.startsWith('localplane: '))
  return reason ?? lines.slice(-count).join('\n')
}
