import assert from 'node:assert/strict'
import { test } from 'node:test'
import { condition, reportedCondition } from '../condition.ts'
import { conditions, defineKind, optional, record, seeded } from '../schema.ts'
import { conditionViolations } from './condition-rules.ts'
import type { RecordedKind } from './rules.ts'

const Widget = defineKind({
  group: 'g.dev',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  description: '',
  spec: record({}),
  status: record({ conditions: optional(conditions('')) }, { default: seeded('Ready') }),
})

const declared = {
  Ready: condition('Ready', { True: ['Done'], False: ['Broken'], Unknown: ['Pending'] }),
  Carried: reportedCondition('Carried', { True: ['Carried'], False: [], Unknown: [] }, ['False']),
}
const seed = seeded('Ready').conditions[0]

const says = (type: string, status: string, reason: string) => ({
  ...{ type, status, reason, message: '', lastTransitionTime: '2026-01-01T00:00:00Z', observedGeneration: 1 },
})

/** Invariants that versions with these statuses break. */
function broken(versions: readonly object[], more: Partial<RecordedKind> = {}): string[] {
  const objects = versions.map((status, index) => ({
    ...{ apiVersion: 'g.dev/v1', kind: 'Widget', spec: {}, status },
    metadata: { name: 'a', namespace: 'n', uid: 'u', resourceVersion: `${index + 1}`, generation: 1 },
  }))
  const history = { kind: Widget, uid: 'u', key: 'n/a', fromBirth: true }
  const kind = { kind: Widget, ownership: { kind: Widget, status: [], metadata: [] }, conditions: declared, ...more }
  const rules = { kind, identities: {}, managers: new Set<string>() }
  const made = objects.map((object) => ({ object, makers: [], last: false }))
  return conditionViolations({ ...history, versions: made }, rules).map(
    ({ invariant, resourceVersion, path }) => `${invariant} @${resourceVersion} ${path}`,
  )
}

const Ready = says('Ready', 'True', 'Done')
const passedThrough = { conditions: [says('Carried', 'False', 'CableCut')] }

const table: { says: string; versions: object[]; more?: Partial<RecordedKind>; want: string[] }[] = [
  { says: 'a seed needs no observedGeneration', versions: [{ conditions: [seed] }, { conditions: [Ready] }], want: [] },
  {
    says: 'a type stands once',
    versions: [{ conditions: [Ready, Ready] }],
    want: ['COND-1 @1 status.conditions/Ready'],
  },
  {
    says: 'what is wrong is told once, with the version that brought it',
    versions: [
      { conditions: [Ready] },
      { conditions: [says('Ready', 'True', 'Odd')] },
      { conditions: [says('Ready', 'True', 'Odd')] },
    ],
    want: ['COND-3 @2 status.conditions/Ready'],
  },
  { says: 'a reason passes through where the status is open for it', versions: [passedThrough], want: [] },
  {
    says: 'a reason does not pass through where the status is not open',
    versions: [{ conditions: [says('Carried', 'True', 'CableCut')] }],
    want: ['COND-3 @1 status.conditions/Carried'],
  },
  {
    says: 'where the reporter documents its reasons, only those pass through',
    versions: [passedThrough],
    more: { reported: { Carried: ['Unplugged'] } },
    want: ['COND-3 @1 status.conditions/Carried'],
  },
  {
    says: 'a documented reason of the reporter passes through',
    versions: [passedThrough],
    more: { reported: { Carried: ['CableCut'] } },
    want: [],
  },
  {
    says: 'what is missing or malformed is no condition',
    versions: [{ conditions: [{ type: 'Ready', status: 'Maybe', reason: 'Done', observedGeneration: 1 }] }],
    want: ['COND-1 @1 status.conditions/Ready'],
  },
  {
    says: 'the generation of the whole status never goes back and is none to come',
    versions: [{ observedGeneration: 1 }, { observedGeneration: 0 }, { observedGeneration: 2 }],
    want: ['GEN-1 @2 status.observedGeneration', 'GEN-1 @3 status.observedGeneration'],
  },
]

for (const { says: title, versions, more, want } of table) test(title, () => assert.deepEqual(broken(versions, more), want))
