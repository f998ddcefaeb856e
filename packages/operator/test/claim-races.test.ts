/** Claims under lagging events, lost answers, crashes and a second writer, on a real API server behind a scripted wire. */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { AddressLease, annotations, NetworkContext, NetworkInterface, NetworkInterfaceClaim, Subnet } from '@nso/api'
import { type Kind, type Logger, silentLogger, type Transport } from 'kube-control-loop'
import { answers, type ScriptedTransport, scriptTransport } from 'kube-control-loop/testing'
import { eventually } from 'kube-localplane/testing'
import { ToyAttachment } from './toy-plane.ts'
import {
  aClaim,
  claimSays,
  create,
  find,
  gone,
  know,
  listed,
  merge,
  type Running,
  remove,
  said,
  startWorld,
  strip,
  type World,
} from './world.ts'

know(NetworkContext, Subnet, NetworkInterface, NetworkInterfaceClaim, AddressLease)

let world: World
let running: Running | undefined
before(async () => {
  world = await startWorld()
})
after(() => world[Symbol.asyncDispose]())
afterEach(async () => {
  await running?.stop()
  running = undefined
})

const interfaces = /\/networkinterfaces$/
const leases = /\/addressleases$/
const attachments = /\/toyattachments$/
const claimStatus = /\/networkinterfaceclaims\/[^/]+\/status$/

/** NSO whose wire the test holds. */
async function startScripted(settings = {}, log?: Logger): Promise<ScriptedTransport> {
  let script: ScriptedTransport | undefined
  running = await world.startNso({
    settings,
    ...(log ? { log } : {}),
    wrap: (transport) => {
      script = scriptTransport(transport)
      return script
    },
  })
  assert.ok(script)
  return script
}

const ready = (namespace: string, name: string) => claimSays(world.client, namespace, name, 'Ready', 'True Ready')

/** One interface, one lease, one attachment for each of so many claims. */
async function oneOfEach(namespace: string, claims = 1): Promise<void> {
  for (const kind of [NetworkInterface, AddressLease, ToyAttachment] as Kind[]) {
    assert.equal((await listed(world.client, kind, namespace)).length, claims, kind.kind)
  }
}

async function metric(name: RegExp): Promise<number> {
  const page = (await running?.operator.manager.metrics.page()) ?? ''
  const lines = page.split('\n').filter((line) => !line.startsWith('#') && name.test(line))
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0)
}

const reconcileErrors = () => metric(/^controller_runtime_reconcile_errors_total/)

/** Delays the events of one kind until released. */
function holdingEvents(inner: Transport, path: RegExp): { transport: Transport; release(): void } {
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  let armed = false
  async function* held(lines: AsyncIterable<string>) {
    for await (const line of lines) {
      if (armed && /"type":"(ADDED|MODIFIED|DELETED)"/.test(line)) await released
      yield line
    }
  }
  return {
    transport: {
      send: (request, signal) => inner.send(request, signal),
      close: () => inner.close(),
      async stream(request, signal) {
        const { opened, lines } = await inner.stream(request, signal)
        if (!path.test(request.path)) return { opened, lines }
        armed = true
        return { opened, lines: held(lines) }
      },
    },
    release,
  }
}

