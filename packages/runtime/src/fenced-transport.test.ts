import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { describe, test } from 'node:test'
import { fenceWrites, isWrite, LeadershipLost } from './fenced-transport.ts'
import { answers } from './scripted-answers.ts'
import { scriptTransport } from './scripted-transport.ts'
import type { ApiRequest } from './transport.ts'

const path = '/apis/example.dev/v1/widgets'
const never = new AbortController().signal

const table: { says: string; request: ApiRequest; writes: boolean }[] = [
  { says: 'a read', request: { method: 'GET', path }, writes: false },
  { says: 'a create', request: { method: 'POST', path }, writes: true },
  { says: 'a replacement', request: { method: 'PUT', path }, writes: true },
  { says: 'a patch', request: { method: 'PATCH', path: `${path}/a` }, writes: true },
  { says: 'a delete', request: { method: 'DELETE', path: `${path}/a` }, writes: true },
  { says: 'a dry run', request: { method: 'POST', path, query: { dryRun: 'All' } }, writes: false },
  {
    says: 'a create whose query says nothing of a dry run',
    request: { method: 'POST', path, query: { dryRun: undefined } },
    writes: true,
  },
  {
    says: 'an access review',
    request: { method: 'POST', path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews' },
    writes: false,
  },
]

describe('a process that does not lead', () => {
  for (const { says, request, writes } of table) {
    test(`${says} ${writes ? 'does not leave it' : 'leaves it'}`, async () => {
      const wire = scriptTransport()
      wire.on({}).answer(answers.ok({}))
      const fenced = fenceWrites(wire, { mayWrite: () => false })
      assert.equal(isWrite(request), writes)
      if (writes) await assert.rejects(fenced.send(request, never), LeadershipLost)
      else assert.equal((await fenced.send(request, never)).status, 200)
      assert.equal(wire.requests.length, writes ? 0 : 1)
    })
  }

  test('is told so by an error of its own kind', () => {
    const { name, code } = new LeadershipLost()
    assert.deepEqual([name, code], ['LeadershipLost', 'LEADERSHIP_LOST'])
  })

  test('closes what is beneath', async () => {
    let isClosed = false
    const close = async () => {
      isClosed = true
    }
    const inner = { ...scriptTransport(), close }
    await fenceWrites(inner, { mayWrite: () => false }).close()
    assert.equal(isClosed, true)
  })

  test('watches go on', async () => {
    const wire = scriptTransport()
    wire.on({}).stream(['{}'])
    const { opened } = await fenceWrites(wire, { mayWrite: () => false }).stream({ method: 'GET', path }, never)
    assert.equal(opened.status, 200)
  })
})

describe('a process that leads', () => {
  const create: ApiRequest = { method: 'POST', path }

  test('writes, until it no longer does', async () => {
    const wire = scriptTransport()
    wire.on({}, { times: 2 }).answer(answers.ok({}))
    let leads = true
    const fenced = fenceWrites(wire, { mayWrite: () => leads })
    await fenced.send(create, never)
    leads = false
    await assert.rejects(fenced.send(create, never), LeadershipLost)
    assert.equal(wire.requests.length, 1)
  })

  test('the end of the term takes back what still waits, and leaves nothing on the signals', async () => {
    const wire = scriptTransport()
    const term = new AbortController()
    const life = new AbortController()
    const held = wire.on({ method: 'POST' }).hold()
    const fenced = fenceWrites(wire, { mayWrite: () => true, term: () => term.signal })
    const write = assert.rejects(fenced.send(create, life.signal), LeadershipLost)
    await held.arrived()
    term.abort(new Error('term over'))
    await write
    assert.equal(getEventListeners(life.signal, 'abort').length, 0)
    assert.equal(wire.requests[0]?.response, undefined)
  })

  test('a connection that breaks during the term is that, and no lost lease', async () => {
    const wire = scriptTransport()
    wire.on({ method: 'POST' }).dropBefore()
    const fenced = fenceWrites(wire, { mayWrite: () => true, term: () => new AbortController().signal })
    await assert.rejects(fenced.send(create, never), { code: 'CONNECTION_BROKEN' })
  })

  test('a caller who gives up hears the own reason, and an answer comes through', async () => {
    const wire = scriptTransport()
    const term = new AbortController()
    const life = new AbortController()
    wire.on({ method: 'POST' }).answer(answers.ok({ made: 1 }))
    const held = wire.on({ method: 'POST' }).hold()
    const fenced = fenceWrites(wire, { mayWrite: () => true, term: () => term.signal })
    const reason = new Error('mine')
    const write = assert.rejects(fenced.send(create, life.signal), (error) => error === reason)
    await held.arrived()
    life.abort(reason)
    await write
    assert.deepEqual((await fenced.send(create, never)).body, { made: 1 })
    assert.equal(getEventListeners(term.signal, 'abort').length, 0)
  })
})
