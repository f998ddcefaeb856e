/** Rows of the collected failures about release and termination: what a data plane still holds, and finalizers of others. */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import {
  AddressLease,
  DataPlane,
  Network,
  NetworkContext,
  NetworkInterface,
  NetworkInterfaceClaim,
  ServingLocation,
  Subnet,
} from '@nso/api'
import { type Kind, type KubeObject, pathOf, silentLogger, type Transport } from 'kube-control-loop'
import { scriptTransport, statusAnswer } from 'kube-control-loop/testing'
import { eventually } from 'kube-localplane/testing'
import { network } from './network-world.ts'
import { isAtRest, passesOf, total } from './support/at-rest.ts'
import { ToyAttachment, toyFinalizer, toyManifests } from './toy-plane.ts'
import {
  aClaim,
  aContext,
  claimSays,
  create,
  find,
  gone,
  know,
  listed,
  location,
  merge,
  type Running,
  remove,
  startWorld,
  strip,
  type World,
} from './world.ts'

know(Network, NetworkContext, Subnet, NetworkInterface, NetworkInterfaceClaim, AddressLease, DataPlane, ServingLocation)

let world: World
let running: Running | undefined
before(async () => {
  world = await startWorld()
})
after(() => world[Symbol.asyncDispose]())
afterEach(async () => {
  world.toy.behave({ prepares: true, programs: true, letsGo: true })
  await running?.stop()
  running = undefined
})

const ready = (namespace: string, name: string) => claimSays(world.client, namespace, name, 'Ready', 'True Ready')
const errors = () => (running ? total(running.operator, 'controller_runtime_reconcile_errors_total') : Number.NaN)

/** The address stands for as long as the attachment does. */
async function stillHeld(namespace: string, what: string): Promise<void> {
  const kinds = [NetworkInterfaceClaim, NetworkInterface, AddressLease] as Kind[]
  const counts = await Promise.all(kinds.map(async (kind) => (await listed(world.client, kind, namespace)).length))
  assert.deepEqual(counts, [1, 1, 1], `${what}: claim, interface and address stand`)
}

async function nothingLeft(namespace: string): Promise<void> {
  await gone(world.client, NetworkInterfaceClaim, namespace, 'web-0')
  for (const kind of [NetworkInterface, ToyAttachment, AddressLease] as Kind[]) {
    assert.deepEqual(await listed(world.client, kind, namespace), [], kind.kind)
  }
}

test('B38: an attachment that needs several looks to be gone keeps the address through each of them', async () => {
  const { client, recorder } = world
  running = await world.startNso()
  const namespace = await world.place()
  await create(client, aClaim(namespace, 'web-0'))
  await ready(namespace, 'web-0')
  const holds = ['one.example.dev/hold', 'two.example.dev/hold', 'three.example.dev/hold']
  const at = { kind: 'ToyAttachment', namespace, name: 'web-0' }
  recorder.expect({ ...at, path: 'metadata.finalizers', why: 'the test holds it too', maybe: true })
  await merge(client, ToyAttachment, namespace, 'web-0', { metadata: { finalizers: [toyFinalizer, ...holds] } })
  await remove(client, NetworkInterfaceClaim, namespace, 'web-0')
  await eventually('the toy plane has let go', async () => {
    const stands = await find(client, ToyAttachment, namespace, 'web-0')
    return stands?.metadata.deletionTimestamp !== undefined && !stands.metadata.finalizers?.includes(toyFinalizer)
  })
  for (const [at, hold] of holds.entries()) {
    await stillHeld(namespace, `before ${hold} goes`)
    const passes = await passesOf(running.operator, 'networkinterface')
    await merge(client, ToyAttachment, namespace, 'web-0', { metadata: { finalizers: holds.slice(at + 1) } })
    await eventually('NSO has looked', async () => (await passesOf(nsoRunning(), 'networkinterface')) > passes)
  }
  await nothingLeft(namespace)
  assert.equal(await errors(), 0)
})

function nsoRunning() {
  assert.ok(running)
  return running.operator
}