test('B34: interface events that come late lead to no second interface, lease or attachment', async () => {
  const { client } = world
  let release = () => {}
  running = await world.startNso({
    wrap: (transport) => {
      const holding = holdingEvents(transport, /\/networkinterfaces$/)
      release = holding.release
      return holding.transport
    },
  })
  const namespace = await world.place()
  await create(client, aClaim(namespace, 'web-0'))
  const passed = () => metric(/^controller_runtime_reconcile_total\{controller="networkinterfaceclaim"/)
  for (const nudge of ['1', '2', '3']) {
    const before = await passed()
    await merge(client, NetworkInterfaceClaim, namespace, 'web-0', { metadata: { labels: { nudge } } })
    await eventually(`pass ${nudge}`, async () => (await passed()) > before)
  }
  await ready(namespace, 'web-0')
  await oneOfEach(namespace)
  release()
  await ready(namespace, 'web-0')
  await oneOfEach(namespace)
  assert.equal(await reconcileErrors(), 0)
})

test('B36: an interface that comes and goes before the answer to its POST leaves no reservation, and the claim gets another', async () => {
  const { client } = world
  const script = await startScripted()
  const namespace = await world.place()
  const held = script.on({ method: 'POST', path: interfaces }).holdAnswer()
  await create(client, aClaim(namespace, 'web-0'))
  await held.arrived()
  const first = await eventually('the interface stands', () => find(client, NetworkInterface, namespace, 'web-0'))
  await remove(client, NetworkInterface, namespace, 'web-0')
  await gone(client, NetworkInterface, namespace, 'web-0')
  held.release()
  await ready(namespace, 'web-0')
  assert.notEqual((await find(client, NetworkInterface, namespace, 'web-0'))?.metadata.uid, first.metadata.uid)
  await oneOfEach(namespace)
  assert.equal(await reconcileErrors(), 0)
})

test('an answer that is lost after the interface was made: it is found and used', async () => {
  const { client } = world
  const script = await startScripted()
  const namespace = await world.place()
  script.on({ method: 'POST', path: interfaces }).dropAfter()
  script.on({ method: 'POST', path: leases }).dropAfter()
  script.on({ method: 'POST', path: attachments }).dropAfter()
  await create(client, aClaim(namespace, 'web-0'))
  await ready(namespace, 'web-0')
  await oneOfEach(namespace)
  assert.equal(await reconcileErrors(), 0)
})

test('an interface that someone else was quicker to make: the claim says who holds it, without an error', async () => {
  const { client } = world
  const script = await startScripted()
  const namespace = await world.place()
  const held = script.on({ method: 'POST', path: interfaces }).hold()
  await create(client, aClaim(namespace, 'web-0'))
  await held.arrived()
  const { metadata } = aClaim(namespace, 'web-0')
  const foreign = { kind: 'NetworkInterface', namespace, name: 'web-0', why: 'the test makes it before NSO can' }
  for (const path of ['spec', 'metadata.annotations']) world.recorder.expect({ ...foreign, path })
  const other = await create(client, aClaim(namespace, 'other', { networkInterfaceName: 'x', network: { name: 'elsewhere' } }))
  await client.create(
    NetworkInterface,
    {
      apiVersion: 'networking.datumapis.com/v1alpha',
      kind: 'NetworkInterface',
      metadata: { ...metadata, annotations: { [annotations.claimUid]: other.metadata.uid ?? '' } },
      spec: {
        network: { name: 'net' },
        claimRef: { name: 'other' },
        interfaceName: 'eth0',
        attachmentMode: 'Netns',
        reclaimPolicy: 'Retain',
      },
    },
    { fieldManager: 'test' },
    AbortSignal.timeout(5_000),
  )
  held.release()
  await claimSays(client, namespace, 'web-0', 'Bound', 'False InterfaceHeldByAnotherClaim')
  assert.equal(await reconcileErrors(), 0)
  assert.ok((await metric(/write_race_requeues_total\{.*networkinterfaces.*already-exists/)) > 0)
})

test('B37: a crash between allocation and interface: the next process finds the same lease', async () => {
  const { client } = world
  const script = await startScripted()
  const namespace = await world.place()
  const held = script.on({ method: 'POST', path: interfaces }).hold()
  await create(client, aClaim(namespace, 'web-0'))
  await held.arrived()
  const [lease] = await listed(client, AddressLease, namespace)
  script.on({ method: 'POST', path: interfaces }).dropBefore()
  await running?.stop()
  assert.equal(await find(client, NetworkInterface, namespace, 'web-0'), undefined)
  running = await world.startNso()
  const claim = await ready(namespace, 'web-0')
  assert.equal(claim.status?.addresses?.[0]?.address, lease?.spec.address)
  await oneOfEach(namespace)
})

test('B37: a crash before the status was written: the next process says it', async () => {
  const { client } = world
  const script = await startScripted()
  const namespace = await world.place()
  const held = script.on({ method: 'PATCH', path: claimStatus }).hold()
  await create(client, aClaim(namespace, 'web-0'))
  await held.arrived()
  await running?.stop()
  running = await world.startNso()
  await ready(namespace, 'web-0')
  await oneOfEach(namespace)
})

test('B37: a status write that fails surfaces as an error, is repeated, and nothing else is done twice', async () => {
  const { client } = world
  const script = await startScripted()
  const namespace = await world.place()
  script.on({ method: 'PATCH', path: claimStatus }, { times: 1 }).answer(answers.typedPatchFailed())
  await create(client, aClaim(namespace, 'web-0'))
  await ready(namespace, 'web-0')
  await oneOfEach(namespace)
  assert.equal(await reconcileErrors(), 1)
})

test('B29: conflicts in a row are requeued, counted and never an error; the claim is Ready within seconds', async () => {
  const { client } = world
  const script = await startScripted()
  const namespace = await world.place()
  script
    .on({ method: 'PATCH', path: claimStatus }, { times: 6 })
    .answer(answers.modified(NetworkInterfaceClaim, { name: 'web-0', namespace }))
  await create(client, aClaim(namespace, 'web-0'))
  await ready(namespace, 'web-0')
  assert.equal(await reconcileErrors(), 0)
  assert.equal(await metric(/write_race_requeues_total\{.*networkinterfaceclaims\/status/), 6)
})

test('B13: a brand-new claim is Unknown, not False, until the first answer', async () => {
  const { client } = world
  const script = await startScripted({ earlyStatusAfterMs: 0 })
  const namespace = await world.place()
  const held = script.on({ method: 'POST', path: leases }).hold()
  await create(client, aClaim(namespace, 'web-0'))
  await held.arrived()
  const claim = await find(client, NetworkInterfaceClaim, namespace, 'web-0')
  assert.deepEqual(
    claim?.status?.conditions?.map(({ type, status }) => `${type} ${status}`),
    ['Bound Unknown', 'Allocated Unknown', 'Prepared Unknown', 'Programmed Unknown', 'Ready Unknown'],
  )
  held.release()
  await ready(namespace, 'web-0')
})

test('B13: the API server restarts under settled claims: no condition moves, nothing is written, new claims are served', async () => {
  const { client, plane } = world
  await startScripted()
  const namespace = await world.place()
  const names = Array.from({ length: 5 }, (_, at) => `web-${at}`)
  await Promise.all(names.map((name) => create(client, aClaim(namespace, name))))
  await Promise.all(names.map((name) => ready(namespace, name)))
  await eventually('interfaces are settled', async () => {
    const nics = await listed(client, NetworkInterface, namespace)
    return nics.every((nic) => nic.status?.conditions?.every(({ status }) => status === 'True'))
  })
  const versions = async () => {
    const all = [
      ...(await listed(client, NetworkInterfaceClaim, namespace)),
      ...(await listed(client, NetworkInterface, namespace)),
    ]
    return all.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`)
  }
  const before = await versions()
  await plane.restart()
  await eventually('a new claim is taken', () => create(client, aClaim(namespace, 'new')).catch(() => undefined))
  await ready(namespace, 'new')
  const after = (await versions()).filter((one) => !one.startsWith('new '))
  assert.deepEqual(after, before)
})

test('two claims bind one retained interface at once: one gets it, the other says so', async () => {
  const { client } = world
  await startScripted()
  const namespace = await world.place()
  const spec = { reclaimPolicy: 'Retain', networkInterfaceName: 'shared' } as const
  await create(client, aClaim(namespace, 'first', spec))
  await ready(namespace, 'first')
  await remove(client, NetworkInterfaceClaim, namespace, 'first')
  await gone(client, NetworkInterfaceClaim, namespace, 'first')
  await Promise.all(['a', 'b'].map((name) => create(client, aClaim(namespace, name, spec))))
  await eventually('one is Ready and the other turned away', async () => {
    const claims = await Promise.all(['a', 'b'].map((name) => find(client, NetworkInterfaceClaim, namespace, name)))
    const reasons = claims.map((claim) => claim?.status?.conditions?.find(({ type }) => type === 'Ready')?.reason)
    return reasons.sort().join() === 'InterfaceHeldByAnotherClaim,Ready'
  })
  assert.equal(await reconcileErrors(), 0)
})

test('claims hand one retained interface on until each has had it, by one process and by the next', async () => {
  const { client } = world
  await startScripted()
  const namespace = await world.place()
  const spec = { reclaimPolicy: 'Retain', networkInterfaceName: 'shared' } as const
  const waiting = new Set(Array.from({ length: process.env.SOAK ? 30 : 6 }, (_, at) => `web-${at}`))
  await Promise.all([...waiting].map((name) => create(client, aClaim(namespace, name, spec))))
  const uids = new Set<string | undefined>()
  while (waiting.size > 0) {
    const holder = await eventually('one is Ready, and every other one is turned away', async () => {
      const claims = await listed(client, NetworkInterfaceClaim, namespace)
      const reasonOf = (claim: NetworkInterfaceClaim) => said(claim, 'Ready')
      const held = claims.filter((claim) => reasonOf(claim) === 'True Ready')
      const others = claims.filter((claim) => reasonOf(claim) === 'False InterfaceHeldByAnotherClaim')
      assert.equal(`${held.length} ${others.length}`, `1 ${waiting.size - 1}`, claims.map(reasonOf).join())
      return held[0]
    })
    uids.add((await find(client, NetworkInterface, namespace, 'shared'))?.metadata.uid)
    waiting.delete(holder.metadata.name)
    if (waiting.size % 2 === 0) await running?.stop()
    await remove(client, NetworkInterfaceClaim, namespace, holder.metadata.name)
    if (waiting.size % 2 === 0) await startScripted()
    await gone(client, NetworkInterfaceClaim, namespace, holder.metadata.name)
  }
  assert.equal(uids.size, 1, 'it is the same interface all the time')
  assert.equal(await reconcileErrors(), 0)
})

test('while NSO was away a claim was removed by force: its interface goes when NSO is back', async () => {
  const { client } = world
  await startScripted()
  const namespace = await world.place()
  await create(client, aClaim(namespace, 'web-0'))
  await ready(namespace, 'web-0')
  await running?.stop()
  await strip(world, NetworkInterfaceClaim, namespace, 'web-0')
  await remove(client, NetworkInterfaceClaim, namespace, 'web-0')
  running = await world.startNso()
  await gone(client, NetworkInterface, namespace, 'web-0')
  await eventually('no lease is left', async () => (await listed(client, AddressLease, namespace)).length === 0)
})

test('while NSO was away a claim was removed by force and made again: it gets an interface of its own', async () => {
  const { client } = world
  await startScripted()
  const namespace = await world.place()
  await create(client, aClaim(namespace, 'web-0'))
  await ready(namespace, 'web-0')
  const old = await find(client, NetworkInterface, namespace, 'web-0')
  await running?.stop()
  await strip(world, NetworkInterfaceClaim, namespace, 'web-0')
  await remove(client, NetworkInterfaceClaim, namespace, 'web-0')
  await create(client, aClaim(namespace, 'web-0'))
  running = await world.startNso()
  await eventually('another interface stands', async () => {
    const nic = await find(client, NetworkInterface, namespace, 'web-0')
    return nic && nic.metadata.uid !== old?.metadata.uid
  })
  await ready(namespace, 'web-0')
  await oneOfEach(namespace)
})

test('100 claims at once: all Ready, no conflict, no error', async () => {
  const { client } = world
  await startScripted()
  const namespace = await world.place()
  const names = Array.from({ length: 100 }, (_, at) => `web-${at}`)
  const writes = await world.writesDuring(async () => {
    await Promise.all(names.map((name) => create(client, aClaim(namespace, name))))
    await eventually(
      'all are Ready',
      async () => {
        const claims = await listed(client, NetworkInterfaceClaim, namespace)
        const done = claims.filter((one) =>
          one.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True'),
        )
        return done.length === names.length
      },
      { timeoutMs: 60_000, everyMs: 200 },
    )
  })
  assert.deepEqual(
    writes
      .filter(({ code, namespace: at }) => code >= 400 && at === namespace)
      .map((one) => `${one.verb} ${one.resource} ${one.code}`),
    [],
  )
  assert.equal(await reconcileErrors(), 0)
  assert.equal(await metric(/status_ownership_conflicts_total/), 0)
  await oneOfEach(namespace, 100)
})

test('B52: when the location has another name, what was made under the old one is found and goes', async () => {
  const { client } = world
  await startScripted()
  const namespace = await world.place({ families: ['IPv6', 'IPv4'] })
  await create(client, aClaim(namespace, 'web-0', { ipFamilies: ['IPv6', 'IPv4'] }))
  await ready(namespace, 'web-0')
  await running?.stop()
  running = await world.startNso({ settings: { location: 'elsewhere' } })
  await remove(client, NetworkInterfaceClaim, namespace, 'web-0')
  await gone(client, NetworkInterfaceClaim, namespace, 'web-0')
  await oneOfEach(namespace, 0)
  assert.equal(await reconcileErrors(), 0)
})

test('B31: claims that fail once and go are named in no metric, stay in no cache, and add no series without end', async () => {
  const { client } = world
  const script = await startScripted({}, silentLogger)
  const caches = running?.operator.caches
  assert.ok(caches)
  const namespace = await world.place()
  const held = () =>
    [caches.claims, caches.interfaces, caches.leases].map(
      (cache) => [...cache.values()].filter(({ metadata }) => metadata.namespace === namespace).length,
    )
  const names = Array.from({ length: 15 }, (_, at) => `fleeting-${at}`)
  /** Each batch fails once, becomes Ready and goes; answers the uids of its claims and the page of metrics after it. */
  const batch = async () => {
    script.on({ method: 'PATCH', path: claimStatus }, { times: names.length }).answer(answers.internalError())
    await Promise.all(names.map((name) => create(client, aClaim(namespace, name))))
    await Promise.all(names.map((name) => ready(namespace, name)))
    await eventually('the caches hold all', () => held().every((count) => count === names.length))
    const uids = (await listed(client, NetworkInterfaceClaim, namespace)).map(({ metadata }) => metadata.uid ?? '')
    await Promise.all(names.map((name) => remove(client, NetworkInterfaceClaim, namespace, name)))
    await Promise.all(names.map((name) => gone(client, NetworkInterfaceClaim, namespace, name)))
    await eventually('the caches hold none', () => held().every((count) => count === 0))
    return { uids, page: (await running?.operator.manager.metrics.page()) ?? '' }
  }
  const batches = [await batch(), await batch()]
  // What no batch had met before (a verb, an answer) may add its series once; what adds some each time grows without end.
  while (added(batches).length > 0 && batches.length < 6) batches.push(await batch())
  assert.deepEqual(added(batches), [], `still added by batch ${batches.length}`)
  assert.equal(await reconcileErrors(), batches.length * names.length)
  const words = [namespace, 'fleeting-', 'fd20:', ...batches.flatMap(({ uids }) => uids)]
  assert.deepEqual(
    words.filter((word) => batches.some(({ page }) => page.includes(word))),
    [],
  )
})

/** Series that the last of these has and the one before has not. */
function added(batches: readonly { page: string }[]): string[] {
  const [before, last] = batches.slice(-2).map(({ page }) => seriesOf(page))
  return [...(last ?? [])].filter((series) => !before?.has(series))
}

/** The series of a page: its lines without values and comments. Node's own name each kind of garbage collection, once it ran. */
function seriesOf(page: string): Set<string> {
  const lines = page.split('\n').filter((line) => line !== '' && !/^(#|nodejs_)/.test(line))
  return new Set(lines.map((line) => line.slice(0, line.lastIndexOf(' '))))
}
