/** A documented writer and its loop against writers that keep to no table, on the real API server without policies. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import {
  ApiError,
  type Controller,
  createCache,
  createClient,
  createLoop,
  createMetrics,
  createStatusWriter,
  createWriteRegistry,
  createWriter,
  type Key,
  keyOf,
  pathOf,
  settled,
  silentLogger,
  systemClock,
  type Watch,
  watch,
} from 'kube-control-loop'
import { scriptTransport } from 'kube-control-loop/testing'
import { eventually } from 'kube-localplane/testing'
import { alice, Gadget, type GadgetStatus, openBench } from './gadget.ts'

const bench = await openBench('fights')
test.after(() => bench[Symbol.asyncDispose]())
const signal = AbortSignal.timeout(240_000)
/** Of whoever is not the documented writer; its requests are not recorded. */
const client = createClient(bench.transport, { clock: systemClock, jitter: Math.random })

const ready = (status: 'True' | 'False') => ({ type: 'Ready', status, reason: 'Told', message: 'so' }) as const
const sound = { type: 'Sound', status: 'True', reason: 'Told', message: 'so' } as const
const theirTime = { lastTransitionTime: '2001-01-01T00:00:00Z' }

type Told = { note: string; round: number }

/** The documented writer of one object, alive: cache, loop and status writer, with a wire of its own that is recorded. */
async function openArena(name: string) {
  const wire = scriptTransport(bench.transport, { clock: systemClock })
  const own = createClient(wire, { clock: systemClock, jitter: Math.random })
  const metrics = createMetrics({ prefix: 'arena_', process: false })
  const rounds = async () => sumOf(await metrics.page(), 'arena_status_ownership_rounds_total')
  let counted = 0
  const told: Told[] = []
  const parts = { clock: systemClock, jitter: Math.random, log: silentLogger }
  const cache = createCache(own, Gadget, { namespace: bench.namespace, fieldSelector: `metadata.name=${name}` }, parts)
  const environment = {
    ...{ client: own, cache, kind: Gadget, controller: 'arena', registry: createWriteRegistry() },
    metrics: {
      ...metrics,
      ownershipRound(labels: { resource: string }) {
        counted += 1
        metrics.ownershipRound(labels)
      },
    },
  }
  const status = createStatusWriter({
    ...environment,
    ...{ owner: alice, clock: systemClock },
    recordEvent: (_, { note }) => told.push({ note, round: counted }),
  })
  const child = createWriter({ ...environment, manager: 'alice-objects' })
  const wanted: { phase?: string; owner: string; ref?: GadgetStatus['ref'] | undefined } = { phase: 'Bound', owner: 'first' }
  let wake = () => {}
  let passes = 0
  const poked: Watch = {
    subscribe(enqueue) {
      wake = () => enqueue(keyOf(object))
      return () => {}
    },
  }
  const controller: Controller = {
    name: 'arena',
    watches: [watch(cache, ({ key }) => [key]), poked],
    needs: [{ cache }],
    async reconcile(pass) {
      const found = cache.get(pass.key)
      if (!found) return settled
      const owned =
        found.spec.owner === wanted.owner
          ? found
          : await child.patch(found, [{ op: 'add', path: '/spec/owner', value: wanted.owner }], pass.signal)
      await status.status(
        owned,
        {
          ...(wanted.phase ? { phase: wanted.phase } : {}),
          ...(wanted.ref ? { ref: wanted.ref } : {}),
          conditions: [ready('True'), sound],
        },
        pass.signal,
      )
      passes += 1
      return settled
    },
    forget: (key: Key) => status.forget(key),
  }
  const object = await bench.create(name)
  const stop = new AbortController()
  const loop = createLoop(controller, { ...parts, metrics })
  const running = [cache.run(stop.signal).catch(() => {}), loop.run(stop.signal, stop.signal)]
  const arena = {
    wire,
    metrics,
    told,
    rounds,
    cache,
    /** What the documented writer sent. */
    sent: () => wire.requests.filter(({ request }) => request.method !== 'GET').length,
    async isRight() {
      const { status: stands } = await bench.read(name)
      const conditions = stands?.conditions?.map((each) => `${each.type} ${each.status}`).sort()
      return stands?.phase === (wanted.phase || undefined) && conditions?.join() === 'Ready True,Sound True'
    },
    want(change: Partial<typeof wanted>) {
      Object.assign(wanted, change)
      wake()
    },
    /** The server has told of everything so far, a pass saw it, and nothing was sent. */
    async isAtRest() {
      const [sent, before] = [arena.sent(), passes]
      await client.jsonPatch(
        Gadget,
        object.metadata,
        [{ op: 'add', path: '/metadata/labels', value: { marker: String(before) } }],
        { fieldManager: 'marker' },
        signal,
      )
      await eventually('a pass after the marker', () => passes > before && !loop.queue.pending(keyOf(object)))
      return arena.sent() === sent
    },
    async [Symbol.asyncDispose]() {
      stop.abort(new Error('the test is over'))
      await Promise.all(running)
      loop.close()
    },
  }
  await eventually('the documented writer has written', arena.isRight)
  return arena
}

