/**
 * The running system on which points are tried: a real control plane with everything installed, ownership enforced, the data
 * plane and its node running; of the program under test one process at work and one standing by behind closed proxies.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { AddressLease, NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import { ipamFlags } from '@nso/cli/address-service'
import { type System, startSystem } from '@nso/cli/system'
import { VPCAttachment } from 'galactic/api'
import { type Client, createAccessSource, createClient, createHttpTransport, type Kind, systemClock } from 'kube-control-loop'
import { IPClaim } from 'kube-ipam'
import type { AddressMode } from '../scenarios/scenario.ts'
import { openStage, type Stage } from '../scenarios/world.ts'
import { type Followed, follow, type Seen } from './follow.ts'
import { type Incarnation, type Program, startIncarnation } from './incarnation.ts'

export const programs = ['nso', 'galactic'] as const
export type ProgramName = (typeof programs)[number]

export type RigOptions = {
  readonly mode: AddressMode
  readonly program: ProgramName
  /** How long a scenario waits for a state of the world. */
  readonly patienceMs: number
  readonly log: (line: string) => void
  readonly signal: AbortSignal
}

export type Rig = {
  readonly mode: AddressMode
  readonly stage: Stage
  readonly client: Client
  /** Of the address service, where there is one. */
  readonly service: Client | undefined
  readonly signal: AbortSignal
  /** The process at work. */
  readonly current: Incarnation
  /** Lets the one that stands by take the place of the one at work, which has ended or is ending. */
  succeed(): Incarnation
  /** Resolves when a process stands by. */
  standBy(): Promise<void>
  /** What was seen of interfaces, claims, allocations and attachments since the last call. */
  seen(): readonly Seen[]
  /** Rejects when something is broken that is not under test. */
  readonly broken: Promise<never>
  readonly dir: string
  stop(): Promise<void>
}

const watched: Readonly<Record<AddressMode, readonly Kind[]>> = {
  builtin: [NetworkInterface, NetworkInterfaceClaim, VPCAttachment, AddressLease],
  ipam: [NetworkInterface, NetworkInterfaceClaim, VPCAttachment, IPClaim],
}

/** Resolves when the first process of the program is at work. */
export async function startRig(options: RigOptions): Promise<Rig> {
  const { log, signal, mode } = options
  const dir = await mkdtemp(path.join(tmpdir(), 'nso-crashpoints-'))
  const ends: (() => Promise<unknown>)[] = [() => rm(dir, { recursive: true, force: true })]
  const stop = async () => {
    for (let end = ends.pop(); end; end = ends.pop()) await end().catch((error: unknown) => log(String(error)))
  }
  try {
    const system = await startSystem({ dir, addresses: mode, ownership: 'Deny', log: () => {}, signal })
    ends.push(() => system.stop())
    // The program under test runs by itself from here on.
    await (options.program === 'nso' ? system.nso : system.dataPlane).stop()
    const serviceKubeconfig = system.addressService?.kubeconfigPath
    const stage = await openStage({
      ...{ mode, kubeconfig: system.kubeconfigPath, serviceKubeconfig, patienceMs: options.patienceMs, calm: false, signal },
    })
    ends.push(() => stage.close())
    const line = await startLine(programOf(options.program, system), dir, { signal })
    ends.push(() => line.stop())
    const { client, close } = connect(system.kubeconfigPath)
    ends.push(close)
    const service = serviceKubeconfig === undefined ? undefined : connect(serviceKubeconfig)
    if (service) ends.push(service.close)
    const record = await startRecord(client, watched[mode])
    ends.push(record.stop)
    const broken = Promise.race([record.running, line.broken]) as Promise<never>
    broken.catch(() => {})
    return {
      ...{ mode, stage, client, service: service?.client, signal, dir, stop, seen: record.seen },
      broken,
      get current() {
        return line.current
      },
      succeed: line.succeed,
      standBy: line.standBy,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

function programOf(name: ProgramName, system: System): Program {
  const file = (of: string) => path.join(system.dir, `${of}.kubeconfig`)
  const level = ['--log-level', process.env.NSO_LOG_LEVEL ?? 'warn']
  if (name === 'galactic')
    return { name, main: system.use.main, kubeconfigs: { '--kubeconfig': file(system.use.name) }, flags: level }
  // The address service is a server of its own: there is a proxy before it too.
  const [flag = '', config = '', ...more] = system.addressService ? ipamFlags(file('nso-at-ipam')) : []
  const kubeconfigs = { '--kubeconfig': file('nso'), ...(system.addressService ? { [flag]: config } : {}) }
  return { name, main: '@nso/operator/main', kubeconfigs, flags: [...level, ...more] }
}

type Line = Pick<Rig, 'current' | 'succeed' | 'standBy'> & { readonly broken: Promise<never>; stop(): Promise<void> }

/** The processes of a program, one after the other. */
async function startLine(program: Program, dir: string, { signal }: { signal: AbortSignal }): Promise<Line> {
  const broken = Promise.withResolvers<never>()
  broken.promise.catch(() => {})
  const all = new Set<Incarnation>()
  let id = 0
  const begin = async () => {
    id += 1
    const incarnation = await startIncarnation(program, dir, id)
    all.add(incarnation)
    incarnation.ended.then((how) => broken.reject(new Error(how)), broken.reject)
    return incarnation
  }
  let current = await begin()
  current.open()
  await current.ready(signal)
  let next: Promise<Incarnation> | undefined
  let waiting: Incarnation | undefined
  return {
    get current() {
      return current
    },
    broken: broken.promise,
    async standBy() {
      next ??= begin()
      waiting = await next
    },
    succeed() {
      if (!waiting) throw new Error('nobody stands by')
      const before = current
      // Its log is read before; its proxies go when it is gone.
      void before.gone().then(() => {
        all.delete(before)
        return before.stop()
      }, broken.reject)
      current = waiting
      next = undefined
      waiting = undefined
      return current
    },
    async stop() {
      await next?.catch(() => {})
      await Promise.all([...all].map((one) => one.stop()))
    },
  }
}

function connect(kubeconfig: string): { client: Client; close(): Promise<void> } {
  const access = createAccessSource({ clock: systemClock, kubeconfig })
  const transport = createHttpTransport({ access, clock: systemClock, userAgent: 'nso-crashpoints/0.1.0', callMs: 30_000 })
  return { client: createClient(transport, { clock: systemClock, jitter: Math.random }), close: () => transport.close() }
}

async function startRecord(client: Client, kinds: readonly Kind[]) {
  const ending = new AbortController()
  let seen: Seen[] = []
  const all: Followed[] = kinds.map((kind) => follow({ client, kind, see: (one) => void seen.push(one), signal: ending.signal }))
  await Promise.all(all.map(({ listed }) => listed))
  return {
    seen() {
      const now = seen
      seen = []
      return now
    },
    running: Promise.all(all.map(({ running }) => running)),
    stop: async () => {
      ending.abort(new Error('the rig stops'))
      await Promise.allSettled(all.map(({ running }) => running))
    },
  }
}
