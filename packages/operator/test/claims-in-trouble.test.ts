/**
 * Claims that cannot have what they want, answers that fail, and lives that end early, on a real API server behind a scripted wire.
 * Full size with SOAK set.
 */
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { AddressLease, finalizers, NetworkContext, NetworkInterface, NetworkInterfaceClaim, Subnet } from '@nso/api'
import { type ApiRequest, type Clock, ConnectionBroken, isWrite, type Kind, type Transport } from 'kube-control-loop'
import {
  answers,
  createManualClock,
  createRecordingLog,
  narrowTransport,
  type RecordedLine,
  type ScriptedTransport,
  scriptTransport,
} from 'kube-control-loop/testing'
import { eventually } from 'kube-localplane/testing'
import { passed, passesOf, total } from './support/at-rest.ts'
import { ToyAttachment } from './toy-plane.ts'
import {
  aClaim,
  aSubnet,
  claimSays,
  create,
  find,
  know,
  listed,
  merge,
  type Running,
  remove,
  said,
  startWorld,
  type World,
} from './world.ts'

know(NetworkContext, Subnet, NetworkInterface, NetworkInterfaceClaim, AddressLease)

/** What belongs to no namespace. */
const seenWhole = {
  servinglocations: 'all',
  dataplanes: { only: 'toy' },
  customresourcedefinitions: 'all',
  clusterroles: { only: 'nso' },
} as const

const isFull = process.env.SOAK !== undefined
const claimPasses = 'networkinterfaceclaim'
const reconcileErrors = 'controller_runtime_reconcile_errors_total'
const chain = [NetworkInterfaceClaim, NetworkInterface, ToyAttachment, AddressLease] as Kind[]
const leases = /\/addressleases$/
const claimStatus = /\/networkinterfaceclaims\/[^/]+\/status$/
const always = Number.MAX_SAFE_INTEGER

let world: World
let running: Running | undefined
before(async () => {
  world = await startWorld()
})
after(() => world[Symbol.asyncDispose]())
beforeEach(() => world.toy.behave({ prepares: true, programs: true, letsGo: true }))
afterEach(async () => {
  await running?.stop()
  running = undefined
})

const ready = (namespace: string, name: string) => claimSays(world.client, namespace, name, 'Ready', 'True Ready')

type Life = {
  nso: Running
  script: ScriptedTransport
  lines: readonly RecordedLine[]
  /** What it wrote, events too. */
  written(): string[]
  /** Breaks the watches whose path fits; they are opened again. */
  cut(path: RegExp): void
}
type Beginning = { clock?: Clock; settings?: object; prepare?: (script: ScriptedTransport) => void }

/** An NSO that sees one namespace. */
async function begin(namespace: string, { clock, settings = {}, prepare = () => {} }: Beginning = {}): Promise<Life> {
  const { log, lines } = createRecordingLog()
  const wires: { script: ScriptedTransport; cut(path: RegExp): void }[] = []
  running = await world.startNso({
    ...{ settings, log },
    ...(clock ? { clock } : {}),
    wrap: (transport) => {
      const narrow = narrowTransport(transport, namespace, seenWhole)
      const { transport: breakable, cut } = cuttable(narrow)
      const script = scriptTransport(breakable)
      prepare(script)
      wires.push({ script, cut })
      return script
    },
  })
  const [wire] = wires
  assert.ok(wire)
  const isOwn = ({ path }: ApiRequest) => !path.includes('selfsubject')
  const written = () =>
    wire.script.requests.flatMap(({ request }) =>
      isWrite(request) && isOwn(request) ? [`${request.method} ${request.path}`] : [],
    )
  return { nso: running, ...wire, lines, written }
}

