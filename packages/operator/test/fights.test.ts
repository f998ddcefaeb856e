/** NSO against writers of its status that no policy stops, on a real API server. */
import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { finalizers, NetworkContext, NetworkInterface, NetworkInterfaceClaim, Subnet } from '@nso/api'
import { ApiError, apiVersionOf, type Kind, type KubeObject, pathOf, systemClock, type Transport } from 'kube-control-loop'
import { answers } from 'kube-control-loop/testing'
import { eventually } from 'kube-localplane/testing'
import {
  aClaim,
  claimSays,
  create,
  find,
  know,
  merge,
  type Running,
  remove,
  said,
  startWorld,
  strip,
  type World,
} from './world.ts'

know(NetworkContext, Subnet, NetworkInterface, NetworkInterfaceClaim)

let world: World
let nso: Running
/** Claims whose status nobody takes: `namespace/name`. */
const refusing = new Set<string>()

function refusingStatus(inner: Transport): Transport {
  return {
    ...inner,
    async send(request, signal) {
      const [, namespace, name] = /namespaces\/([^/]+)\/networkinterfaceclaims\/([^/]+)\/status$/.exec(request.path) ?? []
      return refusing.has(`${namespace}/${name}`) ? answers.internalError() : inner.send(request, signal)
    },
  }
}

before(async () => {
  world = await startWorld()
  nso = await world.startNso({ wrap: refusingStatus })
})
after(() => world[Symbol.asyncDispose]())

const signal = AbortSignal.timeout(120_000)

/** Ten writes a second. Answers how long they took. */
async function rage(times: number, write: (n: number) => Promise<unknown>): Promise<number> {
  const begun = systemClock.monotonic()
  for (let n = 0; n < times; n += 1) {
    await write(n)
    await systemClock.sleep(Math.max(0, begun + (n + 1) * 100 - systemClock.monotonic()), signal)
  }
  return systemClock.monotonic() - begun
}

const no = (n: number) => ({
  ...{ type: 'Programmed', status: 'False', reason: 'SaidTheRogue', message: `no ${n}` },
  lastTransitionTime: '2001-01-01T00:00:00Z',
})

type Conditioned = { conditions?: { type: string }[] }

function rogueApply<S, T>(kind: Kind<S, T>, namespace: string, name: string, n: number, type = 'Programmed') {
  const status = { conditions: [{ ...no(n), type }] }
  const body = { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: { name }, status }
  return world.client.apply(
    kind,
    { name, namespace, subresource: 'status' },
    body,
    { fieldManager: 'rogue', force: true },
    signal,
  )
}

async function roguePut<S, T extends Conditioned>(kind: Kind<S, T>, namespace: string, name: string, n: number): Promise<void> {
  for (;;) {
    const stands = await find(world.client, kind, namespace, name)
    const conditions = stands?.status?.conditions?.map((one) => (one.type === 'Programmed' ? no(n) : one))
    const path = pathOf(kind, { namespace, name, subresource: 'status' })
    const body = { ...stands, status: { ...stands?.status, conditions } }
    try {
      await world.client.raw({ method: 'PUT', path, query: { fieldManager: 'old-plane' }, body }, signal)
      return
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 409) throw error
    }
  }
}

type Event = KubeObject & { reason?: string; note?: string; regarding?: { kind?: string; name?: string } }
const Event: Kind = { group: 'events.k8s.io', version: 'v1', kind: 'Event', plural: 'events', scope: 'Namespaced' }

async function warnings(namespace: string): Promise<string[]> {
  const { items } = await world.client.list(Event, { namespace }, signal)
  const conflicts = (items as Event[]).filter(({ reason }) => reason === 'StatusOwnershipConflict')
  return conflicts.map(({ regarding, note }) => `${regarding?.kind} ${regarding?.name}: ${note}`).sort()
}

