/**
 * The world of the API tests: a real control plane of its own, NSO under its own identity and permissions, the toy data plane
 * under another, and a client of an administrator who looks on.
 */
import { type NetworkContext, NetworkInterfaceClaim, nsoAccount, nsoManifests, type Subnet } from '@nso/api'
import {
  type Client,
  type Clock,
  createAccessSource,
  createClient,
  createHttpTransport,
  createLogger,
  type Kind,
  type KubeObject,
  type Logger,
  pathOf,
  systemClock,
  type Transport,
} from 'kube-control-loop'
import type { Recorder } from 'kube-control-loop/testing'
import { type AuditEntry, type Plane, readAudit, startPlane, tailAudit } from 'kube-localplane'
import { eventually, testNamespace } from 'kube-localplane/testing'
import { createOperator, type IpamOptions, type Operator } from '../src/app.ts'
import type { Settings } from '../src/settings.ts'
import { auditBodies, record } from './support/record.ts'
import { startToyPlane, type ToyPlane, toyManifests, toyUser } from './toy-plane.ts'

export const location = 'here'

export type Running = { operator: Operator; stop(): Promise<void> }

export type StartOptions = {
  settings?: Partial<Settings>
  wrap?: (transport: Transport) => Transport
  log?: Logger
  /** Absent: the system's. */
  clock?: Clock
  /** Absent: addresses come from Subnets. */
  ipam?: IpamOptions
}

export type World = {
  readonly plane: Plane
  /** Holds every version of every object against the tables, and fails the disposal where one is not as documented. */
  readonly recorder: Recorder
  /** Of the administrator. */
  readonly client: Client
  readonly toy: ToyPlane
  /** A namespace with network `net`, present here, with an IPv6 subnet. */
  place(options?: Place): Promise<string>
  /** Starts another NSO; `wrap` puts a layer between it and the server. */
  startNso(options?: StartOptions): Promise<Running>
  /** Writes made while `act` ran, and until the audit log had them all. */
  writesDuring(act: () => Promise<unknown>): Promise<AuditEntry[]>
  [Symbol.asyncDispose](): Promise<void>
}

type Place = { families?: ('IPv4' | 'IPv6')[]; subnets?: Subnet['spec'][]; context?: boolean; prefix?: string }

export async function startWorld(options: { policies?: boolean } = {}): Promise<World> {
  const plane = await startPlane({ name: 'operator-test', auditBodies })
  const nso = nsoManifests()
  const toy = toyManifests()
  await plane.apply([...nso.crds, ...toy.crds, ...nso.rbac, ...toy.joint] as never)
  if (options.policies) await plane.apply(nso.policies as never)
  await plane.apply([toy.plane] as never)
  await plane.restartControllers()
  const recorder = await record(plane)
  const client = createClient(transportFor(plane.kubeconfigPath, 'admin-test/1'), { clock: systemClock, jitter: Math.random })
  const toyPlane = startToyPlane(await plane.kubeconfigFor({ user: toyUser, groups: ['system:masters'] }))
  const running: Running[] = []
  return {
    plane,
    recorder,
    client,
    toy: toyPlane,
    place: (given) => place(plane, client, given),
    async startNso(given = {}) {
      const started = await startNso(plane, given)
      running.push(started)
      return started
    },
    async writesDuring(act) {
      const from = await tailAudit(plane)
      await act()
      const to = await tailAudit(plane)
      const entries = await readAudit(plane.auditLogPath ?? '', { from, to })
      return entries.filter(
        ({ stage, verb }) => stage === 'ResponseComplete' && ['create', 'update', 'patch', 'delete'].includes(verb),
      )
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(running.map((one) => one.stop()))
      await toyPlane.stop()
      try {
        await recorder[Symbol.asyncDispose]()
      } finally {
        await plane[Symbol.asyncDispose]()
      }
    },
  }
}

function transportFor(kubeconfig: string, userAgent: string): Transport {
  const access = createAccessSource({ clock: systemClock, kubeconfig })
  return createHttpTransport({ access, clock: systemClock, userAgent })
}

async function startNso(plane: Plane, given: StartOptions): Promise<Running> {
  const kubeconfig = await plane.kubeconfigFor({ serviceAccount: nsoAccount })
  const transport = transportFor(kubeconfig, 'nso-test/1')
  const operator = createOperator({
    transport: given.wrap ? given.wrap(transport) : transport,
    identity: crypto.randomUUID(),
    settings: { location, networkControllers: false, ...given.settings },
    drainMs: 50,
    ...(given.clock ? { clock: given.clock } : {}),
    ...(given.ipam ? { ipam: given.ipam } : {}),
    log: given.log ?? createLogger({ name: 'nso', level: process.env.TEST_LOG === 'debug' ? 'debug' : 'error' }),
  })
  const stop = new AbortController()
  const running = operator.run(stop.signal)
  await eventually('NSO has listed everything', () => operator.caches.dataPlanes.state === 'synced')
  return {
    operator,
    async stop() {
      stop.abort(new Error('the test is over'))
      await running
    },
  }
}

