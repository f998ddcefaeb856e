/** A control plane with NSO, Galactic and a node in this process, for what `nso explain` and `nso owners` say of them. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { nsoAccount, kinds as nsoKinds, nsoManifests } from '@nso/api'
import { createOperator, leaseName as nsoLease } from '@nso/operator'
import {
  createGalactic,
  galacticAccount,
  kinds as galacticKinds,
  leaseName as galacticLease,
  galacticManifests,
  localKinds,
} from 'galactic'
import { standInNodeAccount, standInNodeManifests, startStandInNode } from 'galactic/testing'
import {
  apiVersionOf,
  createAccessSource,
  createHttpTransport,
  createLogger,
  type Kind,
  type KubeObject,
  leaseKind,
  pathOf,
  systemClock,
  type Transport,
} from 'kube-control-loop'
import { type Plane, parseManifests, startPlane } from 'kube-localplane'
import { eventually } from 'kube-localplane/testing'
import { stringify } from 'yaml'

const root = path.resolve(import.meta.dirname, '..', '..')
export const location = 'here'
/** Short, so that the next one does not wait long for what an earlier one held. */
const lease = { termMs: 15_000, renewDeadlineMs: 10_000, retryMs: 200 }

export type World = {
  readonly plane: Plane
  startNso(): Promise<void>
  stopNso(): Promise<void>
  /** `wrap` puts a layer between it and the server. */
  startGalactic(wrap?: (transport: Transport) => Transport): Promise<void>
  stopGalactic(): Promise<void>
  /** NSO's side of the joint with Galactic, as it is shipped. */
  installDataPlane(): Promise<void>
  /** A namespace of this name with network `net`. */
  place(namespace: string, network?: Record<string, unknown>, before?: readonly KubeObject[]): Promise<void>
  create(object: KubeObject): Promise<void>
  /** By somebody with all permissions. */
  patch(kind: Kind, at: { namespace?: string; name: string }, patch: unknown): Promise<void>
  remove(kind: Kind, at: { namespace?: string; name: string }): Promise<void>
  /** By somebody with all permissions, under this field manager and with force. */
  applyStatus(kind: Kind, at: { namespace?: string; name: string }, status: unknown, fieldManager: string): Promise<void>
  find(kind: Kind, at: { namespace?: string; name: string }): Promise<KubeObject | undefined>
  /** Resolves when the object is as wanted. */
  until(
    what: string,
    kind: Kind,
    at: { namespace?: string; name: string },
    wanted: (object: KubeObject) => boolean,
  ): Promise<KubeObject>
  /** Claim and interface say so of the condition Prepared (and of Programmed, what it begins with): nothing is under way any more. */
  settled(namespace: string, name: string, prepared: string, programmed?: string): Promise<void>
  /** A claim of this name that is Ready. */
  ready(namespace: string, name: string): Promise<void>
  /** Takes the definition away and waits until the kind is not served. */
  withoutKind(crd: string): Promise<void>
  /** All objects of all kinds, as lists of the API server in one YAML stream. */
  dump(): Promise<string>
  [Symbol.asyncDispose](): Promise<void>
}

type Stop = () => Promise<void>
const silent = (name: string) => createLogger({ name, level: 'silent' })

const allKinds: Kind[] = [...nsoKinds, ...galacticKinds, ...localKinds, leaseKind]

/** Kinds of data planes of a test's own. */
export function know(...kinds: readonly Kind[]): void {
  allKinds.push(...kinds)
}

export const kindOf = (name: string): Kind => {
  const found = allKinds.find(({ kind }) => kind === name)
  if (!found) throw new Error(`unknown kind ${name}`)
  return found
}

