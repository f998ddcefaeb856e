import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, createCache, createClient, type KubeObject, silentLogger, WriteRaced } from 'kube-control-loop'
import { answers, createManualClock, scriptTransport, statusAnswer } from 'kube-control-loop/testing'
import { IPClaim } from 'kube-ipam'
import { isSameToJudge, takenUpAt } from './ip-claim.ts'
import type { IpamParts } from './parts.ts'
import type { RaceCounts } from './raced.ts'
import { removeJudged } from './remove.ts'
import { takeUp } from './take-up.ts'

const path = '/apis/ipam.miloapis.com/v1alpha1/namespaces/there/ipclaims/web-f-ipv6'
const never = new AbortController().signal

const standing = (metadata: Partial<KubeObject['metadata']> = {}): IPClaim => ({
  apiVersion: 'ipam.miloapis.com/v1alpha1',
  kind: 'IPClaim',
  metadata: { name: 'web-f-ipv6', namespace: 'there', uid: 'u-1', resourceVersion: '5', ...metadata },
  spec: { ipFamily: 'IPv6' },
  status: { phase: 'Bound', allocatedCIDR: 'fd20::/96' },
})

function scripted() {
  const clock = createManualClock()
  const script = scriptTransport(undefined, { clock })
  const client = createClient(script, { clock, jitter: () => 0.5, retryForMs: 0 })
  const claims = createCache(client, IPClaim, {}, { clock, jitter: () => 0.5, log: silentLogger })
  const lost: string[] = []
  const counts: RaceCounts = { raceRequeue: ({ verb, resource, cause }) => lost.push(`${verb} ${resource} ${cause}`) }
  return { script, claims, lost, service: { client, claims, counts } as unknown as IpamParts['service'] }
}

const moved = statusAnswer(409, 'Conflict', 'Precondition failed: ResourceVersion in precondition: 5, in object meta: 9')
const absent = statusAnswer(404, 'NotFound', 'not found', { name: 'web-f-ipv6', group: 'ipam.miloapis.com', kind: 'ipclaims' })
const unserved = statusAnswer(404, 'NotFound', 'the server could not find the requested resource')
const success = answers.ok({ kind: 'Status', status: 'Success' })

type End = 'gone' | 'stands' | 'raced' | 'refused'
const ends: { says: string; deletions: (typeof success)[]; live?: IPClaim; want: End; versions: string[] }[] = [
  { says: 'as it was judged', deletions: [success], want: 'gone', versions: ['5'] },
  { says: 'gone already', deletions: [absent], want: 'gone', versions: ['5'] },
  {
    says: 'of a kind that is not served for a moment',
    deletions: [unserved, success],
    live: standing(),
    want: 'gone',
    versions: ['5', '5'],
  },
  {
    says: 'of which somebody noted something',
    deletions: [moved, success],
    live: standing({ resourceVersion: '9', annotations: { 'other/note': 'x' } }),
    want: 'gone',
    versions: ['5', '9'],
  },
  {
    says: 'that was taken up',
    deletions: [moved, success],
    live: standing({ resourceVersion: '9', annotations: { [takenUpAt]: '7' } }),
    want: 'raced',
    versions: ['5'],
  },
  {
    says: 'whose name another has',
    deletions: [moved],
    live: standing({ resourceVersion: '9', uid: 'u-2' }),
    want: 'gone',
    versions: ['5'],
  },
  {
    says: 'that is going',
    deletions: [moved],
    live: standing({ resourceVersion: '9', deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['x'] }),
    want: 'stands',
    versions: ['5'],
  },
  {
    says: 'that moves whenever it is looked at',
    deletions: Array.from({ length: 9 }, () => moved),
    live: standing({ resourceVersion: '9' }),
    want: 'raced',
    versions: ['5', '9', '9', '9'],
  },
  { says: 'that the service keeps', deletions: [statusAnswer(409, 'Conflict', 'occupied')], want: 'refused', versions: ['5'] },
]
for (const { says, deletions, live, want, versions } of ends) {
  test(`deletion of an IPClaim ${says}: ${want}`, async () => {
    const { script, service, lost } = scripted()
    // The rule that was made last comes first.
    for (const answer of deletions.toReversed()) script.on({ method: 'DELETE', path }).answer(answer)
    script.on({ method: 'GET', path }, { times: 99 }).answer(live ? answers.ok(live) : absent)
    const isAsJudged = (now: IPClaim) => isSameToJudge(now, standing())
    const end = await removeJudged(service, { kind: IPClaim, judged: standing(), isAsJudged }, never).then(
      (left) => (left ? 'stands' : 'gone'),
      (error: unknown) => (error instanceof WriteRaced ? 'raced' : error instanceof ApiError ? 'refused' : String(error)),
    )
    assert.equal(end, want)
    assert.deepEqual(lost, want === 'raced' ? ['delete ipclaims stale'] : [], 'a lost race is counted')
    const sent = script.sent({ method: 'DELETE', path }).map(({ request }) => request.body as { preconditions: unknown })
    assert.deepEqual(
      sent.map(({ preconditions }) => preconditions),
      versions.map((resourceVersion) => ({ uid: 'u-1', resourceVersion })),
    )
  })
}