function sumOf(page: string, name: string): number {
  const lines = page.split('\n').filter((line) => line.startsWith(`${name}{`))
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

/** `manager path` of each conflict that was counted, with its count. */
async function conflictsOf({ metrics }: { metrics: ReturnType<typeof createMetrics> }): Promise<Record<string, number>> {
  const found = [...(await metrics.page()).matchAll(/^arena_status_ownership_conflicts_total\{(.*)\} (\d+)$/gm)]
  const label = (labels: string, name: string) => new RegExp(`${name}="([^"]*)"`).exec(labels)?.[1]
  return Object.fromEntries(
    found.map(([, labels = '', count]) => [`${label(labels, 'manager')} ${label(labels, 'field')}`, Number(count)]),
  )
}

const at = (name: string) => ({ name, namespace: bench.namespace, subresource: 'status' })

function rogueApply(name: string, status: GadgetStatus, manager: string) {
  const body = { apiVersion: 'writers.example.dev/v1', kind: 'Gadget', metadata: { name }, status }
  return client.apply(Gadget, at(name), body, { fieldManager: manager, force: true }, signal)
}

/** Reads and puts a whole status, as software of the old kind does; tries again when something came between. */
async function roguePut(name: string, change: (status: GadgetStatus) => GadgetStatus): Promise<void> {
  for (;;) {
    const standing = await bench.read(name)
    const body = { ...standing, status: change(standing.status ?? {}) }
    const request = { method: 'PUT', path: pathOf(Gadget, at(name)), query: { fieldManager: 'old-software' }, body } as const
    try {
      await client.raw(request, signal)
      return
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 409) throw error
    }
  }
}

/** Ten writes a second. */
async function rage(times: number, write: (n: number) => Promise<unknown>, isOver = () => false): Promise<number> {
  const begun = systemClock.monotonic()
  for (let n = 0; n < times && !isOver(); n += 1) {
    await write(n)
    await systemClock.sleep(Math.max(0, begun + (n + 1) * 100 - systemClock.monotonic()), signal)
  }
  return systemClock.monotonic() - begun
}

async function managersOf(name: string): Promise<string[]> {
  const entries = (await bench.read(name)).metadata.managedFields ?? []
  return entries
    .filter(({ subresource }) => subresource === 'status')
    .map(({ manager = '', operation }) => `${manager} ${operation}`)
}

const flipped = (n: number) => ({ ...ready('False'), message: `no ${n}`, ...theirTime })
const withReady = (n: number) => (status: GadgetStatus) => ({
  ...status,
  conditions: (status.conditions ?? []).map((each) => (each.type === 'Ready' ? flipped(n) : each)),
})
const withoutReady = (status: GadgetStatus) => ({
  ...status,
  conditions: (status.conditions ?? []).filter(({ type }) => type !== 'Ready'),
})

const rogues: { says: string; name: string; write: (n: number) => Promise<unknown>; named: string }[] = [
  {
    says: 'flips a condition by forced apply',
    name: 'by-apply',
    write: (n) => rogueApply('by-apply', { conditions: [flipped(n)] }, 'rogue'),
    named: 'rogue conditions/Ready',
  },
  {
    says: 'flips a condition by putting the whole object',
    name: 'by-put',
    write: (n) => roguePut('by-put', withReady(n)),
    named: 'old-software conditions/Ready',
  },
  {
    says: 'drops a condition, which leaves no trace and raises no conflict',
    name: 'by-drop',
    write: () => roguePut('by-drop', withoutReady),
    named: 'unknown conditions/Ready',
  },
  {
    says: 'applies the value that stands, and so comes to own it too',
    name: 'by-equal',
    write: () => rogueApply('by-equal', { phase: 'Bound' }, 'copycat'),
    named: 'copycat phase',
  },
  {
    says: 'takes a name under which the server itself keeps what others held',
    name: 'by-gatherer',
    write: (n) => rogueApply('by-gatherer', { conditions: [flipped(n)] }, 'before-first-apply'),
    named: 'unknown conditions/Ready',
  },
  {
    says: 'borrows the name of the documented manager',
    name: 'by-name',
    write: (n) => rogueApply('by-name', { conditions: [flipped(n)] }, 'alice'),
    named: 'unknown conditions/Ready',
  },
]

/** Rounds that so long a fight may have: three at once, four while the delay grows, one each 600 ms, and the last. */
const mostRounds = (ms: number) => 3 + 4 + Math.ceil(ms / 600) + 1