/** Value of each series whose name begins so. */
async function counted(name: string): Promise<Record<string, number>> {
  const lines = (await nso.operator.manager.metrics.page()).split('\n').filter((line) => line.startsWith(`${name}{`))
  return Object.fromEntries(lines.map((line) => [line.slice(name.length, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]))
}

test('two rogues flip Programmed ten times a second: named, answered seldom, and undone at once', async (t: TestContext) => {
  const { client, recorder } = world
  const namespace = await world.place({ prefix: 'fights' })
  for (const kind of ['NetworkInterfaceClaim', 'NetworkInterface'])
    recorder.expect({ kind, namespace, path: '*', why: 'the test plays second writers', maybe: true })
  await create(client, aClaim(namespace, 'web-0'))
  await claimSays(client, namespace, 'web-0', 'Ready', 'True Ready')
  const nicSays = async (what: string) => said(await find(client, NetworkInterface, namespace, 'web-0'), 'Programmed') === what
  await eventually('the interface follows', () => nicSays('True ToyProgrammed'))

  const flips = 30
  let tookMs = 0
  const writes = await world.writesDuring(async () => {
    const took = await Promise.all([
      rage(flips, (n) => rogueApply(NetworkInterfaceClaim, namespace, 'web-0', n)),
      rage(flips, (n) => roguePut(NetworkInterface, namespace, 'web-0', n)),
    ])
    tookMs = Math.max(...took)
    const stoppedAt = systemClock.monotonic()
    await claimSays(client, namespace, 'web-0', 'Programmed', 'True ToyProgrammed')
    await eventually('the interface is right too', () => nicSays('True ToyProgrammed'))
    const rightAfterMs = systemClock.monotonic() - stoppedAt
    t.diagnostic(`right ${Math.round(rightAfterMs)} ms after the last of ${flips} flips of each`)
  })

  const claimConflict = 'NetworkInterfaceClaim web-0: status conditions/Programmed belongs to nso-networkinterfaceclaim; "rogue"'
  const nicConflict = 'NetworkInterface web-0: status conditions/Programmed belongs to nso-networkinterface; "old-plane"'
  const rest = 'wrote there and is overruled'
  await eventually('one warning for each', async () => (await warnings(namespace)).length === 2)
  assert.deepEqual(await warnings(namespace), [`${nicConflict} ${rest}`, `${claimConflict} ${rest}`])
  assert.deepEqual(await counted('nso_status_ownership_conflicts_total'), {
    '{resource="networkinterfaceclaims",field="conditions/Programmed",manager="rogue"}': 1,
    '{resource="networkinterfaces",field="conditions/Programmed",manager="old-plane"}': 1,
  })
  const rounds = await counted('nso_status_ownership_rounds_total')
  const ofKind = (resource: string) => rounds[`{resource="${resource}"}`] ?? 0
  // Three at once, four while the delay grows, one each 600 ms, and the last.
  const most = 3 + 4 + Math.ceil((tookMs + 1_000) / 600) + 1
  for (const resource of ['networkinterfaceclaims', 'networkinterfaces'])
    assert.ok(ofKind(resource) >= 3 && ofKind(resource) <= most, `${resource}: ${ofKind(resource)} rounds in ${tookMs} ms`)
  const own = writes.filter((one) => one.userAgent.startsWith('nso-test') && one.namespace === namespace)
  t.diagnostic(`${JSON.stringify(rounds)}; ${own.length} writes of NSO while ${2 * flips} of theirs`)
  // A polite apply, a forced one, and the patch that takes the others' ownership away.
  const sent = own.filter(({ resource }) => resource !== 'events').length
  assert.ok(sent <= 4 * (ofKind('networkinterfaceclaims') + ofKind('networkinterfaces')), `${sent} writes`)
  const errors = await counted('controller_runtime_reconcile_errors_total')
  assert.deepEqual(
    Object.values(errors).filter((count) => count > 0),
    [],
    'a fight is no error',
  )
})

test('a claim that others keep goes without waiting for what is to be said of it', async () => {
  const { client, recorder } = world
  const namespace = await world.place({ prefix: 'refused' })
  recorder.expect({ kind: 'NetworkInterfaceClaim', namespace, path: '*', why: 'no status of it is taken', maybe: true })
  const claim = aClaim(namespace, 'web-0')
  await create(client, { ...claim, metadata: { ...claim.metadata, finalizers: ['example.dev/keep'] } })
  await claimSays(client, namespace, 'web-0', 'Ready', 'True Ready')
  refusing.add(`${namespace}/web-0`)
  await remove(client, NetworkInterfaceClaim, namespace, 'web-0')
  await eventually('NSO has let it go', async () => {
    const found = await find(client, NetworkInterfaceClaim, namespace, 'web-0')
    return found !== undefined && !found.metadata.finalizers?.includes(finalizers.claim)
  })
  refusing.clear()
  await eventually('and says so once it can', async () => {
    const found = await find(client, NetworkInterfaceClaim, namespace, 'web-0')
    return found?.status?.conditions?.some(({ message }) => message.startsWith('Released; deletion waits for'))
  })
  await merge(client, NetworkInterfaceClaim, namespace, 'web-0', { metadata: { finalizers: [] } })
})

test('while the network context is missing, what a rogue says of the addresses is not taken over', async () => {
  const { client, recorder } = world
  const namespace = await world.place({ prefix: 'adopted' })
  for (const kind of ['NetworkInterfaceClaim', 'NetworkInterface'])
    recorder.expect({ kind, namespace, path: '*', why: 'the test plays second writers', maybe: true })
  await create(client, aClaim(namespace, 'web-0'))
  await claimSays(client, namespace, 'web-0', 'Ready', 'True Ready')
  await remove(client, NetworkContext, namespace, 'net-here')
  await strip(world, NetworkContext, namespace, 'net-here').catch(() => {})
  await eventually('there is no context', async () => (await find(client, NetworkContext, namespace, 'net-here')) === undefined)
  for (const kind of [NetworkInterfaceClaim, NetworkInterface] as Kind[]) {
    await rogueApply(kind, namespace, 'web-0', 0, 'Allocated')
    await eventually(`${kind.kind} says what stands`, async () => {
      const found = (await find(client, kind, namespace, 'web-0')) as Parameters<typeof said>[0]
      return said(found, 'Allocated') === 'True Allocated'
    })
  }
})
