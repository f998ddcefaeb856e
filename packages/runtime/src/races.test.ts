import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { type Refusal, refusalOf } from './api-error.ts'
import type { Kind } from './kind.ts'
import { classify, decideByLive, type RequestVerb, type Verdict } from './races.ts'
import { answers, statusAnswer } from './scripted-answers.ts'
import type { ApiResponse } from './transport.ts'

const widget: Kind = { group: 'example.dev', version: 'v1', kind: 'Widget', plural: 'widgets', scope: 'Namespaced' }
const at = { name: 'a', namespace: 'space' }
const addressed = { plural: 'widgets', kind: 'Widget', ...at }
const verbs: RequestVerb[] = ['get', 'list', 'watch', 'create', 'patch', 'apply', 'delete', 'other']

type Expected = Verdict | Partial<Record<RequestVerb, Verdict>>

const ask: Verdict = { is: 'ask' }
const fault: Verdict = { is: 'fault' }
const starting: Verdict = { is: 'busy', starting: true }
const conflicts = [
  { manager: 'rogue "1" \\', field: '.status.vpc' },
  { manager: 'rogue2', field: '.status.conditions[type="Ready"].message' },
]

/** `want`: one verdict for every verb, or per verb with fault for those left out. */
const table: { says: string; answer: ApiResponse; want: Expected }[] = [
  {
    says: 'AlreadyExists',
    answer: answers.alreadyExists(widget, at),
    want: { create: { is: 'exists' }, patch: ask, apply: ask, delete: ask },
  },
  {
    says: 'FieldManagerConflict names managers and fields',
    answer: answers.fieldManagerConflict(conflicts),
    want: { create: { is: 'raced' }, apply: { is: 'second-writer', conflicts }, patch: ask, delete: ask },
  },
  {
    says: 'the object has been modified',
    answer: answers.modified(widget, at),
    want: { create: { is: 'raced' }, patch: ask, apply: ask, delete: ask },
  },
  {
    says: 'uid mismatch on a missing object',
    answer: answers.uidMismatch(widget, at),
    want: { create: { is: 'raced' }, patch: ask, apply: ask, delete: ask },
  },
  {
    says: 'the UID in the precondition',
    answer: answers.uidPrecondition(widget, at),
    want: { create: { is: 'raced' }, patch: ask, apply: ask, delete: ask },
  },
  {
    says: 'a 409 of words nobody knows',
    answer: statusAnswer(409, 'Conflict', 'something else'),
    want: { create: { is: 'raced' }, patch: ask, apply: ask, delete: ask },
  },
  { says: 'a failed JSON patch test', answer: answers.testFailed(), want: { patch: ask } },
  { says: 'metadata.uid is immutable', answer: answers.uidImmutable(widget, at), want: { patch: ask, apply: ask } },
  { says: '404 naming the object', answer: answers.notFound(widget, at), want: { is: 'gone', why: 'not-found' } },
  {
    says: '404 naming the object by its kind',
    answer: statusAnswer(404, 'NotFound', 'Widget "a" not found', { name: 'a', kind: 'Widget' }),
    want: { is: 'gone', why: 'not-found' },
  },
  { says: '404 naming another object', answer: answers.notFound(widget, { name: 'b' }), want: fault },
  { says: '404 naming another kind', answer: answers.notFound({ ...widget, plural: 'others', kind: 'Other' }, at), want: fault },
  {
    says: '404 naming nothing',
    answer: statusAnswer(404, 'NotFound', 'the server could not find the requested resource', {}),
    want: fault,
  },
  {
    says: 'no new finalizers on a deleting object',
    answer: answers.noNewFinalizers(widget, at, 'x.dev/f'),
    want: { is: 'gone', why: 'deleting' },
  },
  {
    says: '404 naming an object that is called like the namespace',
    answer: answers.notFound({ ...widget, plural: 'others', kind: 'Other' }, { name: 'space' }),
    want: fault,
  },
  {
    says: 'forbidden for a cause nobody knows',
    answer: statusAnswer(403, 'Forbidden', 'no', { causes: [{ reason: 'Other', message: 'no' }] }),
    want: fault,
  },
  { says: 'namespace terminating', answer: answers.namespaceTerminating(widget, at), want: { is: 'gone', why: 'namespace' } },
  { says: '404 naming its namespace', answer: answers.namespaceNotFound('space'), want: { is: 'gone', why: 'namespace' } },
  { says: '404 naming another namespace', answer: answers.namespaceNotFound('elsewhere'), want: fault },
  { says: 'CRD terminating', answer: answers.crdTerminating(widget), want: { is: 'not-served', pending: false } },
  {
    says: 'plain 404',
    answer: answers.pageNotFound(),
    want: Object.fromEntries(verbs.map((verb) => [verb, { is: 'not-served', pending: verb === 'create' }])),
  },
  {
    says: 'storage is (re)initializing: the second it asks for is not waited for',
    answer: answers.initializing(),
    want: starting,
  },
  { says: 'too many requests', answer: answers.tooManyRequests(2), want: { is: 'busy', starting: false, afterMs: 2000 } },
  {
    says: 'too many requests without a time',
    answer: statusAnswer(429, 'TooManyRequests', 'later'),
    want: { is: 'busy', starting: false },
  },
  { says: 'resource kind not found', answer: answers.kindNotFound(widget), want: starting },
  { says: 'shutting down', answer: answers.shuttingDown(), want: starting },
  { says: 'another 503', answer: { status: 503, headers: {}, body: 'upstream' }, want: { is: 'busy', starting: false } },
  { says: 'bad gateway', answer: { status: 502, headers: {}, body: '' }, want: { is: 'busy', starting: false } },
  { says: 'gateway timeout', answer: { status: 504, headers: {}, body: '' }, want: { is: 'busy', starting: false } },
  { says: 'failed to create typed patch object', answer: answers.typedPatchFailed(), want: fault },
  { says: 'another 500', answer: answers.internalError(), want: fault },
  { says: 'unauthorized', answer: answers.unauthorized(), want: fault },
  { says: 'forbidden', answer: answers.forbidden(widget, at, 'patch'), want: fault },
  { says: 'an invalid value', answer: answers.invalid(widget, at, 'spec.size', 'must be positive'), want: fault },
  {
    says: 'an invalid uid that is not about another object',
    answer: answers.invalid(widget, at, 'metadata.uid', 'Required value'),
    want: fault,
  },
  {
    says: 'an immutable field that is not the uid',
    answer: answers.invalid(widget, at, 'spec.size', 'field is immutable'),
    want: fault,
  },
  { says: '422 with a name but no causes', answer: statusAnswer(422, 'Invalid', 'no', { name: 'a' }), want: fault },
  {
    says: '422 with causes that name no object',
    answer: statusAnswer(422, 'Invalid', 'no', { causes: [{ reason: 'FieldValueInvalid', field: 'spec.size' }] }),
    want: fault,
  },
  {
    says: '422 whose causes say nothing',
    answer: statusAnswer(422, 'Invalid', 'no', { name: 'a', causes: [{ field: 'metadata.uid' }] }),
    want: fault,
  },
  { says: '422 of another reason', answer: statusAnswer(422, '', 'no', {}), want: fault },
  { says: 'expired', answer: answers.expired(), want: fault },
  { says: 'a bad request', answer: statusAnswer(400, 'BadRequest', 'no'), want: fault },
]