/** With one ServingLocation; nothing runs yet but the node. */
export async function startWorld(): Promise<World> {
  const plane = await startPlane({ name: 'explained' })
  const [nso, galactic] = [nsoManifests(), galacticManifests()]
  await plane.apply([
    ...nso.crds,
    ...galactic.crds,
    ...galactic.local,
    ...nso.rbac,
    ...galactic.rbac,
    ...standInNodeManifests(),
  ] as never)
  const transportFor = async (account: { namespace: string; name: string }) => {
    const kubeconfig = await plane.kubeconfigFor({ serviceAccount: account })
    return createHttpTransport({
      access: createAccessSource({ clock: systemClock, kubeconfig }),
      clock: systemClock,
      userAgent: 'explained',
    })
  }
  const { connection } = plane
  const running: Record<'nso' | 'galactic', Stop> = { nso: async () => {}, galactic: async () => {} }
  const begin = (run: (signal: AbortSignal) => Promise<unknown>): Stop => {
    const ending = new AbortController()
    const ended = run(ending.signal)
    return async () => {
      ending.abort(new Error('the test stops it'))
      await ended
    }
  }
  const leads = (name: string, namespace: string) =>
    eventually(`${name} is held`, async () => {
      const found = await world.find(leaseKind, { namespace, name })
      return Boolean((found?.spec as { holderIdentity?: string } | undefined)?.holderIdentity)
    })
  // A Lease is given up at the end, or not, where the end was sudden: here there is none afterwards.
  const stop = async (name: 'nso' | 'galactic', namespace: string, leaseName: string) => {
    await running[name]()
    await connection.request({ method: 'DELETE', path: pathOf(leaseKind, { namespace, name: leaseName }) })
  }
  const node = startStandInNode({ transport: await transportFor(standInNodeAccount), log: silent('node') })

  const world: World = {
    plane,
    async startNso() {
      const operator = createOperator({
        transport: await transportFor(nsoAccount),
        identity: 'nso-1',
        settings: { location },
        drainMs: 50,
        log: silent('nso'),
        lease: { namespace: nsoAccount.namespace, name: nsoLease, ...lease },
      })
      running.nso = begin((signal) => operator.run(signal))
      await leads(nsoLease, nsoAccount.namespace)
    },
    stopNso: () => stop('nso', nsoAccount.namespace, nsoLease),
    async startGalactic(wrap = (transport) => transport) {
      const galacticApp = createGalactic({
        transport: wrap(await transportFor(galacticAccount)),
        log: silent('galactic'),
        lease: { namespace: galacticAccount.namespace, name: galacticLease, ...lease },
      })
      running.galactic = begin((signal) => galacticApp.run(signal))
      await leads(galacticLease, galacticAccount.namespace)
    },
    stopGalactic: () => stop('galactic', galacticAccount.namespace, galacticLease),
    async installDataPlane() {
      await plane.apply(parseManifests(await readFile(path.join(root, 'deploy', 'data-planes', 'galactic.yaml'), 'utf8')))
    },
    async place(namespace, network = {}, before = []) {
      await world.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace }, spec: {} })
      for (const object of before) await world.create(object)
      const spec = { ipam: { mode: 'Auto' }, ipFamilies: ['IPv6'], mtu: 1460, ...network }
      await world.create({
        apiVersion: apiVersionOf(kindOf('Network')),
        kind: 'Network',
        metadata: { namespace, name: 'net' },
        spec,
      })
    },
    async create(object) {
      const { namespace } = object.metadata
      const collection = object.kind === 'Namespace' ? '/api/v1/namespaces' : pathOf(kindOf(object.kind), { namespace })
      await connection.must({ method: 'POST', path: `${collection}?fieldManager=user`, body: object })
    },
    async patch(kind, at, patch) {
      const contentType = 'application/merge-patch+json'
      await connection.must({ method: 'PATCH', path: `${pathOf(kind, at)}?fieldManager=user`, contentType, body: patch })
    },
    async remove(kind, at) {
      await connection.must({ method: 'DELETE', path: pathOf(kind, at) })
    },
    async applyStatus(kind, at, status, fieldManager) {
      await connection.must({
        ...{ method: 'PATCH', path: `${pathOf(kind, { ...at, subresource: 'status' })}?fieldManager=${fieldManager}&force=true` },
        contentType: 'application/apply-patch+yaml',
        body: { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: at, status },
      })
    },
    async find(kind, at) {
      const { status, body } = await connection.request({ path: pathOf(kind, at) })
      return status === 200 ? (body as KubeObject) : undefined
    },
    until: (what, kind, at, wanted) =>
      eventually(what, async () => {
        const found = await world.find(kind, at)
        if (found && wanted(found)) return found
        throw new Error(`it is: ${JSON.stringify(found?.status)}`)
      }),
    async settled(namespace, name, prepared, programmed = '') {
      const says = (object: KubeObject) =>
        said(object, 'Prepared') === prepared && (said(object, 'Programmed') ?? '').startsWith(programmed)
      for (const kind of ['NetworkInterfaceClaim', 'NetworkInterface'])
        await world.until(`${kind} ${name} says Prepared ${prepared}`, kindOf(kind), { namespace, name }, says)
    },
    async ready(namespace, name) {
      await world.create(claimOf(namespace, name))
      await world.settled(namespace, name, 'True AttachmentReady', 'True')
      const claims = kindOf('NetworkInterfaceClaim')
      await world.until(`${name} is Ready`, claims, { namespace, name }, (claim) => said(claim, 'Ready') === 'True Ready')
    },
    async withoutKind(crd) {
      await connection.must({ method: 'DELETE', path: `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${crd}` })
      const kind = allKinds.find(({ plural, group }) => `${plural}.${group}` === crd)
      assert.ok(kind)
      await eventually(`${crd} is not served`, async () => (await connection.request({ path: pathOf(kind, {}) })).status === 404)
    },
    async dump() {
      const lists = await Promise.all(allKinds.map((kind) => connection.must({ path: pathOf(kind, {}) })))
      return lists.map((list) => stringify(list, { aliasDuplicateObjects: false, lineWidth: 0 })).join('---\n')
    },
    async [Symbol.asyncDispose]() {
      await Promise.allSettled([running.nso(), running.galactic(), node.stop()])
      await plane.stop()
    },
  }
  await world.create({
    ...{ apiVersion: apiVersionOf(kindOf('ServingLocation')), kind: 'ServingLocation', metadata: { name: location } },
    spec: { topology: { 'topology.datum.net/city-code': 'DLS' } },
  })
  return world
}

export const claimOf = (namespace: string, name: string, spec: Record<string, unknown> = {}): KubeObject => ({
  apiVersion: apiVersionOf(kindOf('NetworkInterfaceClaim')),
  kind: 'NetworkInterfaceClaim',
  metadata: { namespace, name },
  spec: { network: { name: 'net' }, ...spec },
})

type Conditioned = { conditions?: { type: string; status: string; reason: string }[] }

/** `True Ready`; undefined where there is no such condition. */
export function said({ status }: KubeObject, type: string): string | undefined {
  const found = (status as Conditioned | undefined)?.conditions?.find((each) => each.type === type)
  return found && `${found.status} ${found.reason}`
}
