import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createClient } from 'kube-control-loop'
import { createManualClock, scriptTransport } from 'kube-control-loop/testing'
import { createReviews } from './reviews.ts'

const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
const kind = { group: 'planes.example.dev', version: 'v1', kind: 'Wire', plural: 'wires', scope: 'Namespaced' } as const
const kinds = [{ kind, state: 'served' }] as const
const plane = { metadata: { name: 'toy', uid: 'p-1' } }
const signal = new AbortController().signal
/** Questions of one review: one for each verb. */
const verbs = 6

function start({ isFollowed, allowed = false }: { isFollowed: boolean; allowed?: boolean }) {
  const clock = createManualClock()
  const wire = scriptTransport(undefined, { clock })
  const server = { allowed }
  const body = () => ({ status: { allowed: server.allowed } })
  wire.on({ path }, { times: 10_000 }).answer(() => ({ status: 201, headers: {}, body: body() }))
  const client = createClient(wire, { clock, jitter: () => 1 })
  const reviews = createReviews({ client, clock, jitter: () => 1, role: { isFollowed } })
  const look = () => reviews.current(plane, kinds, signal)
  /** Passes as the loop makes them for so long: each when the last one asked for it. Answers how many reviews were made. */
  const passesFor = async (ms: number) => {
    const before = wire.sent({ path }).length
    const until = clock.monotonic() + ms
    for (;;) {
      const { inMs } = await look()
      if (inMs === undefined || clock.monotonic() + inMs > until) break
      await clock.advance(inMs)
    }
    return (wire.sent({ path }).length - before) / verbs
  }
  return { clock, server, reviews, look, passesFor }
}

describe('permissions of a plane', () => {
  test('are not reviewed by time when none is missing', async () => {
    const { look, passesFor } = start({ isFollowed: true, allowed: true })
    assert.equal(await passesFor(3_600_000), 1)
    const { reviewed, inMs } = await look()
    assert.deepEqual([reviewed, inMs], [{ is: 'done', missing: [] }, undefined])
  })

  test('that are missing are reviewed once a minute while the role is followed', async () => {
    const { passesFor } = start({ isFollowed: true })
    assert.equal(await passesFor(600_000), 11)
  })

  test('that are missing are reviewed with growing delays while the role cannot be followed', async () => {
    const { passesFor } = start({ isFollowed: false })
    // At once, then after 2, 4, 8, 16, 32 s, then each minute.
    assert.equal(await passesFor(182_000), 8)
  })

  test('are reviewed at once when the role changes, and again a second later, when the server’s own view has followed', async () => {
    const { clock, server, reviews, look, passesFor } = start({ isFollowed: true })
    await look()
    reviews.roleChanged('toy')
    const trailing = await look()
    assert.equal(trailing.inMs, 1_000)
    server.allowed = true
    await clock.advance(1_000)
    assert.deepEqual(await look(), { reviewed: { is: 'done', missing: [] } })
    assert.equal(await passesFor(3_600_000), 0)
  })

  test('that were there are found missing a second after the role changed', async () => {
    const { clock, server, reviews, look } = start({ isFollowed: true, allowed: true })
    await look()
    reviews.roleChanged('toy')
    assert.equal((await look()).inMs, 1_000)
    server.allowed = false
    await clock.advance(1_000)
    const { reviewed, inMs } = await look()
    assert.deepEqual([reviewed.is === 'done' && reviewed.missing[0]?.verbs.length, inMs], [verbs, 60_000])
  })
})
