import assert from 'node:assert/strict'
import { test } from 'node:test'
import { condition } from './condition.ts'
import type { OwnershipTable } from './ownership.ts'
import { type OwnershipGaps, ownershipGaps } from './ownership-check.ts'
import { conditions, defineKind, type KindDefinition, list, optional, record, text } from './schema.ts'

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
/** A kind with a status of free text, one without a status, and one whose list of conditions is no map. */
const Note = defineKind({ ...Widget, kind: 'Note', spec: record({}), status: text() })
const { status: _, ...statusless } = Widget
const Bare = defineKind({ ...statusless, kind: 'Bare', spec: record({}) })
const Loose = defineKind({ ...Widget, kind: 'Loose', spec: record({}), status: record({ conditions: list(text()) }) })
const row = (...status: ReturnType<typeof owner>[]): OwnershipTable => [{ kind: Widget, status, metadata: [] }]
const none: OwnershipGaps = { kinds: [], undocumented: [], unknown: [], twice: [], unkeyed: [] }

const whole = row(owner('a', 'phase', 'notes', 'conditions/Ready'))
const rowOf = (kind: Partial<OwnershipTable[number]['kind']>, ...status: ReturnType<typeof owner>[]): OwnershipTable => [
  { kind: { ...Widget, ...kind }, status, metadata: [] },
]

const table: { says: string; given: OwnershipTable; kinds?: KindDefinition[]; declared?: object; want: OwnershipGaps }[] = [
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
  {
    says: 'agrees on a path that nobody writes, for a documented reason',
    given: [
      { ...row(owner('a', 'phase', 'conditions/Ready'))[0], reserved: [{ path: 'notes', why: 'later' }] },
    ] as OwnershipTable,
    want: none,
  },
  {
    says: 'names a field with two writers, which is no list',
    given: row(owner('a', 'phase', 'notes', 'conditions/Ready'), owner('b', 'phase')),
    want: { ...none, twice: ['Widget.phase'] },
  },
  {
    says: 'names a path with two writers that does not exist either',
    given: row(owner('a', 'phase', 'notes', 'conditions/Ready', 'odd'), owner('b', 'odd')),
    want: { ...none, unknown: ['Widget.odd', 'Widget.odd'], twice: ['Widget.odd'] },
  },
  {
    says: 'agrees where two writers have a condition each of a map',
    given: row(owner('a', 'phase', 'notes', 'conditions/Ready'), owner('b', 'conditions/Done')),
    declared: { Ready, Done: condition('Done', { True: ['Done'], False: [], Unknown: [] }) },
    want: none,
  },
  {
    says: 'names a list of conditions that is no map, with an item for each of two writers',
    given: rowOf(Loose, owner('a', 'conditions/Ready'), owner('b', 'conditions/Done')),
    kinds: [Loose],
    want: {
      ...none,
      unknown: ['Loose.conditions/Ready', 'Loose.conditions/Done'],
      undocumented: ['Loose.conditions/*'],
      unkeyed: ['Loose.conditions'],
    },
  },
  {
    says: 'agrees on a kind without a status, and on one whose status has no fields',
    given: [...whole, ...rowOf(Bare), ...rowOf(Note)],
    kinds: [Bare, Widget, Note],
    want: none,
  },
  { says: 'names a row without a kind', given: [...whole, ...rowOf({ kind: 'Other' })], want: { ...none, kinds: ['Other'] } },
  {
    says: 'names a row of another group',
    given: [...whole, ...rowOf({ group: 'other.dev' })],
    want: { ...none, kinds: ['Widget'] },
  },
]

for (const { says, given, kinds = [Widget], declared = { Ready }, want } of table)
  test(says, () => assert.deepEqual(ownershipGaps(kinds, given, { Widget: { ...declared } }), want))