test('what stands is taken up by a write that holds for this very one, and moves its version each time', async () => {
  const { script, service, claims } = scripted()
  const after = standing({ resourceVersion: '6', annotations: { [takenUpAt]: '5' } })
  script.on({ method: 'PATCH', path }).answer(answers.ok(after))
  assert.deepEqual((await takeUp({ service } as IpamParts, standing(), never)).metadata, after.metadata)
  assert.equal(claims.get('there/web-f-ipv6')?.metadata.resourceVersion, '6')
  script.on({ method: 'PATCH', path }).answer(answers.ok(standing({ resourceVersion: '8' })))
  await takeUp({ service } as IpamParts, after, never)
  const pointer = `/metadata/annotations/${takenUpAt.replace('/', '~1')}`
  assert.deepEqual(
    script.sent({ method: 'PATCH', path }).map(({ request }) => request.body),
    [
      [
        { op: 'test', path: '/metadata/uid', value: 'u-1' },
        { op: 'test', path: '/metadata/annotations', value: null },
        { op: 'add', path: '/metadata/annotations', value: { [takenUpAt]: '5' } },
      ],
      [
        { op: 'test', path: '/metadata/uid', value: 'u-1' },
        { op: 'test', path: pointer, value: '5' },
        { op: 'add', path: pointer, value: '6' },
      ],
    ],
  )
})

const patches: { says: string; answer: typeof success; want: 'raced' | 'refused' }[] = [
  { says: 'that is gone', answer: absent, want: 'raced' },
  { says: 'that another took up', answer: statusAnswer(422, 'Invalid', 'the server rejected our request'), want: 'raced' },
  { says: 'that moves all the time', answer: statusAnswer(409, 'Conflict', 'the object has been modified'), want: 'raced' },
  {
    says: 'that the schema does not let be written',
    answer: statusAnswer(422, 'Invalid', 'spec.scope', { causes: [{ reason: 'FieldValueInvalid', field: 'spec.scope' }] }),
    want: 'refused',
  },
  { says: 'that may not be changed', answer: statusAnswer(403, 'Forbidden', 'no'), want: 'refused' },
]
for (const { says, answer, want } of patches) {
  test(`an IPClaim ${says} is not taken up: ${want}`, async () => {
    const { script, service, lost } = scripted()
    script.on({ method: 'PATCH', path }, { times: 9 }).answer(answer)
    const taken = takeUp({ service } as IpamParts, standing(), never)
    await assert.rejects(taken, (error) => error instanceof (want === 'raced' ? WriteRaced : ApiError))
    assert.deepEqual(lost, want === 'raced' ? ['patch ipclaims stale'] : [], 'a lost race is counted')
  })
}
