import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import {
  BadStatusIntent,
  checkIntent,
  completeStatus,
  differingPaths,
  ownForm,
  statusBody,
  wholeSeconds,
} from './status-intent.ts'

const owner = { writer: 'owner', identity: 'owner', owns: ['vpc', 'addresses', 'conditions/Ready', 'conditions/Sound'], when: '' }
const silent = { writer: 'silent', identity: 'silent', owns: ['vpc'], when: '' }
const now = new Date('2030-01-01T00:00:00.999Z')
const before = '2029-01-01T00:00:00Z'

const ready = { type: 'Ready', status: 'True', reason: 'Told', message: 'so' } as const
const sound = { type: 'Sound', status: 'False', reason: 'Told', message: '' } as const

describe('the guard', () => {
  const table: { says: string; intent: Record<string, unknown>; of?: typeof owner; want: RegExp | 'fine' }[] = [
    { says: 'own fields and conditions', intent: { vpc: 'x', conditions: [ready, sound] }, want: 'fine' },
    { says: 'an empty message', intent: { conditions: [sound] }, want: 'fine' },
    { says: 'a foreign field', intent: { other: 1, conditions: [ready] }, want: /^BadStatusIntent: owner does not own other/ },
    { says: 'a foreign condition', intent: { conditions: [{ ...ready, type: 'Odd' }] }, want: /does not own condition Odd/ },
    { says: 'the same condition twice', intent: { conditions: [ready, ready] }, want: /Ready twice/ },
    { says: 'no status', intent: { conditions: [{ ...ready, status: undefined }] }, want: /Ready incompletely/ },
    { says: 'no reason', intent: { conditions: [{ ...ready, reason: undefined }] }, want: /Ready incompletely/ },
    { says: 'no message', intent: { conditions: [{ ...ready, message: undefined }] }, want: /Ready incompletely/ },
    { says: 'conditions left out', intent: { vpc: 'x' }, want: /leaves its conditions out/ },
    { says: 'no condition in the list', intent: { conditions: [] }, want: /leaves its conditions out/ },
    { says: 'fields of an owner without conditions', intent: { vpc: 'x' }, of: silent, want: 'fine' },
    {
      says: 'conditions of an owner without any',
      intent: { vpc: 'x', conditions: [ready] },
      of: silent,
      want: /owns no condition/,
    },
  ]
  for (const { says, intent, of = owner, want } of table) {
    test(says, () => {
      if (want === 'fine') checkIntent(of, intent)
      else
        assert.throws(
          () => checkIntent(of, intent),
          (error) =>
            error instanceof BadStatusIntent &&
            error.code === 'BAD_STATUS_INTENT' &&
            want.test(`${error.name}: ${error.message}`),
        )
    })
  }
})

describe('completion', () => {
  const standing = {
    conditions: [
      { ...ready, lastTransitionTime: before },
      { ...sound, status: 'True', lastTransitionTime: '2028-01-01T00:00:00Z' },
    ],
  }

  test('the time stays where the status does, and is now where it flips', () => {
    const status = completeStatus({ conditions: [{ ...ready, reason: 'Other', message: 'else' }, sound] }, standing, now)
    assert.deepEqual(status.conditions, [
      { ...ready, reason: 'Other', message: 'else', lastTransitionTime: before },
      { ...sound, lastTransitionTime: '2030-01-01T00:00:00Z' },
    ])
  })

  test('each condition keeps its own time', () => {
    const status = completeStatus({ conditions: [{ ...sound, status: 'True' }, ready] }, standing, now)
    const times = (status.conditions as { lastTransitionTime: string }[]).map((each) => each.lastTransitionTime)
    assert.deepEqual(times, ['2028-01-01T00:00:00Z', before])
  })

  test('a condition that was not there begins now', () => {
    assert.deepEqual(completeStatus({ conditions: [ready] }, undefined, now).conditions, [
      { ...ready, lastTransitionTime: '2030-01-01T00:00:00Z' },
    ])
  })

  test('the caller’s time counts for nothing', () => {
    const status = completeStatus({ conditions: [{ ...ready, lastTransitionTime: '2001-01-01T00:00:00Z' }] }, standing, now)
    assert.deepEqual(status.conditions, [{ ...ready, lastTransitionTime: before }])
  })

  test('empty values are left out, at any depth; false, zero and empty text are values', () => {
    const status = completeStatus(
      { vpc: null, addresses: [], ref: { name: undefined, uid: null, ports: [], on: false }, n: 0, text: '' },
      undefined,
      now,
    )
    assert.deepEqual(status, { ref: { on: false }, n: 0, text: '' })
  })

  const sent = (status: string, lastTransitionTime: string) =>
    ownForm(owner, { conditions: [{ ...ready, status, lastTransitionTime }, sound] })
  const flips: { says: string; stands?: string; sent: ReturnType<typeof sent>; want: string }[] = [
    {
      says: 'the time that was sent with it',
      stands: before,
      sent: sent('True', '2029-06-01T00:00:00Z'),
      want: '2029-06-01T00:00:00Z',
    },
    { says: 'the same, in the second of the last flip', stands: before, sent: sent('True', before), want: before },
    { says: 'the same, where nothing stands yet', sent: sent('True', before), want: before },
    { says: 'now, where what stands flipped after it', stands: before, sent: sent('True', '2028-01-01T00:00:00Z'), want: 'now' },
    { says: 'now, where another status was sent', stands: before, sent: sent('Unknown', '2029-06-01T00:00:00Z'), want: 'now' },
  ]
  for (const { says, stands, sent: lost, want } of flips) {
    test(`a flip whose answer was lost keeps ${says}`, () => {
      const condition = stands && { ...ready, status: 'False', lastTransitionTime: stands }
      const status = completeStatus({ conditions: [ready] }, { conditions: condition ? [condition] : [] }, now, lost)
      const lastTransitionTime = want === 'now' ? '2030-01-01T00:00:00Z' : want
      assert.deepEqual(status.conditions, [{ ...ready, lastTransitionTime }])
    })
  }

  test('whole seconds, rounded down', () => assert.equal(wholeSeconds(now), '2030-01-01T00:00:00Z'))
})