/** Streams that a test can break. */
function cuttable(inner: Transport): { transport: Transport; cut(path: RegExp): void } {
  const open = new Map<() => void, string>()
  async function* breakable(lines: AsyncIterable<string>, path: string) {
    const { promise, reject } = Promise.withResolvers<never>()
    promise.catch(() => {})
    const cutThis = () => reject(new ConnectionBroken({ method: 'GET', path }, 'the test cuts the watch'))
    open.set(cutThis, path)
    const iterator = lines[Symbol.asyncIterator]()
    try {
      for (;;) {
        const next = await Promise.race([iterator.next(), promise])
        if (next.done) return
        yield next.value
      }
    } finally {
      open.delete(cutThis)
      void iterator.return?.()
    }
  }
  return {
    transport: {
      send: (request, signal) => inner.send(request, signal),
      close: () => inner.close(),
      async stream(request, signal) {
        const { opened, lines } = await inner.stream(request, signal)
        return { opened, lines: breakable(lines, request.path) }
      },
    },
    cut(path) {
      for (const [cutThis, at] of open) if (path.test(at)) cutThis()
    },
  }
}

const namesOf = (count: number) => Array.from({ length: count }, (_, at) => `web-${at}`)

async function settle(namespace: string, count: number): Promise<void> {
  await Promise.all(namesOf(count).map((name) => create(world.client, aClaim(namespace, name))))
  await Promise.all(namesOf(count).map((name) => ready(namespace, name)))
  await eventually('interfaces are settled', async () => {
    const nics = await listed(world.client, NetworkInterface, namespace)
    return nics.every((nic) => said(nic, 'Programmed') === 'True ToyProgrammed')
  })
}

async function versions(namespace: string): Promise<string[]> {
  const all = await Promise.all(chain.map((kind) => listed(world.client, kind, namespace)))
  return all.flat().map(({ kind, metadata }) => `${kind} ${metadata.name} ${metadata.resourceVersion}`)
}

async function nothingLeft(namespace: string): Promise<void> {
  await eventually('nothing is left', async () => {
    assert.deepEqual(await versions(namespace), [])
    return true
  })
}

const isEvent = (path: string) => / .*\/events(\/|$)/.test(path)

for (const plural of ['subnets', 'networkinterfaces']) {
  const path = new RegExp(`/${plural}$`)

  test(`B13: the list of ${plural} is answered 500 three times at start: settled claims stay, the error is told, and it goes on`, async () => {
    const namespace = await world.place()
    const first = await begin(namespace)
    await settle(namespace, 3)
    await first.nso.stop()
    const before = await versions(namespace)
    const rules: { count: number }[] = []
    const { nso, lines, written } = await begin(namespace, {
      prepare: (script) => rules.push(script.on({ method: 'GET', path }, { times: 3 }).answer(answers.internalError())),
    })
    await passed(nso.operator, claimPasses, 0, 3)
    await passed(nso.operator, 'networkinterface', 0, 3)
    assert.equal(rules[0]?.count, 3)
    assert.ok(toldOf(lines), 'the log tells of it')
    assert.deepEqual(written(), [])
    assert.deepEqual(await versions(namespace), before)
  })

  test(`B13: the same under a running NSO whose watch breaks`, async () => {
    const namespace = await world.place()
    const { nso, script, lines, written, cut } = await begin(namespace)
    await settle(namespace, 3)
    await passed(nso.operator, claimPasses, 0, 3)
    const before = await versions(namespace)
    const from = written().length
    const made = await passesOf(nso.operator, claimPasses)
    const rule = script.on({ method: 'GET', path }, { times: 3 }).answer(answers.internalError())
    cut(path)
    await eventually('it was answered three times', () => rule.count === 3)
    // What changed meanwhile is seen afterwards: the subnet's label wakes every claim.
    await merge(world.client, Subnet, namespace, 'net-here-0', { metadata: { labels: { nudge: 'yes' } } })
    await passed(nso.operator, claimPasses, made, 3)
    assert.ok(toldOf(lines), 'the log tells of it')
    assert.deepEqual(written().slice(from), [])
    assert.deepEqual(await versions(namespace), before)
  })
}

