import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ConnectionBroken } from './api-error.ts'
import { createManualClock } from './manual-clock.ts'
import { answers } from './scripted-answers.ts'
import { matches, scriptTransport } from './scripted-transport.ts'
import type { ApiRequest } from './transport.ts'

const get: ApiRequest = { method: 'GET', path: '/a/b', query: { watch: 'true' } }
const never = new AbortController().signal

/** A server beneath the script that counts what reaches it. */
function server() {
  const beneath = scriptTransport()
  beneath.on({}, { times: 99 }).answer(() => answers.ok({ n: beneath.requests.length }))
  return beneath
}

const table: { says: string; match: Parameters<typeof matches>[0]; want: boolean }[] = [
  { says: 'anything', match: {}, want: true },
  { says: 'the method', match: { method: 'GET' }, want: true },
  { says: 'another method', match: { method: 'POST' }, want: false },
  { says: 'the path', match: { path: '/a/b' }, want: true },
  { says: 'a part of the path', match: { path: '/a' }, want: false },
  { says: 'a pattern in the path', match: { path: /b$/ }, want: true },
  { says: 'a pattern that is not there', match: { path: /c/ }, want: false },
  { says: 'the query', match: { query: { watch: 'true' } }, want: true },
  { says: 'another query', match: { query: { watch: /false/ } }, want: false },
  { says: 'a query that is not there', match: { query: { limit: /./ } }, want: false },
  { says: 'a content type that is not there', match: { contentType: 'x' }, want: false },
  { says: 'a condition', match: { where: ({ path }) => path === 'x' }, want: false },
]

describe('a rule fits by', () => {
  for (const { says, match, want } of table) test(says, () => assert.equal(matches(match, get), want))
})

describe('what a rule does', () => {
  test('answers so many times, after so many, then lets through', async () => {
    const wire = scriptTransport(server())
    const rule = wire.on({ path: '/a/b' }, { times: 2, skip: 1 }).answer(answers.ok('scripted'))
    const bodies: unknown[] = []
    for (let n = 0; n < 4; n++) bodies.push((await wire.send(get, never)).body)
    assert.deepEqual(bodies, [{ n: 1 }, 'scripted', 'scripted', { n: 2 }])
    assert.equal(rule.count, 2)
    assert.deepEqual(
      wire.requests.map((each) => each.isReal),
      [true, false, false, true],
    )
  })

  test('asks the server and answers something else', async () => {
    const wire = scriptTransport(server())
    wire.on({}).answer(async (_, real) => ({ ...(await real()), status: 201 }))
    assert.deepEqual(await wire.send(get, never), { ...answers.ok({ n: 1 }), status: 201 })
  })

  test('drops before and after', async () => {
    const beneath = server()
    const wire = scriptTransport(beneath)
    wire.on({}).dropAfter()
    wire.on({}).dropBefore()
    await assert.rejects(wire.send(get, never), ConnectionBroken)
    assert.equal(beneath.requests.length, 0)
    await assert.rejects(wire.send(get, never), ConnectionBroken)
    assert.equal(beneath.requests.length, 1)
  })

  test('holds the request, or only its answer', async () => {
    const beneath = server()
    const wire = scriptTransport(beneath)
    for (const [rule, reached] of [
      [wire.on({ path: '/before' }).hold(), 0],
      [wire.on({ path: '/after' }).holdAnswer(), 1],
    ] as const) {
      const from = beneath.requests.length
      const answer = wire.send({ method: 'GET', path: reached ? '/after' : '/before' }, never)
      await rule.arrived()
      assert.equal(beneath.requests.length - from, reached)
      rule.release()
      assert.equal((await answer).status, 200)
      assert.equal(beneath.requests.length - from, 1)
    }
  })

  test('lets go what it holds when it is taken out, and when the script is reset', async () => {
    const wire = scriptTransport(server())
    const held = wire.on({}, { times: 2 }).hold()
    const first = wire.send(get, never)
    await held.arrived()
    held.remove()
    await first
    const again = wire.on({}).hold()
    const second = wire.send(get, never)
    await again.arrived()
    wire.reset()
    await second
  })

  test('a held request can be aborted', async () => {
    const wire = scriptTransport(server())
    const held = wire.on({}).hold()
    const stop = new AbortController()
    const answer = assert.rejects(wire.send(get, stop.signal), /stop/)
    await held.arrived()
    stop.abort(new Error('stop'))
    await answer
  })

  test('delays on its clock', async () => {
    const clock = createManualClock()
    const beneath = server()
    const wire = scriptTransport(beneath, { clock })
    wire.on({}).delay(1_000)
    const answer = wire.send(get, never)
    await clock.advance(999)
    assert.equal(beneath.requests.length, 0)
    await clock.advance(1)
    assert.equal((await answer).status, 200)
  })

  test('streams lines, and ends, breaks or stays', async () => {
    const wire = scriptTransport()
    const read = async (signal: AbortSignal) => {
      const lines: string[] = []
      for await (const line of (await wire.stream(get, signal)).lines) lines.push(line)
      return lines
    }
    wire.on({}).stream(['a', 'b'])
    assert.deepEqual(await read(never), ['a', 'b'])
    wire.on({}).stream(['a'], 'breaks')
    await assert.rejects(read(never), ConnectionBroken)
    wire.on({}).stream([], 'stays')
    const stop = new AbortController()
    const staying = assert.rejects(read(stop.signal), /stop/)
    stop.abort(new Error('stop'))
    await staying
  })

  test('what is not in the script of a wire without a server is said', async () => {
    await assert.rejects(scriptTransport().send(get, never), /not in the script: GET \/a\/b/)
    await assert.rejects(scriptTransport().stream(get, never), /not in the script: watch \/a\/b/)
  })
})