function wanted(want: Expected, verb: RequestVerb): Verdict {
  return 'is' in want ? want : (want[verb] ?? fault)
}

describe('what an answer means', () => {
  for (const { says, answer, want } of table) {
    for (const verb of verbs) {
      test(`${says}, on ${verb}`, () => {
        assert.deepEqual(classify(refusalOf(answer), verb, addressed), wanted(want, verb))
      })
    }
  }

  test('a name in the answer means nothing where no object was addressed', () => {
    assert.deepEqual(classify(refusalOf(answers.notFound(widget, at)), 'list', { plural: 'widgets', kind: 'Widget' }), fault)
  })

  for (const kind of ['widgets', 'namespaces']) {
    test(`a 404 about ${kind} without a name is about no object`, () => {
      const answer = statusAnswer(404, 'NotFound', 'not found', { kind })
      assert.deepEqual(classify(refusalOf(answer), 'list', { plural: 'widgets', kind: 'Widget' }), fault)
    })
  }

  test('a conflict that names no field is told without one', () => {
    const causes = [{ reason: 'FieldManagerConflict', message: 'conflict with "rogue"' }]
    assert.deepEqual(classify(refusalOf(statusAnswer(409, 'Conflict', 'x', { causes })), 'apply', addressed), {
      is: 'second-writer',
      conflicts: [{ manager: 'rogue', field: '' }],
    })
  })

  test('a conflict that names no manager is someone unknown', () => {
    const cause = { reason: 'FieldManagerConflict', field: '.status.vpc' }
    const unknown = { manager: 'unknown', field: '.status.vpc' }
    const answer = statusAnswer(409, 'Conflict', 'x', { causes: [cause, { ...cause, message: 'other words' }] })
    assert.deepEqual(classify(refusalOf(answer), 'apply', addressed), {
      is: 'second-writer',
      conflicts: [unknown, unknown],
    })
  })

  test('causes of other reasons beside a manager conflict are no fields of others', () => {
    const causes = [{ reason: 'Other', field: '.status.x' }, ...(refusalOf(answers.fieldManagerConflict(conflicts)).causes ?? [])]
    const verdict = classify(refusalOf(statusAnswer(409, 'Conflict', 'x', { causes })), 'apply', addressed)
    assert.deepEqual(verdict, { is: 'second-writer', conflicts })
  })
})