const toldOf = (lines: readonly RecordedLine[]) =>
  lines.some((line) => JSON.stringify(line).includes('etcdserver: request timed out'))

test('B05: an attachment that the API server refuses, as for an entry given twice: the conditions say so, and it is made once it may be', async () => {
  const { client } = world
  const namespace = await world.place()
  const refusal = answers.invalid(ToyAttachment, { name: 'web-0', namespace }, 'spec.ends[1]', 'Duplicate value: {"at":"a"}')
  const refusing = (script: ScriptedTransport) =>
    script.on({ method: 'POST', path: /\/toyattachments$/ }, { times: always }).answer(refusal)
  const { nso, script } = await begin(namespace)
  const rule = refusing(script)
  await create(client, aClaim(namespace, 'web-0'))
  const why = /ToyAttachment .*\/web-0: the API server refuses it: .*spec\.ends\[1\].*Duplicate value/
  for (const kind of [NetworkInterfaceClaim, NetworkInterface] as Kind[]) {
    await eventually(`the ${kind.kind} says why`, async () => {
      const found = (await find(client, kind, namespace, 'web-0')) as NetworkInterfaceClaim | undefined
      const prepared = found?.status?.conditions?.find(({ type }) => type === 'Prepared')
      assert.match(prepared?.message ?? '', why)
      return prepared?.status === 'False' && prepared.reason === 'AttachmentRefused'
    })
  }
  await eventually('it is an error, and tried again', async () => {
    return rule.count >= 4 && (await total(nso.operator, reconcileErrors)) >= 3
  })
  // Said once: trying again says nothing new.
  const before = await versions(namespace)
  const tries = rule.count
  await eventually('it was tried once more', () => rule.count > tries)
  assert.deepEqual(await versions(namespace), before)
  // A new process says it again neither before it has tried, nor afterwards.
  const told = ['Warning AttachmentRefused NetworkInterfaceClaim web-0']
  await tells(namespace, told)
  await nso.stop()
  const rules: ReturnType<typeof refusing>[] = []
  const next = await begin(namespace, { prepare: (wire) => rules.push(refusing(wire)) })
  await eventually('the next process tries too', () => (rules[0]?.count ?? 0) >= 3)
  assert.deepEqual(
    next.written().filter((each) => !each.endsWith('/toyattachments')),
    [],
  )
  assert.deepEqual(await versions(namespace), before)
  await tells(namespace, told)
  rules[0]?.remove()
  const claim = await ready(namespace, 'web-0')
  assert.doesNotMatch(JSON.stringify(claim.status), /refuses/)
})

test('B37: nothing is allocated, and no interface made, before the finalizer is stored', async () => {
  const { client } = world
  const namespace = await world.place()
  const { nso, script } = await begin(namespace)
  const held = script.on({ method: 'PATCH', path: /\/networkinterfaceclaims\/web-0$/ }, { times: always }).hold()
  await create(client, aClaim(namespace, 'web-0'))
  await held.arrived()
  // Another claim goes all the way meanwhile: NSO is at work.
  await create(client, aClaim(namespace, 'web-1'))
  await ready(namespace, 'web-1')
  const holders = (await listed(client, AddressLease, namespace)).map(({ spec }) => spec.holder.claimName)
  assert.deepEqual(holders, ['web-1'])
  assert.equal(script.sent({ method: 'POST', where: ({ body }) => JSON.stringify(body).includes('"web-0"') }).length, 0)
  await remove(client, NetworkInterfaceClaim, namespace, 'web-0')
  held.release()
  await passed(nso.operator, claimPasses, 0, 2)
  await remove(client, NetworkInterfaceClaim, namespace, 'web-1')
  await nothingLeft(namespace)
})

