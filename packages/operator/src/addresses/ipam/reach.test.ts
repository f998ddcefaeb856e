import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ApiRequest, type ApiResponse, ConnectionBroken, type Transport } from 'kube-control-loop'
import { createManualClock } from 'kube-control-loop/testing'
import { createReach } from './reach.ts'

const request: ApiRequest = { method: 'POST', path: '/apis/ipam.miloapis.com/v1alpha1/namespaces/a/ipclaims' }
const ok: ApiResponse = { status: 200, headers: {}, body: {} }

function bed(answer: (asked: ApiRequest, signal: AbortSignal) => Promise<ApiResponse>) {
  const asked: ApiRequest[] = []
  const inner: Transport = {
    send(each, signal) {
      asked.push(each)
      return answer(each, signal)
    },
    stream: () => Promise.reject(new Error('no streams here')),
    close: async () => {},
  }
  const clock = createManualClock()
  const reach = createReach(inner, { clock, jitter: () => 1 })
  const stop = new AbortController()
  const backs: number[] = []
  reach.onBack(() => backs.push(asked.length))
  const running = reach.run(stop.signal)
  const end = () => {
    stop.abort(new Error('over'))
    return running
  }
  const send = (signal = stop.signal) => reach.transport.send(request, signal)
  return { reach, clock, asked, send, backs, end }
}

const broken = () => Promise.reject(new ConnectionBroken(request, new Error('refused')))

test('one broken call is no outage; two in a row are, and then nothing more is sent', async () => {
  const { reach, asked, send, end } = bed(broken)
  await assert.rejects(send(), ConnectionBroken)
  assert.equal(reach.isAway, false)
  await assert.rejects(send(), ConnectionBroken)
  assert.equal(reach.isAway, true)
  await assert.rejects(send(), /away/)
  assert.equal(asked.length, 2)
  await end()
})

test('an answer between two failures is a sign of life; one of a proxy that cannot reach the service is none', async () => {
  const answers = [502, 200, 502, 503]
  const { reach, send, end } = bed(async () => ({ ...ok, status: answers.shift() ?? 200 }))
  for (const _ of [1, 2, 3]) await send()
  assert.equal(reach.isAway, false)
  await send()
  assert.equal(reach.isAway, true)
  await end()
})

test('it is asked from time to time, and who waits is told once when it answers', async () => {
  let isUp = false
  const { reach, clock, asked, send, backs, end } = bed(() => (isUp ? Promise.resolve(ok) : broken()))
  await Promise.allSettled([send(), send()])
  await clock.advance(200)
  await clock.advance(400)
  assert.equal(reach.isAway, true)
  assert.deepEqual(backs, [])
  isUp = true
  await clock.advance(3_000)
  assert.equal(reach.isAway, false)
  assert.equal(backs.length, 1)
  assert.deepEqual(
    new Set(asked.slice(2).map(({ method, path }) => `${method} ${path}`)),
    new Set(['GET /apis/ipam.miloapis.com/v1alpha1']),
  )
  assert.equal(await send(), ok)
  await end()
})

test('a call without an answer is cut off', async () => {
  const never = (_: ApiRequest, signal: AbortSignal) =>
    new Promise<ApiResponse>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  const { clock, send, end } = bed(never)
  const pending = assert.rejects(send(), /no answer within/)
  await clock.advance(15_000)
  await pending
  await end()
})

test('a pass that ends is no failure of the service, and says why it ended', async () => {
  const { reach, send, end } = bed(
    (_, signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  )
  const pass = new AbortController()
  const pending = [send(pass.signal), send(pass.signal), send(pass.signal)].map((each) => assert.rejects(each, /lost the lease/))
  pass.abort(new Error('lost the lease'))
  await Promise.all(pending)
  assert.equal(reach.isAway, false)
  await end()
})

test('credentials that cannot be had count as a service that cannot be reached', async () => {
  const { reach, send, end } = bed(() => Promise.reject(new Error('no such file')))
  await assert.rejects(send(), ConnectionBroken)
  await assert.rejects(send(), ConnectionBroken)
  assert.equal(reach.isAway, true)
  await end()
})
