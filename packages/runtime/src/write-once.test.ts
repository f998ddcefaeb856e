import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ApiError } from './api-error.ts'
import { createClient } from './http-client.ts'
import type { Kind, KubeObject } from './kind.ts'
import { createManualClock } from './manual-clock.ts'
import { answers } from './scripted-answers.ts'
import { scriptTransport } from './scripted-transport.ts'
import type { ApiResponse } from './transport.ts'
import type { WriteLabels } from './write-metrics.ts'
import { writeOnce } from './write-once.ts'
import { WriteRaced } from './write-signals.ts'

type Status = { id?: string }
type Widget = KubeObject<unknown, Status>

const widget: Kind<unknown, Status> = {
  group: 'example.dev',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  scope: 'Namespaced',
}
const at = { name: 'a', namespace: 'space' }
const path = '/apis/example.dev/v1/namespaces/space/widgets/a'
const unexpected = () => assert.fail('counted as something else')
const refused = answers.invalid(widget, at, 'status.id', 'is set once')

const widgetOf = (id: string, uid = 'u1'): Widget => ({
  apiVersion: 'example.dev/v1',
  kind: 'Widget',
  metadata: { ...at, uid, resourceVersion: '7' },
  spec: {},
  status: { id },
})

/** Writes `ours`, with what the server answers to that and to the read of the live object. */
function bed(toWrite: ApiResponse | Error | Widget, live?: ApiResponse) {
  const wire = scriptTransport()
  if (live) wire.on({ method: 'GET', path }).answer(live)
  const client = createClient(wire, { clock: createManualClock(), jitter: () => 0, retryForMs: 0 })
  const counted: WriteLabels[] = []
  const absorbed: Widget[] = []
  const outcome = 'headers' in toWrite ? new ApiError({ method: 'PATCH', path: `${path}/status` }, toWrite) : toWrite
  const end = writeOnce(() => ('spec' in outcome ? Promise.resolve(outcome) : Promise.reject(outcome)), {
    client,
    kind: widget,
    object: widgetOf('ours'),
    cache: { absorb: (object) => absorbed.push(object) },
    isOthers: ({ status }) => status?.id !== 'ours',
    controller: 'ctl',
    metrics: {
      raceRequeue: (labels) => counted.push(labels),
      gone: unexpected,
      ownershipConflict: unexpected,
      ownershipRound: unexpected,
    },
    signal: new AbortController().signal,
  })
  return { wire, counted, absorbed, error: outcome, end }
}

describe('a value that is written once', () => {
  test('is what the write answered', async () => {
    const { end, wire } = bed(widgetOf('ours'))
    assert.equal((await end).status?.id, 'ours')
    assert.equal(wire.requests.length, 0)
  })

  test('is the other leader’s where that was first: absorbed, counted, and the pass is a lost race', async () => {
    const { counted, absorbed, error, end } = bed(refused, answers.ok(widgetOf('theirs')))
    await assert.rejects(end, (signal) => {
      assert.ok(signal instanceof WriteRaced)
      assert.deepEqual([signal.why, signal.cause], ['stale', error])
      assert.deepEqual(signal.target, { controller: 'ctl', resource: 'widgets/status', verb: 'apply', key: 'space/a' })
      return true
    })
    assert.deepEqual(absorbed, [widgetOf('theirs')])
    assert.deepEqual(counted, [{ controller: 'ctl', resource: 'widgets/status', verb: 'apply', cause: 'stale' }])
  })

  const faults: { says: string; toWrite: ApiResponse | Error; live?: ApiResponse; reads: number }[] = [
    { says: 'a refusal although ours stands', toWrite: refused, live: answers.ok(widgetOf('ours')), reads: 1 },
    { says: 'a refusal of an object that is gone', toWrite: refused, live: answers.notFound(widget, at), reads: 1 },
    { says: 'a refusal, and a successor stands', toWrite: refused, live: answers.ok(widgetOf('theirs', 'u2')), reads: 1 },
    { says: 'any other answer', toWrite: answers.internalError(), reads: 0 },
    { says: 'no answer', toWrite: Object.assign(new Error('broken'), { status: 422 }), reads: 0 },
  ]
  for (const { says, toWrite, live, reads } of faults) {
    test(`${says}: a fault`, async () => {
      const { wire, counted, absorbed, error, end } = bed(toWrite, live)
      await assert.rejects(end, (thrown) => thrown === error)
      assert.deepEqual([wire.requests.length, counted, absorbed], [reads, [], []])
    })
  }
})