test('B37: no status can be written: the address has its owner, and the deletion of the claim gives everything back', async () => {
  const { client } = world
  const namespace = await world.place()
  const { nso, script } = await begin(namespace)
  const rule = script.on({ method: 'PATCH', path: claimStatus }, { times: always }).answer(answers.typedPatchFailed())
  const claim = await create(client, aClaim(namespace, 'web-0'))
  await eventually('it was tried again', () => rule.count >= 3)
  const [lease, ...others] = await listed(client, AddressLease, namespace)
  assert.deepEqual([lease?.spec.holder.claimUID, others], [claim.metadata.uid, []])
  const stands = await find(client, NetworkInterfaceClaim, namespace, 'web-0')
  assert.ok(stands?.metadata.finalizers?.includes(finalizers.claim))
  assert.ok((await total(nso.operator, reconcileErrors)) >= 3)
  await remove(client, NetworkInterfaceClaim, namespace, 'web-0')
  await nothingLeft(namespace)
})

test('B37: killed after the allocation and before any status, the claim deleted meanwhile: the next life gives the address back', async () => {
  const { client } = world
  const namespace = await world.place()
  const { nso, script } = await begin(namespace)
  const held = script.on({ method: 'POST', path: leases }, { times: always }).holdAnswer()
  await create(client, aClaim(namespace, 'web-0'))
  await held.arrived()
  await eventually('the address is held', async () => (await listed(client, AddressLease, namespace)).length === 1)
  await nso.stop()
  await remove(client, NetworkInterfaceClaim, namespace, 'web-0')
  const stands = await find(client, NetworkInterfaceClaim, namespace, 'web-0')
  assert.ok(stands?.metadata.finalizers?.includes(finalizers.claim), 'the finalizer keeps the claim')
  await begin(namespace)
  await nothingLeft(namespace)
})

