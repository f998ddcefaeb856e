import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import { createCache, createClient, silentLogger } from 'kube-control-loop'
import { createManualClock, scriptTransport, statusAnswer, turns } from 'kube-control-loop/testing'
import { createDefinitions, type DefinitionState, pruned } from './definitions.ts'

type Definition = Parameters<typeof pruned>[0]

type Given = { established?: boolean; served?: boolean; version?: string; kind?: string; group?: string }

const definition = (given: Given = {}): Definition => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `wires.${given.group ?? 'planes.example.dev'}`, uid: 'd-1', resourceVersion: '5', labels: { big: 'x' } },
  spec: {
    group: given.group ?? 'planes.example.dev',
    scope: 'Namespaced',
    names: { kind: given.kind ?? 'Wire', plural: 'wires' },
    versions: [{ name: given.version ?? 'v1', served: given.served ?? true }],
  },
  status: { conditions: [{ type: 'Established', status: given.established === false ? 'False' : 'True' }] },
})

const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

const line = (type: 'ADDED' | 'MODIFIED' | 'DELETED', object: Definition) => JSON.stringify({ type, object })
const initial = JSON.stringify({
  type: 'BOOKMARK',
  object: { metadata: { resourceVersion: '7', annotations: { 'k8s.io/initial-events-end': 'true' } } },
})

const ends: AbortController[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end.abort(new Error('the test ends'))
})

/** Definitions on a scripted server, not yet followed. */
function start() {
  const clock = createManualClock()
  const wire = scriptTransport(undefined, { clock })
  const parts = { clock, jitter: () => 1, log: silentLogger }
  const client = createClient(wire, { ...parts, retryForMs: 0 })
  const definitions = createDefinitions({
    createCache: (kind, options = {}, reflector = {}) => createCache(client, kind, options, { ...parts, reflector }),
  })
  let heard = 0
  definitions.subscribe(ref, () => {
    heard += 1
  })
  return {
    clock,
    wire,
    definitions,
    heard: () => heard,
    async run() {
      const end = new AbortController()
      ends.push(end)
      definitions.run(end.signal).catch(() => {})
      await turns(12)
    },
  }
}

const ref = { apiVersion: 'planes.example.dev/v1', kind: 'Wire' }

describe('definitions say of a kind', () => {
  const table: { says: string; held: Definition[]; want: DefinitionState }[] = [
    { says: 'that its group has none', held: [], want: 'no-group' },
    { says: 'that it is established', held: [definition()], want: 'established' },
    { says: 'that it is not established yet', held: [definition({ established: false })], want: 'missing' },
    { says: 'that it has no status yet', held: [{ ...definition(), status: {} }], want: 'missing' },
    { says: 'that its version is not served', held: [definition({ served: false })], want: 'missing' },
    { says: 'that it has other versions', held: [definition({ version: 'v2' })], want: 'missing' },
    { says: 'that only others of its group are there', held: [definition({ kind: 'Rope' })], want: 'missing' },
  ]
  for (const { says, held, want } of table) {
    test(says, async () => {
      const { wire, definitions, run } = start()
      assert.equal(definitions.stateOf(ref), 'unknown')
      wire.on({ path }).stream([...held.map((one) => line('ADDED', one)), initial], 'stays')
      await run()
      assert.equal(definitions.stateOf(ref), want)
    })
  }

  test('nothing while they may not be read; once they may, a poke finds out', async () => {
    const { clock, wire, definitions, heard, run } = start()
    const refused = wire.on({ path }, { times: 100 }).answer(statusAnswer(403, 'Forbidden', 'may not'))
    await run()
    await clock.advance(600_000)
    assert.ok(refused.count < 30, `asked ${refused.count} times in ten minutes`)
    assert.equal(definitions.stateOf(ref), 'unknown')
    refused.remove()
    wire.on({ path }).stream([line('ADDED', definition()), initial], 'stays')
    const before = heard()
    definitions.poke()
    await turns(12)
    assert.equal(definitions.stateOf(ref), 'established')
    assert.ok(heard() > before)
  })

  test('when something about serving it moves, and only then', async () => {
    const { wire, heard, run } = start()
    const described = { ...definition(), metadata: { ...definition().metadata, resourceVersion: '8', labels: { a: 'b' } } }
    const other = definition({ kind: 'Wire', group: 'other.example.dev' })
    wire.on({ path }).stream([line('ADDED', definition()), initial, line('MODIFIED', described), line('ADDED', other)], 'stays')
    await run()
    const quiet = heard()
    wire.reset()
    assert.equal(quiet, 2, 'the definition, and that they are followed')
    const later = (resourceVersion: string) => {
      const one = definition({ served: false })
      return { ...one, metadata: { ...one.metadata, resourceVersion } }
    }
    const [unserved, removed] = [later('8'), later('9')]
    const again = start()
    again.wire
      .on({ path })
      .stream([line('ADDED', definition()), initial, line('MODIFIED', unserved), line('DELETED', removed)], 'stays')
    await again.run()
    assert.equal(again.heard(), 4)
  })
})

test('definitions say whether objects of a kind may stand, and whether a kind is still as it was found', async () => {
  const kind = { group: 'planes.example.dev', kind: 'Wire', plural: 'wires' }
  const wide = { ...definition(), spec: { ...definition().spec, scope: 'Cluster' } }
  const renamed = { ...definition(), spec: { ...definition().spec, names: { kind: 'Wire', plural: 'wirelines' } } }
  const table: [says: string, held: Definition[], stands: boolean, fits: boolean][] = [
    ['it stands', [definition()], true, true],
    ['it stands in no version that is served', [definition({ served: false })], true, true],
    ['it has no definition, like those of aggregated servers', [], false, true],
    ['only others of its group have one', [definition({ kind: 'Rope' })], false, true],
    ['it was made anew for whole clusters', [wide], true, false],
    ['it was made anew under another plural', [renamed], true, false],
  ]
  for (const [says, held, stands, fits] of table) {
    const { wire, definitions, run } = start()
    assert.equal(definitions.stands(ref), undefined, 'nothing is known before they are followed')
    assert.equal(definitions.fits({ ...kind, plural: 'whatever' }), true)
    wire.on({ path }).stream([...held.map((one) => line('ADDED', one)), initial], 'stays')
    await run()
    assert.deepEqual([definitions.stands(ref), definitions.fits(kind)], [stands, fits], says)
  }
})

test('a schema that changes is told of to those who ask for that, and not as a change of serving', async () => {
  const { wire, definitions, heard, run } = start()
  let changes = 0
  const stop = definitions.onDefinition(ref, () => {
    changes += 1
  })
  const at = (generation: number, resourceVersion: string) => {
    const one = definition()
    return { ...one, metadata: { ...one.metadata, generation, resourceVersion } }
  }
  const lines = [line('ADDED', at(1, '5')), initial, line('MODIFIED', at(1, '8')), line('MODIFIED', at(2, '9'))]
  wire.on({ path }).stream(lines, 'stays')
  await run()
  assert.equal(heard(), 2, 'the definition, and that they are followed')
  assert.equal(changes, 3)
  stop()
})

test('of a definition only what serving depends on is kept', () => {
  const full = definition()
  const spec = { ...full.spec, conversion: { strategy: 'None' }, versions: [{ name: 'v1', served: true, schema: { big: 1 } }] }
  const { labels: _, ...metadata } = full.metadata
  assert.deepEqual(pruned({ ...full, spec }), { ...full, metadata })
})
