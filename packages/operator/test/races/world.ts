// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the strings are templates of a DataPlane
/**
 * The world of the race tests: one real control plane, and for each test a namespace, a DataPlane and an NSO of its own that
 * sees nothing else, with its wire scripted, its log kept and its metrics its own.
 */
import {
  AddressLease,
  DataPlane,
  Network,
  NetworkContext,
  NetworkInterface,
  NetworkInterfaceClaim,
  nsoAccount,
  nsoManifests,
  ServingLocation,
  Subnet,
} from '@nso/api'
import {
  type Classify,
  type Client,
  crdOf,
  createAccessSource,
  createClient,
  createHttpTransport,
  defineKind,
  freeObject,
  type RegisteredWrite,
  systemClock,
} from 'kube-control-loop'
import { createRecordingLog, narrowTransport, type RaceBed, type Recorder, scriptTransport } from 'kube-control-loop/testing'
import { type Plane, startPlane } from 'kube-localplane'
import { eventually } from 'kube-localplane/testing'
import { createOperator } from '../../src/app.ts'
import { auditBodies, record } from '../support/record.ts'
import { startToyPlane, ToyAttachment, toyManifests, toyUser } from '../toy-plane.ts'
import { aClaim, aContext, aSubnet, create, know, location } from '../world.ts'

export const ToyNetwork = defineKind({
  group: 'toy.example.dev',
  version: 'v1',
  kind: 'ToyNetwork',
  plural: 'toynetworks',
  description: 'What the toy plane makes of a network in a location.',
  spec: freeObject(),
})

know(NetworkContext, Subnet, NetworkInterface, NetworkInterfaceClaim, AddressLease, ServingLocation, Network, DataPlane)
know(ToyAttachment, ToyNetwork)

/** What one test has. */
export type RaceWorld = {
  readonly bed: RaceBed
  readonly client: Client
  readonly namespace: string
  /** Name of the DataPlane that this NSO sees. */
  readonly planeName: string
  registered(): readonly RegisteredWrite[]
  /** What the process remembers of its own writes is void, as when it begins to lead. */
  newTerm(): void
  /** Tells the recorder that the administrator is about to write what belongs to someone else. */
  trespass(kind: string, name: string, path: string): void
  /** The network here, with one IPv6 subnet, as propagation or a user would bring it. */
  context(): Promise<unknown>
  claim(spec?: Parameters<typeof aClaim>[2]): Promise<unknown>
  /** The DataPlane; must be called for anything to be attached. */
  plane(): Promise<unknown>
  [Symbol.asyncDispose](): Promise<void>
}

export type RaceSite = {
  /** `classify`: what refused writes mean to this NSO. */
  open(options?: { networks?: boolean; classify?: Classify }): Promise<RaceWorld>
  [Symbol.asyncDispose](): Promise<void>
}

function transportOf(kubeconfig: string, userAgent: string) {
  return createHttpTransport({ access: createAccessSource({ clock: systemClock, kubeconfig }), clock: systemClock, userAgent })
}

export async function startSite({ policies = false } = {}): Promise<RaceSite> {
  const plane = await startPlane({ name: 'races', auditBodies })
  const nso = nsoManifests()
  const toy = toyManifests()
  const network = crdOf(ToyNetwork)
  const permission = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'nso-data-plane-toy-networks', labels: { 'networking.datumapis.com/aggregate-to-nso': 'true' } },
    rules: [{ apiGroups: ['toy.example.dev'], resources: ['toynetworks'], verbs: ['get', 'list', 'watch', 'create', 'delete'] }],
  }
  await plane.apply([...nso.crds, ...toy.crds, network, ...nso.rbac, ...toy.joint, permission] as never)
  if (policies) await plane.apply(nso.policies as never)
  await plane.restartControllers()
  const recorder = await record(plane)
  const kubeconfig = await plane.kubeconfigFor({ serviceAccount: nsoAccount })
  const client = createClient(transportOf(plane.kubeconfigPath, 'admin-test/1'), { clock: systemClock, jitter: Math.random })
  await create(client, {
    apiVersion: 'networking.datumapis.com/v1alpha',
    kind: 'ServingLocation',
    metadata: { name: location },
    spec: { topology: { 'topology.datum.net/city-code': 'XXX' } },
  } as never)
  if (policies) await untilEnforced(client)
  const toyPlane = startToyPlane(await plane.kubeconfigFor({ user: toyUser, groups: ['system:masters'] }))
  return {
    open: (options) => open({ plane, client, kubeconfig, recorder }, options),
    async [Symbol.asyncDispose]() {
      await toyPlane.stop()
      try {
        await recorder[Symbol.asyncDispose]()
      } finally {
        await plane[Symbol.asyncDispose]()
      }
    },
  }
}

async function untilEnforced(client: Client): Promise<void> {
  await eventually('the policy adds the finalizer', async () => {
    const dry = { fieldManager: 'test', dryRun: true }
    const answer = await client.create(NetworkInterfaceClaim, aClaim('default', 'probe'), dry, AbortSignal.timeout(5_000))
    return (answer.metadata.finalizers ?? []).length > 0
  })
}

type Ground = { plane: Plane; client: Client; kubeconfig: string; recorder: Recorder }

async function open(
  { plane, client, kubeconfig, recorder }: Ground,
  { networks = false, classify }: { networks?: boolean; classify?: Classify } = {},
): Promise<RaceWorld> {
  const namespace = `races-${crypto.randomUUID().slice(0, 8)}`
  const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }
  await plane.connection.must({ method: 'POST', path: '/api/v1/namespaces', body })
  const planeName = `plane-${namespace}`
  const own = transportOf(kubeconfig, 'nso-test/1')
  const wire = scriptTransport(narrowTransport(own, namespace, { servinglocations: 'all', dataplanes: { only: planeName } }))
  const { log, lines } = createRecordingLog()
  const operator = createOperator({
    transport: wire,
    identity: namespace,
    settings: { location, networkControllers: networks },
    log,
    ...(classify ? { classify } : {}),
  })
  const stop = new AbortController()
  const running = operator.run(stop.signal)
  await eventually('NSO has listed everything', () => Object.values(operator.caches).every(({ state }) => state === 'synced'))
  return {
    bed: { wire, lines, registry: operator.manager.metrics.registry },
    client,
    namespace,
    planeName,
    registered: () => operator.manager.registry.registeredWrites(),
    newTerm: () => operator.manager.registry.newTerm(),
    trespass(kind, name, path) {
      const why = 'the administrator brings a race about'
      const where = kind === DataPlane.kind ? {} : { namespace }
      recorder.expect({ kind, ...where, name, path, why, maybe: true })
    },
    async context() {
      await create(client, aContext(namespace))
      await create(client, {
        apiVersion: 'networking.datumapis.com/v1alpha',
        kind: 'Subnet',
        metadata: { name: 'net-here-0', namespace },
        spec: aSubnet('IPv6'),
      } as Subnet)
    },
    claim: (spec) => create(client, aClaim(namespace, 'web-0', spec)),
    plane: () => create(client, planeOf(planeName)),
    async [Symbol.asyncDispose]() {
      wire.reset()
      stop.abort(new Error('the test is over'))
      await running
    },
  }
}

/** The toy plane's, with an object for each network too. */
function planeOf(name: string): DataPlane {
  const plane = toyManifests().plane as unknown as DataPlane
  const network = { apiVersion: 'toy.example.dev/v1', kind: 'ToyNetwork', spec: { networks: '${subnets.map(s, s.cidr)}' } }
  return { ...plane, metadata: { name }, spec: { ...plane.spec, network } }
}
