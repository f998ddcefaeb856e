import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Cache, type CacheState, createClient, type Kind, type Transport } from 'kube-control-loop'
import { createManualClock } from 'kube-control-loop/testing'
import { readableCheck } from './readable.ts'

const kind: Kind = { group: 'example.dev', version: 'v1', kind: 'Widget', plural: 'widgets', scope: 'Namespaced' }
const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
const signal = new AbortController().signal

/** A server that allows these verbs, asked by a check on a cache in this state. */
function asking(state: CacheState, allowed: readonly string[]) {
  const clock = createManualClock()
  let asked = 0
  const wire: Transport = {
    async send({ path: to, body }) {
      assert.equal(to, path)
      asked += 1
      const { verb } = (body as { spec: { resourceAttributes: { verb: string } } }).spec.resourceAttributes
      return { status: 201, headers: {}, body: { kind: 'SelfSubjectAccessReview', status: { allowed: allowed.includes(verb) } } }
    },
    stream: () => assert.fail('nothing is watched'),
    close: async () => {},
  }
  const client = createClient(wire, { clock, jitter: () => 0.5 })
  const cache = { kind, state } as Cache
  return { check: readableCheck(cache, { client, clock }), clock, asked: () => asked }
}

const both = ['list', 'watch']
const table: { says: string; state: CacheState; allowed: string[]; want: object }[] = [
  { says: 'a cache that follows needs no question', state: 'synced', allowed: [], want: { is: 'yes' } },
  { says: 'nor does a kind that is not served', state: 'unserved', allowed: [], want: { is: 'yes' } },
  { says: 'one that starts is waited for', state: 'starting', allowed: both, want: { is: 'soon' } },
  { says: 'one that lost its watch tells what it knew', state: 'stale', allowed: both, want: { is: 'yes' } },
  {
    says: 'one that may not list is told with the verb',
    state: 'starting',
    allowed: ['watch'],
    want: { is: 'forbidden', message: 'not allowed to list widgets.example.dev' },
  },
  {
    says: 'so is one that lost its watch by losing the right to it',
    state: 'stale',
    allowed: ['list'],
    want: { is: 'forbidden', message: 'not allowed to watch widgets.example.dev' },
  },
]

for (const { says, state, allowed, want } of table)
  test(says, async () => assert.deepEqual(await asking(state, allowed).check(signal), want))

test('many passes ask once, and again when the answer is old', async () => {
  const { check, clock, asked } = asking('starting', both)
  await Promise.all(Array.from({ length: 200 }, () => check(signal)))
  assert.equal(asked(), 2)
  await clock.advance(1_999)
  await check(signal)
  assert.equal(asked(), 2)
  await clock.advance(2)
  await check(signal)
  assert.equal(asked(), 4)
})
