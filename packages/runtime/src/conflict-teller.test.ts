import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createConflictTeller, secondWrites, shownWrites } from './conflict-teller.ts'
import { createContention } from './contention.ts'
import type { KubeObject } from './kind.ts'
import { createManualClock } from './manual-clock.ts'
import { noWriteMetrics } from './write-metrics.ts'

const widget: KubeObject = {
  apiVersion: 'example.dev/v1',
  kind: 'Widget',
  metadata: { name: 'a', namespace: 'space', uid: 'u1' },
  spec: {},
}

function bed() {
  const clock = createManualClock()
  const counted: string[] = []
  const events: unknown[] = []
  const lines: unknown[] = []
  const tell = createConflictTeller({
    resource: 'widgets',
    owner: 'owner',
    contention: createContention({ clock }),
    metrics: {
      ...noWriteMetrics,
      ownershipConflict: ({ resource, field, manager }) => counted.push(`${resource} ${field} ${manager}`),
    },
    log: { debug: () => assert.fail('people must see it'), warn: (fields) => lines.push(fields) },
    recordEvent: (regarding, event) => events.push({ regarding: regarding.metadata.name, ...event }),
  })
  return { tell, clock, counted, events, lines }
}

test('a manager that wrote two paths: two counts, one event and one log line, in the order of the alphabet', () => {
  const { tell, counted, events, lines } = bed()
  tell(widget, [
    { path: 'vpc', manager: 'rogue' },
    { path: 'conditions/Ready', manager: 'rogue' },
    { path: 'vpc', manager: 'rogue' },
  ])
  assert.deepEqual(counted, ['widgets conditions/Ready rogue', 'widgets vpc rogue'])
  assert.deepEqual(events, [
    {
      regarding: 'a',
      type: 'Warning',
      reason: 'StatusOwnershipConflict',
      action: 'Overrule',
      note: 'status conditions/Ready, vpc belongs to owner; "rogue" wrote there and is overruled',
    },
  ])
  assert.deepEqual(lines, [{ resource: 'widgets', key: 'space/a', manager: 'rogue', paths: ['conditions/Ready', 'vpc'] }])
})

test('an episode that stands is not told again; another manager is, and the next episode', async () => {
  const { tell, clock, counted, events } = bed()
  tell(widget, [{ path: 'vpc', manager: 'rogue' }])
  tell(widget, [{ path: 'vpc', manager: 'rogue' }])
  assert.deepEqual([counted.length, events.length], [1, 1])
  tell(widget, [{ path: 'vpc', manager: 'other' }])
  assert.deepEqual([counted.length, events.length], [2, 2])
  await clock.advance(30_000)
  tell(widget, [{ path: 'vpc', manager: 'rogue' }])
  assert.deepEqual([counted.length, events.length], [3, 3])
})

test('where nobody listens it is counted all the same', () => {
  const counted: string[] = []
  const tell = createConflictTeller({
    resource: 'widgets',
    owner: 'owner',
    contention: createContention({ clock: createManualClock() }),
    metrics: { ...noWriteMetrics, ownershipConflict: ({ field }) => counted.push(field) },
  })
  tell(widget, [{ path: 'vpc', manager: 'rogue' }])
  assert.deepEqual(counted, ['vpc'])
})

test('conflicts name documented paths', () => {
  const field = '.status.conditions[type="Ready"].reason'
  assert.deepEqual(secondWrites([{ manager: 'rogue', field }]), [{ path: 'conditions/Ready', manager: 'rogue' }])
  assert.deepEqual(secondWrites([{ manager: 'before-first-apply', field }]), [])
})

describe('what an answer shows', () => {
  const owners = new Map([['vpc', ['rogue', 'old']]])
  const table: { says: string; owners: typeof owners; taken: string[]; want: string[] }[] = [
    { says: 'nothing', owners: new Map(), taken: [], want: [] },
    { says: 'every owner of a path', owners, taken: [], want: ['vpc rogue', 'vpc old'] },
    { says: 'a change without a trace', owners: new Map(), taken: ['vpc'], want: ['vpc unknown'] },
    {
      says: 'nobody, where the server gathers what others held',
      owners: new Map([['vpc', ['ancient-changes']]]),
      taken: [],
      want: [],
    },
    {
      says: 'a change of someone unknown there',
      owners: new Map([['vpc', ['before-first-apply']]]),
      taken: ['vpc'],
      want: ['vpc unknown'],
    },
    { says: 'a change whose owner stands there', owners, taken: ['vpc'], want: ['vpc rogue', 'vpc old'] },
  ]
  for (const { says, owners: standing, taken, want } of table) {
    test(says, () => {
      const shown = shownWrites(standing, taken)
      assert.deepEqual(
        shown.map(({ path, manager }) => `${path} ${manager}`),
        want,
      )
    })
  }
})