describe('comparison', () => {
  const form = (status: unknown) => ownForm(owner, status)
  const table: { says: string; a: unknown; b: unknown; want: string[] }[] = [
    { says: 'nothing and an empty status', a: undefined, b: {}, want: [] },
    { says: 'absent, null and an empty list', a: { vpc: null, addresses: [] }, b: {}, want: [] },
    { says: 'an empty list inside', a: { vpc: { a: 1, list: [] } }, b: { vpc: { a: 1 } }, want: [] },
    { says: 'the order of keys', a: { vpc: { a: 1, b: 2 } }, b: { vpc: { b: 2, a: 1 } }, want: [] },
    { says: 'the order of a list', a: { addresses: ['a', 'b'] }, b: { addresses: ['b', 'a'] }, want: ['addresses'] },
    { says: 'foreign fields and conditions', a: { note: 'x', conditions: [{ ...ready, type: 'Odd' }] }, b: {}, want: [] },
    { says: 'a value', a: { vpc: 'x' }, b: { vpc: 'y' }, want: ['vpc'] },
    { says: 'a value that went', a: { vpc: 'x' }, b: {}, want: ['vpc'] },
    {
      says: 'a message',
      a: { conditions: [ready] },
      b: { conditions: [{ ...ready, message: 'else' }] },
      want: ['conditions/Ready'],
    },
    {
      says: 'observedGeneration alone',
      a: { conditions: [{ ...ready, observedGeneration: 1 }] },
      b: { conditions: [{ ...ready, observedGeneration: 2 }] },
      want: ['conditions/Ready'],
    },
    {
      says: 'a condition that went, and a field',
      a: { conditions: [ready, sound], vpc: 'x' },
      b: { conditions: [ready] },
      want: ['conditions/Sound', 'vpc'],
    },
    { says: 'the order of conditions', a: { conditions: [ready, sound] }, b: { conditions: [sound, ready] }, want: [] },
    { says: 'what is no condition among them', a: { conditions: [null, 'odd', ready] }, b: { conditions: [ready] }, want: [] },
    { says: 'conditions that are no list', a: { conditions: 'odd' }, b: {}, want: [] },
  ]
  for (const { says, a, b, want } of table) {
    test(says, () => {
      assert.deepEqual(differingPaths(form(a), form(b)), want)
      assert.deepEqual(differingPaths(form(b), form(a)), want)
    })
  }

  test('a path without a value is not there', () => {
    assert.deepEqual([...form({ vpc: null, addresses: [], conditions: [ready] }).keys()], ['conditions/Ready'])
  })

  test('a status that no order of keys, no empty value changes is equal to itself after a round over the wire', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (vpc, addresses) => {
        const status = completeStatus({ vpc, addresses, conditions: [ready] }, undefined, now)
        assert.deepEqual(differingPaths(form(status), form(JSON.parse(JSON.stringify(status)))), [])
        assert.deepEqual(differingPaths(form({ vpc }), form({ vpc, note: addresses })), [])
      }),
    )
  })
})

test('B07: the body holds identity and status, and nothing of what was read', () => {
  const metadata = { name: 'a', namespace: 'space', uid: 'u', resourceVersion: '7', labels: { a: 'b' }, managedFields: [] }
  const object = { apiVersion: 'example.dev/v1', kind: 'Widget', metadata, spec: { size: 1 }, status: { note: 'theirs' } }
  assert.deepEqual(statusBody(object, { vpc: 'x' }), {
    apiVersion: 'example.dev/v1',
    kind: 'Widget',
    metadata: { name: 'a', namespace: 'space', uid: 'u' },
    status: { vpc: 'x' },
  })
  const { namespace: _, ...clusterScoped } = metadata
  assert.deepEqual(statusBody({ ...object, metadata: clusterScoped }, {}), {
    apiVersion: 'example.dev/v1',
    kind: 'Widget',
    metadata: { name: 'a', uid: 'u' },
    status: {},
  })
})