/** A webhook at which nobody listens, asked about each change of claims of the namespace with this label. */
const deafWebhook = (namespace: string, matchLabels: Record<string, string>) => ({
  ...{ apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingWebhookConfiguration', metadata: { name: namespace } },
  webhooks: [
    {
      ...{ name: 'deaf.example.dev', sideEffects: 'None', admissionReviewVersions: ['v1'], failurePolicy: 'Fail' },
      ...{ clientConfig: { url: 'https://127.0.0.1:1/' }, timeoutSeconds: 1, objectSelector: { matchLabels } },
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
      rules: [
        {
          ...{ apiGroups: [NetworkInterfaceClaim.group], apiVersions: ['*'], operations: ['UPDATE'] },
          resources: [NetworkInterfaceClaim.plural],
        },
      ],
    },
  ],
})

test('B41: a webhook that does not answer keeps the claim that it is asked about, and no other: told, tried again, gone once it may', async () => {
  const { client, plane } = world
  const namespace = await world.place()
  const { nso, lines } = await begin(namespace)
  const labels = { 'example.dev/asked': 'yes' }
  const asked = aClaim(namespace, 'web-0')
  await create(client, { ...asked, metadata: { ...asked.metadata, labels } })
  await create(client, aClaim(namespace, 'web-1'))
  await Promise.all(['web-0', 'web-1'].map((name) => ready(namespace, name)))
  const webhook = deafWebhook(namespace, labels)
  await plane.apply([webhook] as never)
  const nudge = { metadata: { annotations: { 'example.dev/nudge': 'yes' } } }
  await eventually('it is asked', () =>
    merge(client, NetworkInterfaceClaim, namespace, 'web-0', nudge).then(
      () => false,
      () => true,
    ),
  )
  await Promise.all(['web-0', 'web-1'].map((name) => remove(client, NetworkInterfaceClaim, namespace, name)))
  await eventually('the other is gone', async () => !(await find(client, NetworkInterfaceClaim, namespace, 'web-1')))
  await eventually('it is an error, and tried again', async () => (await total(nso.operator, reconcileErrors)) >= 3)
  assert.ok(lines.some((line) => JSON.stringify(line).includes('failed calling webhook')))
  const kept = await find(client, NetworkInterfaceClaim, namespace, 'web-0')
  assert.ok(kept?.metadata.finalizers?.includes(finalizers.claim))
  await create(client, aClaim(namespace, 'web-2'))
  await ready(namespace, 'web-2')
  const path = `/apis/${webhook.apiVersion}/validatingwebhookconfigurations/${namespace}`
  await plane.connection.must({ method: 'DELETE', path })
  await remove(client, NetworkInterfaceClaim, namespace, 'web-2')
  await nothingLeft(namespace)
})

/** Claims of a class that no subnet offers, turned away at once and then each minute. */
async function turnAway(namespace: string, clock: ReturnType<typeof createManualClock>, count: number) {
  const life = await begin(namespace, { clock })
  const spec = { addresses: [{ class: 'none-such' }] }
  await Promise.all(namesOf(count).map((name) => create(world.client, aClaim(namespace, name, spec))))
  await Promise.all(
    namesOf(count).map((name) => claimSays(world.client, namespace, name, 'Ready', 'False AddressAllocationRejected')),
  )
  await passed(life.nso.operator, claimPasses, 0, count)
  return life
}

async function tryAgain({ nso: { operator } }: Life, clock: ReturnType<typeof createManualClock>, count: number): Promise<void> {
  const made = await passesOf(operator, claimPasses)
  await clock.advance(60_000)
  await passed(operator, claimPasses, made, count)
}

test(`B53: ${isFull ? 500 : 80} claims fail for an hour for one reason: the burst that is allowed, and then not one event`, async () => {
  const namespace = await world.place()
  const count = isFull ? 500 : 80
  const clock = createManualClock(new Date())
  const life = await turnAway(namespace, clock, count)
  const events = () => life.written().filter(isEvent)
  await eventually('the burst is out', () => events().length >= 50)
  assert.equal(new Set(events()).size, 1, 'they are only created')
  const from = life.written().length
  for (let minute = 0; minute < 60; minute++) await tryAgain(life, clock, count)
  assert.ok((await passesOf(life.nso.operator, claimPasses)) >= 61 * count)
  assert.deepEqual(life.written().slice(from), [])
  assert.equal(events().length, 50)
  const { items } = await eventsIn(namespace)
  assert.equal(items.length, 50)
  assert.equal(new Set(items.map(({ note }) => note)).size, 1, 'the text is the same')
})

test('B53: an hour of settled claims, woken again and again: no event at all', async () => {
  const namespace = await world.place()
  const count = isFull ? 150 : 20
  const clock = createManualClock(new Date())
  const { nso, written } = await begin(namespace, { clock })
  await settle(namespace, count)
  for (let minute = 0; minute < 60; minute += 10) {
    await clock.advance(600_000)
    const made = await passesOf(nso.operator, claimPasses)
    await merge(world.client, Subnet, namespace, 'net-here-0', { metadata: { labels: { minute: `${minute}` } } })
    await passed(nso.operator, claimPasses, made, count)
  }
  assert.deepEqual(written().filter(isEvent), [])
  assert.deepEqual((await eventsIn(namespace)).items, [])
})

/** `Warning AddressAllocationRejected NetworkInterfaceClaim web-0`, each as often as it is stored. */
async function toldIn(namespace: string): Promise<string[]> {
  const { items } = await eventsIn(namespace)
  return items.map(({ type, reason, regarding }) => `${type} ${reason} ${regarding?.kind} ${regarding?.name}`).sort()
}

async function tells(namespace: string, want: readonly string[]): Promise<void> {
  await eventually('the events are stored', async () => (await toldIn(namespace)).length >= want.length)
  assert.deepEqual(await toldIn(namespace), [...want].sort())
}

test('B53: claims that are turned away for an hour, by two processes, and are served at last: one Warning and one Normal event each', async () => {
  const namespace = await world.place()
  const clock = createManualClock(new Date())
  const first = await turnAway(namespace, clock, 3)
  const warnings = namesOf(3).map((name) => `Warning AddressAllocationRejected NetworkInterfaceClaim ${name}`)
  await tells(namespace, warnings)
  await first.nso.stop()
  const second = await begin(namespace, { clock })
  await passed(second.nso.operator, claimPasses, 0, 3)
  for (let minute = 0; minute < 60; minute += 1) await tryAgain(second, clock, 3)
  assert.deepEqual(second.written(), [])
  await create(world.client, subnetOfClass(namespace, 'none-such'))
  await Promise.all(namesOf(3).map((name) => ready(namespace, name)))
  const served = [...warnings, ...namesOf(3).map((name) => `Normal Bound NetworkInterfaceClaim ${name}`)]
  await tells(namespace, served)
  await second.nso.stop()
  const third = await begin(namespace, { clock })
  await passed(third.nso.operator, claimPasses, 0, 3)
  await passed(third.nso.operator, 'networkinterface', 0, 3)
  assert.deepEqual(third.written(), [])
  assert.deepEqual(await toldIn(namespace), served.toSorted())
})

test('a claim that became Ready before its interface’s status was written is not taken back by the next process', async () => {
  const { client, toy } = world
  toy.behave({ prepares: true, programs: false })
  const namespace = await world.place()
  const first = await begin(namespace)
  await create(client, aClaim(namespace, 'web-0'))
  await claimSays(client, namespace, 'web-0', 'Ready', 'False NotProgrammed')
  await eventually('the interface says so too', async () => {
    return said(await find(client, NetworkInterface, namespace, 'web-0'), 'Programmed')?.startsWith('False')
  })
  const held = first.script.on({ method: 'PATCH', path: /networkinterfaces\/web-0\/status$/ }, { times: 1_000 }).hold()
  toy.behave({ prepares: true, programs: true })
  await held.arrived()
  await ready(namespace, 'web-0')
  await first.nso.stop()
  const second = await begin(namespace)
  await eventually('the interface says so too', async () => {
    return said(await find(client, NetworkInterface, namespace, 'web-0'), 'Programmed')?.startsWith('True')
  })
  assert.deepEqual(
    second.written().filter((each) => !each.endsWith('/networkinterfaces/web-0/status')),
    [],
  )
})

test('what happens to a retained interface, and to a claim whose interface somebody deletes, is told once each', async () => {
  const { client } = world
  const namespace = await world.place()
  await begin(namespace)
  const spec = { reclaimPolicy: 'Retain' as const }
  await create(client, aClaim(namespace, 'web-0', spec))
  await create(client, aClaim(namespace, 'web-1'))
  await Promise.all(['web-0', 'web-1'].map((name) => ready(namespace, name)))
  assert.deepEqual(await toldIn(namespace), [])
  await remove(client, NetworkInterfaceClaim, namespace, 'web-0')
  const released = ['Normal Released NetworkInterface web-0']
  await tells(namespace, released)
  await create(client, aClaim(namespace, 'web-0', spec))
  await ready(namespace, 'web-0')
  const taken = [...released, 'Normal Bound NetworkInterface web-0']
  await tells(namespace, taken)
  world.toy.behave({ letsGo: false })
  await remove(client, NetworkInterface, namespace, 'web-1')
  await claimSays(client, namespace, 'web-1', 'Bound', 'Unknown Pending')
  world.toy.behave({ letsGo: true })
  await ready(namespace, 'web-1')
  const rebuilt = ['Warning InterfaceLost NetworkInterfaceClaim web-1', 'Normal Bound NetworkInterfaceClaim web-1']
  await tells(namespace, [...taken, ...rebuilt])
})

type StoredEvent = { type?: string; reason?: string; note?: string; regarding?: { kind?: string; name?: string } }
async function eventsIn(namespace: string): Promise<{ items: StoredEvent[] }> {
  const answer = await world.plane.connection.must({ path: `/apis/events.k8s.io/v1/namespaces/${namespace}/events` })
  return answer as { items: StoredEvent[] }
}

test(`B10: ${isFull ? 500 : 60} failed attempts on one claim, refusals and faults: it is as it was after the first`, async () => {
  const namespace = await world.place()
  const attempts = isFull ? 500 : 60
  const clock = createManualClock(new Date())
  const life = await turnAway(namespace, clock, 1)
  const measure = async () => {
    const claim = await find(world.client, NetworkInterfaceClaim, namespace, 'web-0')
    return { entries: claim?.metadata.managedFields?.length, object: claim }
  }
  const first = await measure()
  for (let attempt = 0; attempt < attempts / 2; attempt++) await tryAgain(life, clock, 1)
  // From here each attempt finds an address and is refused the lease.
  const rule = life.script.on({ method: 'POST', path: leases }, { times: always }).answer(answers.typedPatchFailed())
  await create(world.client, subnetOfClass(namespace, 'none-such'))
  await eventually('the attempts fail', async () => {
    await clock.advance(60_000)
    return (await total(life.nso.operator, reconcileErrors)) >= attempts / 2
  })
  assert.ok(rule.count >= attempts / 2)
  assert.deepEqual(await measure(), first)
})

function subnetOfClass(namespace: string, subnetClass: string): Subnet {
  return {
    apiVersion: 'networking.datumapis.com/v1alpha',
    kind: 'Subnet',
    metadata: { name: 'of-class', namespace },
    spec: {
      ...{ subnetClass, networkContext: { name: 'net-here' }, location: { name: 'here' } },
      ...{ ipFamily: 'IPv6', startAddress: 'fd20:0:0:2::', prefixLength: 64 },
    },
  }
}

test('B44: a claim of two families whose IPv6 pool is empty holds nothing and has no interface, however often it is tried; both come with the space', async () => {
  const { client } = world
  const full = { ...aSubnet('IPv6'), prefixLength: 128 }
  const namespace = await world.place({ families: ['IPv4', 'IPv6'], subnets: [aSubnet('IPv4'), full] })
  const { nso, script } = await begin(namespace, { settings: { retryRejectedMs: 10 } })
  await create(client, aClaim(namespace, 'holds'))
  await ready(namespace, 'holds')
  const held = async () =>
    (await listed(client, AddressLease, namespace)).map(({ spec }) => [spec.holder.claimName, spec.holder.family])
  const before = await passesOf(nso.operator, claimPasses)
  await create(client, aClaim(namespace, 'web-0', { ipFamilies: ['IPv4', 'IPv6'] }))
  const refused = await claimSays(client, namespace, 'web-0', 'Bound', 'False AddressPoolExhausted')
  assert.match(refused.status?.conditions?.find(({ type }) => type === 'Bound')?.message ?? '', /IPv6/)
  await eventually('it was tried twenty times', async () => (await passesOf(nso.operator, claimPasses)) >= before + 20)
  assert.deepEqual(await held(), [['holds', 'IPv6']])
  assert.equal(script.sent({ method: 'POST', path: leases }).length, 1, 'no address was taken and given back either')
  assert.equal(await find(client, NetworkInterface, namespace, 'web-0'), undefined)
  const more = { apiVersion: 'networking.datumapis.com/v1alpha', kind: 'Subnet', metadata: { name: 'more', namespace } }
  await create(client, { ...more, spec: { ...aSubnet('IPv6'), startAddress: 'fd20:0:0:2::' } } as Subnet)
  const told = (await ready(namespace, 'web-0')).status?.addresses?.map(({ family }) => family)
  assert.deepEqual(told, ['IPv4', 'IPv6'])
  const both = (await listed(client, AddressLease, namespace)).filter(({ spec }) => spec.holder.claimName === 'web-0')
  assert.deepEqual(both.map(({ spec }) => spec.holder.family).sort(), ['IPv4', 'IPv6'])
  assert.equal(new Set(both.map(({ spec }) => spec.holder.claimUID)).size, 1)
})