describe('a rogue that writes ten times a second', { concurrency: true }, () => {
  for (const { says, name, write, named } of rogues) {
    test(`B53: ${says}`, async (t: TestContext) => {
      await using arena = await openArena(name)
      const before = arena.sent()
      const flips = 40
      const tookMs = await rage(flips, write)
      const stoppedAt = systemClock.monotonic()
      await eventually('the status is right', arena.isRight)
      const rightAfterMs = systemClock.monotonic() - stoppedAt
      await eventually('and the documented writer alone owns it', async () => {
        return (await arena.isRight()) && (await managersOf(name)).join() === 'alice Apply'
      })
      const aloneAfterMs = systemClock.monotonic() - stoppedAt
      const rounds = await arena.rounds()
      const sent = arena.sent() - before
      t.diagnostic(
        `${flips} flips in ${Math.round(tookMs)} ms: ${rounds} rounds, ${sent} requests; right after ${Math.round(rightAfterMs)} ms`,
      )
      assert.equal((await conflictsOf(arena))[named], 1, JSON.stringify(await conflictsOf(arena)))
      const [manager, path] = named.split(' ')
      const tellings = arena.told.filter(
        ({ note }) => note.includes(`${path} belongs to alice; "${manager}" wrote there`) || note.includes(`${path},`),
      )
      assert.equal(tellings.length, 1, JSON.stringify(arena.told))
      assert.ok((tellings[0]?.round ?? 99) <= 3, 'named within three rounds')
      assert.ok(rounds >= 3 && rounds <= mostRounds(tookMs + aloneAfterMs), `${rounds} rounds in ${tookMs} ms`)
      assert.ok(sent <= 4 * rounds, `${sent} requests in ${rounds} rounds`)
      assert.ok(await arena.isAtRest(), 'nothing is written once it is quiet')
    })
  }

  test('delays neither other writes of the pass nor what the documented writer has to say anew', async () => {
    await using arena = await openArena('news')
    let over = false
    const flip = (n: number) => rogueApply('news', { conditions: [flipped(n)] }, 'rogue')
    const raging = rage(1_000, flip, () => over)
    await eventually('they fight', async () => (await arena.rounds()) > 6)
    arena.want({ phase: 'Released', owner: 'second' })
    await eventually('both are written in the midst of it', async () => {
      const { spec, status } = await bench.read('news')
      return spec.owner === 'second' && status?.phase === 'Released'
    })
    over = true
    await raging
    await eventually('the status is right', arena.isRight)
  })
})

describe('a co-owner', () => {
  test('B02: of an equal value is put out at rest, and the field can be removed afterwards', async () => {
    await using arena = await openArena('quiet')
    const sent = arena.sent()
    await rogueApply('quiet', { phase: 'Bound' }, 'copycat')
    await eventually('the documented writer is alone', async () => (await managersOf('quiet')).join() === 'alice Apply')
    assert.equal(arena.sent() - sent, 2, 'an apply that changes nothing, and the patch')
    assert.deepEqual(await conflictsOf(arena), { 'copycat phase': 1 })
    arena.want({ phase: '' })
    await eventually('the field is gone', async () => (await bench.read('quiet')).status?.phase === undefined)
    assert.ok(await arena.isAtRest())
  })

  test('who comes while a field is being dropped does not keep it', async () => {
    await using arena = await openArena('dropped')
    // Between the read and the apply: the documented writer does not know of it yet.
    arena.wire.on({ method: 'PATCH', contentType: 'application/apply-patch+yaml' }).answer(async (_, real) => {
      await rogueApply('dropped', { phase: 'Bound' }, 'copycat')
      return real()
    })
    arena.want({ phase: '' })
    await eventually('the field is gone', async () => (await bench.read('dropped')).status?.phase === undefined)
    assert.deepEqual(await managersOf('dropped'), ['alice Apply'])
    assert.deepEqual(await conflictsOf(arena), { 'copycat phase': 1 })
    assert.ok(await arena.isAtRest())
  })

  test('of a part of a field that is being dropped does not make the rest invalid', async () => {
    await using arena = await openArena('part')
    arena.want({ ref: { name: 'one', hint: 'ours' } })
    await eventually('the field stands', async () => (await bench.read('part')).status?.ref !== undefined)
    // Without its required name the rest would be refused, for ever.
    arena.wire.on({ method: 'PATCH', contentType: 'application/apply-patch+yaml' }).answer(async (_, real) => {
      await roguePut('part', (status) => ({ ...status, ref: { name: 'one', hint: 'theirs' } }))
      return real()
    })
    arena.want({ ref: undefined })
    await eventually('the field is gone', async () => (await bench.read('part')).status?.ref === undefined)
    assert.deepEqual(await managersOf('part'), ['alice Apply'])
    assert.deepEqual(await conflictsOf(arena), { 'old-software ref': 1 })
    assert.ok(await arena.isAtRest())
  })
})
