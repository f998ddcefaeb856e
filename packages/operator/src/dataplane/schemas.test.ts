import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { createClient, silentLogger } from 'kube-control-loop'
import { answers, createManualClock, scriptTransport, statusAnswer, turns } from 'kube-control-loop/testing'
import { createSchemas } from './schemas.ts'

const ref = { apiVersion: 'wires.example.dev/v1', kind: 'Wire' }
const index = '/openapi/v3'
const path = '/openapi/v3/apis/wires.example.dev/v1'

const ends: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

/** The index comes as text, as the server serves it. */
const indexWith = (hash: string) =>
  answers.ok(JSON.stringify({ paths: { 'apis/wires.example.dev/v1': { serverRelativeURL: `${path}?hash=${hash}` } } }) as never)
const documentWith = (...names: string[]) => {
  const properties = { spec: { type: 'object', properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])) } }
  const kind = [{ group: 'wires.example.dev', version: 'v1', kind: 'Wire' }]
  return answers.ok({
    components: { schemas: { wire: { type: 'object', properties, 'x-kubernetes-group-version-kind': kind } } },
  })
}

/** A scripted server: 404 to whatever no rule has. */
function start() {
  const clock = createManualClock()
  const wire = scriptTransport(undefined, { clock })
  const client = createClient(wire, { clock, jitter: () => 1, retryForMs: 0 })
  const handlers = new Set<() => void>()
  const definitions = {
    stateOf: () => 'established' as const,
    onDefinition(_: unknown, handler: () => void) {
      handlers.add(handler)
      return () => handlers.delete(handler)
    },
  }
  const schemas = createSchemas({ client, definitions, clock, jitter: () => 1, log: silentLogger })
  const told: string[] = []
  const fields = () => Object.keys(schemas.of(ref)?.properties?.spec?.properties ?? {})
  schemas.onSchema(() => told.push(fields().join(' ')))
  const end = new AbortController()
  const running = schemas.run(end.signal)
  ends.push(async () => {
    end.abort(new Error('the test ends'))
    await running
    assert.equal(handlers.size, 0)
  })
  const known = () => schemas.known(ref, end.signal)
  return { clock, wire, schemas, told, fields, known, changes: () => [...handlers].forEach((handler) => void handler()) }
}

test('a schema is known with the first answer, and the document is read once for each content', async () => {
  const { clock, wire, known, fields, told } = start()
  const looked = wire.on({ path: index }, { times: 100 }).answer(indexWith('1'))
  const read = wire.on({ path }, { times: 100 }).answer(documentWith('mtu'))
  await known()
  assert.deepEqual(fields(), ['mtu'])
  await clock.advance(600_000)
  assert.equal(looked.count, 5, 'the document may trail the definition by some seconds, and not by more')
  assert.equal(read.count, 1)
  assert.deepEqual(told, ['mtu'])
})

test('a definition that changes is followed until its document has', async () => {
  const { clock, wire, known, fields, told, changes } = start()
  const first = wire.on({ path: index }, { times: 100 }).answer(indexWith('1'))
  const before = wire.on({ path }, { times: 100 }).answer(documentWith('mtu'))
  await known()
  await clock.advance(600_000)
  changes()
  await turns(12)
  assert.deepEqual(fields(), ['mtu'], 'still the old document')
  first.remove()
  before.remove()
  wire.on({ path: index }, { times: 100 }).answer(indexWith('2'))
  wire.on({ path }, { times: 100 }).answer(documentWith('mtu', 'colour'))
  await clock.advance(1_000)
  assert.deepEqual(fields(), ['mtu', 'colour'])
  assert.deepEqual(told, ['mtu', 'mtu colour'])
})

test('a kind that is not published any more has no schema', async () => {
  const { clock, wire, known, schemas, told, changes } = start()
  const first = wire.on({ path: index }, { times: 100 }).answer(indexWith('1'))
  wire.on({ path }, { times: 100 }).answer(documentWith('mtu'))
  await known()
  first.remove()
  wire.on({ path: index }, { times: 100 }).answer(answers.ok({ paths: {} }))
  changes()
  await clock.advance(1_000)
  assert.equal(schemas.of(ref), undefined)
  assert.deepEqual(told, ['mtu', ''])
})

test('a document without the kind is older than its definition, and is read again', async () => {
  const { clock, wire, known, fields } = start()
  wire.on({ path: index }, { times: 100 }).answer(indexWith('1'))
  const early = wire.on({ path }, { times: 1 }).answer(answers.ok({ components: { schemas: {} } }))
  wire.on({ path }, { times: 100, skip: 1 }).answer(documentWith('mtu'))
  await known()
  assert.deepEqual(fields(), [])
  await clock.advance(1_000)
  assert.equal(early.count, 1)
  assert.deepEqual(fields(), ['mtu'])
})

const refusals = {
  'an old server': answers.pageNotFound,
  'one that may not be asked': statusAnswer(403, 'Forbidden', 'may not'),
  'one that fails': statusAnswer(500, 'InternalError', 'broken'),
}
for (const [what, refusal] of Object.entries(refusals)) {
  test(`${what} leaves the schema unknown, holds nobody up, and is asked less and less`, async () => {
    const { clock, wire, known, schemas, told } = start()
    const asked = wire.on({ path: index }, { times: 1_000 }).answer(refusal)
    await known()
    await clock.advance(3_600_000)
    assert.equal(schemas.of(ref), undefined)
    assert.deepEqual(told, [])
    assert.ok(asked.count <= 25, `asked ${asked.count} times in an hour`)
  })
}

test('what was known stands while the server fails', async () => {
  const { clock, wire, known, fields, changes } = start()
  const first = wire.on({ path: index }, { times: 100 }).answer(indexWith('1'))
  wire.on({ path }, { times: 100 }).answer(documentWith('mtu'))
  await known()
  first.remove()
  wire.on({ path: index }, { times: 100 }).answer(statusAnswer(500, 'InternalError', 'broken'))
  changes()
  await clock.advance(10_000)
  assert.deepEqual(fields(), ['mtu'])
})

test('a server that does not answer holds a kind up for two seconds', async () => {
  const { clock, wire, known } = start()
  const held = wire.on({ path: index }, { times: 1 }).hold()
  let done = false
  const waiting = known().then(() => {
    done = true
  })
  await clock.advance(1_900)
  assert.equal(done, false)
  await clock.advance(200)
  await waiting
  held.release()
})