describe('one live GET decides', () => {
  test('nothing there: gone', () => assert.equal(decideByLive('u1', undefined), 'not-found'))
  test('another uid: gone', () => assert.equal(decideByLive('u1', { metadata: { uid: 'u2' } }), 'recreated'))
  test('the same uid: raced', () => assert.equal(decideByLive('u1', { metadata: { uid: 'u1' } }), 'raced'))
})

const cause = fc.record(
  {
    reason: fc.constantFrom('FieldManagerConflict', 'NamespaceTerminating', 'FieldValueInvalid', ''),
    message: fc.oneof(fc.string(), fc.constantFrom('field is immutable', 'conflict with "x"')),
    field: fc.constantFrom('metadata.uid', 'metadata.finalizers', '.status.vpc', ''),
  },
  { requiredKeys: [] },
)
const body = fc.oneof(
  fc.string(),
  fc.jsonValue(),
  fc.record(
    {
      kind: fc.constant('Status'),
      reason: fc.constantFrom('Conflict', 'Invalid', 'NotFound', 'Forbidden', 'AlreadyExists', ''),
      message: fc.string(),
      details: fc.oneof(
        fc.jsonValue(),
        fc.record({ name: fc.string(), kind: fc.string(), causes: fc.array(cause) }, { requiredKeys: [] }),
      ),
    },
    { requiredKeys: ['kind'] },
  ),
)

test('whatever the server says, there is one verdict, and only some answers are quiet', () => {
  const quiet = new Set([403, 404, 409, 422])
  fc.assert(
    fc.property(fc.integer({ min: 300, max: 599 }), body, fc.constantFrom(...verbs), (status, content, verb) => {
      const verdict = classify(refusalOf({ status, headers: {}, body: content }), verb, addressed)
      if (verdict.is === 'fault') return
      if (verdict.is === 'busy') assert.ok([429, 502, 503, 504].includes(status))
      else assert.ok(quiet.has(status), `${status} is ${verdict.is}`)
      if (verdict.is === 'ask') assert.ok(['patch', 'apply', 'delete'].includes(verb))
      if (verdict.is === 'second-writer') assert.ok(verb === 'apply' && verdict.conflicts.length > 0)
      if (verdict.is === 'exists') assert.equal(verb, 'create')
    }),
    { numRuns: 2000 },
  )
})

test('reads are never raced', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 300, max: 599 }),
      body,
      fc.constantFrom<RequestVerb>('get', 'list', 'watch'),
      (status, content, verb) => {
        const verdict = classify(refusalOf({ status, headers: {}, body: content }), verb, addressed)
        assert.ok(!['exists', 'second-writer', 'ask', 'raced'].includes(verdict.is), verdict.is)
      },
    ),
  )
})

test('a refusal is taken apart whatever the body is', () => {
  const refusal: Refusal = refusalOf({ status: 429, headers: { 'retry-after': '3' }, body: null })
  assert.deepEqual({ isStatus: refusal.isStatus, retryAfterMs: refusal.retryAfterMs }, { isStatus: false, retryAfterMs: 3000 })
})