async function place(plane: Plane, client: Client, given: Place = {}): Promise<string> {
  const { name: namespace } = await testNamespace(plane, given.prefix ?? 'claims')
  const families = given.families ?? ['IPv6']
  if (given.context !== false) await create(client, aContext(namespace, families))
  const subnets = given.subnets ?? families.map(aSubnet)
  for (const [at, spec] of subnets.entries()) {
    await create(client, { ...body('Subnet', `net-${location}-${at}`, namespace), spec } as Subnet)
  }
  return namespace
}

const body = (kind: string, name: string, namespace: string) => ({
  apiVersion: 'networking.datumapis.com/v1alpha',
  kind,
  metadata: { name, namespace },
})

export function aContext(namespace: string, ipFamilies: ('IPv4' | 'IPv6')[] = ['IPv6']): NetworkContext {
  return {
    ...body('NetworkContext', `net-${location}`, namespace),
    spec: { network: { name: 'net' }, location: { name: location }, ...(ipFamilies.length > 0 ? { ipFamilies } : {}), mtu: 1460 },
  }
}

export function aSubnet(ipFamily: 'IPv4' | 'IPv6'): Subnet['spec'] {
  const range =
    ipFamily === 'IPv6' ? { startAddress: 'fd20:0:0:1::', prefixLength: 64 } : { startAddress: '10.128.0.0', prefixLength: 20 }
  return { subnetClass: 'private', networkContext: { name: `net-${location}` }, location: { name: location }, ipFamily, ...range }
}

/** A claim as a user writes it: what has a default is left out. */
export function aClaim(
  namespace: string,
  name: string,
  spec: Partial<NetworkInterfaceClaim['spec']> = {},
): NetworkInterfaceClaim {
  return {
    ...body('NetworkInterfaceClaim', name, namespace),
    spec: { network: { name: 'net' }, ...spec },
  } as NetworkInterfaceClaim
}

const kinds = new Map<string, Kind>()

/** The kinds that tests make. */
export function know(...all: Kind[]): void {
  for (const kind of all) kinds.set(kind.kind, kind)
}

const signal = () => AbortSignal.timeout(30_000)

export async function create<O extends KubeObject>(client: Client, object: O): Promise<O> {
  const kind = kinds.get(object.kind)
  if (!kind) throw new Error(`unknown kind ${object.kind}`)
  return (await client.create(kind, object, { fieldManager: 'test' }, signal())) as O
}

export async function find<S, T>(client: Client, kind: Kind<S, T>, namespace: string | undefined, name: string) {
  return client.find(kind, { name, namespace }, signal())
}

export async function remove<S, T>(client: Client, kind: Kind<S, T>, namespace: string | undefined, name: string) {
  await client.remove(kind, { name, namespace }, {}, signal())
}

export async function listed<S, T>(client: Client, kind: Kind<S, T>, namespace: string) {
  return (await client.list(kind, { namespace }, signal())).items
}

type Conditioned = { status?: { conditions?: readonly { type: string; status: string; reason: string }[] } }

/** `Ready True Ready`, or undefined where there is no such condition. */
export function said(object: Conditioned | undefined, type: string): string | undefined {
  const found = object?.status?.conditions?.find((one) => one.type === type)
  return found && `${found.status} ${found.reason}`
}

/** Waits until a claim says so, and resolves with it. */
export function claimSays(client: Client, namespace: string, name: string, type: string, what: string) {
  return eventually(`${name} says ${type} ${what}`, async () => {
    const claim = await find(client, NetworkInterfaceClaim, namespace, name)
    const says = said(claim, type)
    if (says !== what)
      throw new Error(
        `it says ${type} ${says}: ${JSON.stringify(claim?.status?.conditions?.map((one) => [one.type, one.status, one.reason, one.message]))}`,
      )
    return claim
  })
}

export function gone<S, T>(client: Client, kind: Kind<S, T>, namespace: string | undefined, name: string) {
  return eventually(`${kind.kind} ${name} is gone`, async () => {
    const stands = await find(client, kind, namespace, name)
    if (stands)
      throw new Error(`it stands: ${JSON.stringify({ ...stands, metadata: { ...stands.metadata, managedFields: undefined } })}`)
    return true
  })
}

/** Takes away all finalizers, whoever needs them still: an administrator who runs out of patience. */
export async function strip<S, T>(
  { client, recorder }: Pick<World, 'client' | 'recorder'>,
  kind: Kind<S, T>,
  namespace: string | undefined,
  name: string,
) {
  const where = namespace === undefined ? {} : { namespace }
  recorder.expect({ kind: kind.kind, ...where, name, path: 'metadata.finalizers', why: 'taken away by force', maybe: true })
  await merge(client, kind, namespace, name, { metadata: { finalizers: null } })
}

/** A change as a user makes it. */
export async function merge<S, T>(
  client: Client,
  kind: Kind<S, T>,
  namespace: string | undefined,
  name: string,
  patch: unknown,
): Promise<void> {
  await client.raw(
    {
      method: 'PATCH',
      path: pathOf(kind, { name, namespace }),
      query: { fieldManager: 'test' },
      contentType: 'application/merge-patch+json',
      body: patch,
    },
    signal(),
  )
}