/** No event of the kind arrives from the first watch on, until released; answers of requests do. */
function deaf(inner: Transport, path: RegExp): { transport: Transport; release(): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  async function* held(lines: AsyncIterable<string>) {
    for await (const line of lines) {
      if (/"type":"(ADDED|MODIFIED|DELETED)"/.test(line)) await promise
      yield line
    }
  }
  return {
    transport: {
      send: (request, signal) => inner.send(request, signal),
      close: () => inner.close(),
      async stream(request, signal) {
        const { opened, lines } = await inner.stream(request, signal)
        return { opened, lines: path.test(request.path) ? held(lines) : lines }
      },
    },
    release: resolve,
  }
}

test('B38: an attachment that was just made, and that no cache has seen, is found by a live read before anything is given back', async () => {
  const { client, toy } = world
  let release = () => {}
  let script: ReturnType<typeof scriptTransport> | undefined
  const path = /\/toyattachments$/
  running = await world.startNso({
    log: silentLogger,
    wrap(transport) {
      const wire = deaf(transport, path)
      release = wire.release
      script = scriptTransport(wire.transport)
      return script
    },
  })
  assert.ok(script)
  toy.behave({ letsGo: false })
  const namespace = await world.place()
  // Made, and its answer is lost; whatever is asked again fails.
  script.on({ method: 'POST', path }, { times: 1000 }).answer(statusAnswer(500, 'InternalError', 'the test refuses it'))
  script.on({ method: 'POST', path }).dropAfter()
  await create(client, aClaim(namespace, 'web-0'))
  await eventually('the attachment stands', () => find(client, ToyAttachment, namespace, 'web-0'))
  assert.equal(running.operator.planes.choose(location)?.attachments?.get(`${namespace}/web-0`), undefined, 'NSO has not seen it')
  await remove(client, NetworkInterfaceClaim, namespace, 'web-0')
  await eventually('NSO has deleted it', async () => {
    const stands = await find(client, ToyAttachment, namespace, 'web-0')
    return stands?.metadata.deletionTimestamp !== undefined
  })
  await stillHeld(namespace, 'while the attachment goes')
  toy.behave({ letsGo: true })
  release()
  await nothingLeft(namespace)
})

