import assert from 'node:assert/strict'
import { test } from 'node:test'
import { condition } from './condition.ts'
import type { OwnershipTable } from './ownership.ts'
import { type OwnershipGaps, ownershipGaps } from './ownership-check.ts'
import { conditions, defineKind, list, optional, record, text } from './schema.ts'

const Widget = defineKind({
  group: 'g.dev',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  description: '',
  spec: record({}),
  status: record({ phase: optional(text()), notes: optional(list(text())), conditions: optional(conditions('')) }),
})
const Ready = condition('Ready', { True: ['Ready'], False: ['Broken'], Unknown: [] })
const owner = (writer: string, ...owns: string[]) => ({ writer, identity: writer, owns, when: '' })
const row = (...status: ReturnType<typeof owner>[]): OwnershipTable => [{ kind: Widget, status, metadata: [] }]
const none: OwnershipGaps = { kinds: [], undocumented: [], unknown: [], twice: [], unkeyed: [] }

const table: { says: string; given: OwnershipTable; want: OwnershipGaps }[] = [
  { says: 'agrees', given: row(owner('a', 'phase', 'notes', 'conditions/Ready')), want: none },
  { says: 'names a kind without a row', given: [], want: { ...none, kinds: ['Widget'] } },
  {
    says: 'names a path that nobody documents',
    given: row(owner('a', 'phase', 'conditions/Ready')),
    want: { ...none, undocumented: ['Widget.notes'] },
  },
  {
    says: 'names a path that does not exist',
    given: row(owner('a', 'phase', 'notes', 'conditions/Ready', 'conditions/Done')),
    want: { ...none, unknown: ['Widget.conditions/Done'] },
  },
  {
    says: 'names a path with two writers, and the list that they would erase for each other',
    given: row(owner('a', 'phase', 'notes', 'conditions/Ready'), owner('b', 'notes')),
    want: { ...none, twice: ['Widget.notes'], unkeyed: ['Widget.notes'] },
  },
]

for (const { says, given, want } of table)
  test(says, () => assert.deepEqual(ownershipGaps([Widget], given, { Widget: { Ready } }), want))