test('B38: the kind goes under claims that are being deleted, and under claims that are deleted later', async () => {
  const { client, plane, toy } = world
  running = await world.startNso()
  const namespaces = [await world.place(), await world.place()] as const
  for (const namespace of namespaces) {
    await create(client, aClaim(namespace, 'web-0'))
    await ready(namespace, 'web-0')
  }
  toy.behave({ letsGo: false })
  await remove(client, NetworkInterfaceClaim, namespaces[0], 'web-0')
  await eventually('its attachment is being deleted', async () => {
    const stands = await find(client, ToyAttachment, namespaces[0], 'web-0')
    return stands?.metadata.deletionTimestamp !== undefined
  })
  for (const namespace of namespaces)
    world.recorder.expect({ kind: 'ToyAttachment', namespace, path: '*', why: 'deleted with its kind', maybe: true })
  const crd = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${ToyAttachment.plural}.${ToyAttachment.group}`
  await plane.connection.must({ method: 'DELETE', path: crd })
  await stillHeld(namespaces[0], 'while the kind goes')
  toy.behave({ letsGo: true })
  await nothingLeftButKind(namespaces[0])
  await remove(client, NetworkInterfaceClaim, namespaces[1], 'web-0')
  await nothingLeftButKind(namespaces[1])
  await eventually('the kind is gone', async () => (await plane.connection.request({ method: 'GET', path: crd })).status === 404)
  await plane.apply(toyManifests().crds as never)
})

async function nothingLeftButKind(namespace: string): Promise<void> {
  await gone(world.client, NetworkInterfaceClaim, namespace, 'web-0')
  for (const kind of [NetworkInterface, AddressLease] as Kind[]) assert.deepEqual(await listed(world.client, kind, namespace), [])
}

const foreign = 'example.dev/hold'

type Finalised = { kind: Kind; object(namespace: string): KubeObject; controllers: readonly string[] }

const own = (kind: string, name: string, namespace?: string) => ({
  ...{ apiVersion: 'networking.datumapis.com/v1alpha', kind },
  metadata: { name, ...(namespace ? { namespace } : {}) },
})

/** Every kind that NSO puts a finalizer on, and who looks at it. */
const finalised: readonly Finalised[] = [
  { kind: NetworkInterfaceClaim, object: (namespace) => aClaim(namespace, 'dying'), controllers: ['networkinterfaceclaim'] },
  {
    kind: NetworkInterface,
    object: (namespace) =>
      ({
        ...own('NetworkInterface', 'dying', namespace),
        spec: { network: { name: 'net' }, interfaceName: 'eth0', attachmentMode: 'Netns', reclaimPolicy: 'Delete' },
      }) as KubeObject,
    controllers: ['networkinterface'],
  },
  { kind: Network, object: (namespace) => network(namespace, 'dying'), controllers: ['network'] },
  {
    kind: NetworkContext,
    object: (namespace) => aContext(namespace),
    controllers: ['networkcontext', 'networkcontexthold'],
  },
  {
    kind: DataPlane,
    object: () => {
      const { plane } = toyManifests()
      return { ...plane, metadata: { name: 'dying' } } as unknown as KubeObject
    },
    controllers: ['dataplane'],
  },
]

for (const { kind, object, controllers } of finalised) {
  test(`B40: a ${kind.kind} that others hold and that is being deleted gets no finalizer of NSO, and no error comes of it`, async () => {
    const { client, recorder } = world
    const namespace = await world.place({ context: false })
    const body = object(namespace)
    const name = body.metadata.name
    const within = kind.scope === 'Namespaced' ? namespace : undefined
    recorder.expect({
      kind: kind.kind,
      namespace: within,
      name,
      path: '*',
      why: 'made, held and changed by the test',
      maybe: true,
    })
    await create(client, { ...body, metadata: { ...body.metadata, finalizers: [foreign] } })
    await remove(client, kind, within, name)
    running = await world.startNso({ settings: { networkControllers: true } })
    const nso = running
    const writes = await world.writesDuring(async () => {
      for (const nudge of ['1', '2']) {
        const before = await Promise.all(controllers.map((each) => passesOf(nso.operator, each)))
        await merge(client, kind, within, name, { metadata: { labels: { nudge } } })
        await eventually('NSO has looked at it again', async () => {
          const now = await Promise.all(controllers.map((each) => passesOf(nso.operator, each)))
          return now.every((passes, at) => passes > (before[at] ?? 0)) && (await isAtRest(nso.operator))
        })
      }
    })
    const stands = await find(client, kind, within, name)
    assert.deepEqual(stands?.metadata.finalizers, [foreign])
    const path = pathOf(kind, { name, namespace: within })
    assert.deepEqual(
      writes
        .filter(({ uri, user }) => uri.split('?')[0] === path && user.startsWith('system:serviceaccount:'))
        .map(({ verb, uri }) => `${verb} ${uri}`),
      [],
      'NSO has not touched its metadata',
    )
    assert.equal(await errors(), 0)
    await (within === undefined
      ? merge(client, kind, undefined, name, { metadata: { finalizers: null } })
      : strip(world, kind, within, name))
    await eventually('it is gone', async () => (await find(client, kind, within, name)) === undefined)
  })
}

test('B40: claims made right before their namespace is deleted end quietly, and the namespaces go', async () => {
  const { client, plane } = world
  running = await world.startNso()
  const places = await Promise.all(Array.from({ length: 10 }, () => world.place()))
  await Promise.all(
    places.map(async (namespace, at) => {
      const claims = Array.from({ length: 3 }, (_, n) => create(client, aClaim(namespace, `web-${n}`)))
      if (at % 2) await Promise.all(claims)
      await plane.connection.must({ method: 'DELETE', path: `/api/v1/namespaces/${namespace}` })
      // Those that came too late were never made.
      await Promise.allSettled(claims)
    }),
  )
  await eventually(
    'the namespaces are gone',
    async () => {
      const answers = await Promise.all(
        places.map((name) => plane.connection.request({ method: 'GET', path: `/api/v1/namespaces/${name}` })),
      )
      assert.deepEqual(
        answers.map(({ status }) => status),
        places.map(() => 404),
      )
      return true
    },
    { timeoutMs: 60_000 },
  )
  assert.equal(await errors(), 0)
})
