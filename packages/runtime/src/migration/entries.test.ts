import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { type FieldTree, nodeAt, pathsIn, union } from '../field-tree.ts'
import type { KubeObject, ManagedFieldsEntry } from '../kind.ts'
import type { ResourceOwnership } from '../ownership.ts'
import { legacyPaths, migrateEntries } from './entries.ts'
import { inheritedPaths } from './owned-paths.ts'

const formerly = ['binary', ''] as const
const kind = { group: 'example.dev', version: 'v1', kind: 'Gadget', plural: 'gadgets', scope: 'Namespaced' } as const
const row: ResourceOwnership = {
  kind,
  legacy: ['binary', 'other-binary'],
  status: [
    {
      writer: 'alice',
      identity: 'app',
      formerly,
      owns: ['phase', 'ref', 'addresses', 'conditions/Ready', 'conditions/Sound'],
      when: '',
    },
    { writer: 'carol', identity: 'app', formerly, owns: ['note', 'conditions/Noted'], when: '' },
    { writer: 'holder', identity: 'holder', anyManager: true, owns: ['conditions/Held'], when: '' },
  ],
  metadata: [
    { path: 'spec', writer: 'alice', identity: 'app', formerly, when: '' },
    { path: 'metadata.labels', writer: 'user', identity: 'user', when: '' },
    { path: 'metadata.annotations/example.dev/choice', writer: 'alice', identity: 'app', formerly, when: '' },
    { path: 'metadata.finalizers/example.dev/keep', writer: 'dave', identity: 'app', formerly, when: '' },
  ],
}
const k = (type: string) => `k:{"type":"${type}"}`
const stored = (...types: string[]) => types.map((type) => ({ type, status: 'True', reason: 'R' }))
const whole = { '.': {}, 'f:type': {}, 'f:status': {}, 'f:reason': {} }

function objectWith(conditions: unknown[] = [], metadata: Partial<KubeObject['metadata']> = {}): KubeObject {
  return {
    apiVersion: 'example.dev/v1',
    kind: 'Gadget',
    metadata: { name: 'a', namespace: 'ns', uid: 'u', resourceVersion: '7', ...metadata },
    spec: {},
    status: { conditions },
  }
}

function entry(by: string, fieldsV1: FieldTree, more: Partial<ManagedFieldsEntry> = {}): ManagedFieldsEntry {
  const [manager = '', operation = '', subresource] = by.split(' ')
  return {
    manager,
    operation: operation as 'Apply' | 'Update',
    apiVersion: 'example.dev/v1',
    time: '2030-01-01T00:00:00Z',
    fieldsType: 'FieldsV1',
    fieldsV1,
    ...(subresource ? { subresource } : {}),
    ...more,
  }
}

const frozen = <T>(value: T): T => {
  if (typeof value === 'object' && value !== null) {
    Object.freeze(value)
    for (const inner of Object.values(value)) frozen(inner)
  }
  return value
}

const migrated = (
  entries: ManagedFieldsEntry[],
  object = objectWith(),
  given: Partial<Parameters<typeof migrateEntries>[0]> = {},
) => migrateEntries({ row, object, entries: frozen(entries), ...given })

const table: {
  says: string
  entries: ManagedFieldsEntry[]
  object?: KubeObject
  given?: Partial<Parameters<typeof migrateEntries>[0]>
  want: ManagedFieldsEntry[] | undefined
}[] = [
  {
    says: 'nothing of earlier managers: nothing to do',
    entries: [entry('kubectl-edit Update status', { 'f:status': { 'f:phase': {} } })],
    want: undefined,
  },
  {
    says: 'an apply of an earlier name is somebody else’s',
    entries: [entry('binary Apply status', { 'f:status': { 'f:phase': {} } })],
    want: undefined,
  },
  {
    says: 'fields go to the writer of each',
    entries: [entry('binary Update status', { 'f:status': { '.': {}, 'f:phase': {}, 'f:note': {}, 'f:ref': { 'f:name': {} } } })],
    want: [
      entry('alice Apply status', { 'f:status': { 'f:phase': {}, 'f:ref': { 'f:name': {} } } }),
      entry('carol Apply status', { 'f:status': { 'f:note': {} } }),
    ],
  },
  {
    says: 'fields that nobody documents stay with the earlier manager',
    entries: [entry('binary Update status', { 'f:status': { 'f:phase': {}, 'f:extra': { 'f:x': {} } } })],
    want: [
      entry('binary Update status', { 'f:status': { 'f:extra': { 'f:x': {} } } }),
      entry('alice Apply status', { 'f:status': { 'f:phase': {} } }),
    ],
  },
  {
    says: 'a list of conditions held as one value becomes the stored items of documented types',
    entries: [entry('other-binary Update status', { 'f:status': { 'f:conditions': {} } })],
    object: objectWith(stored('Ready', 'Noted', 'Held', 'Unknown')),
    want: [
      entry('alice Apply status', { 'f:status': { 'f:conditions': { [k('Ready')]: whole } } }),
      entry('carol Apply status', { 'f:status': { 'f:conditions': { [k('Noted')]: whole } } }),
    ],
  },
  {
    says: 'a list held as one value of which nothing documented is stored just goes',
    entries: [entry('binary Update status', { 'f:status': { 'f:conditions': {} } })],
    object: objectWith(stored('Held')),
    want: [],
  },
  {
    says: 'of single conditions the documented go wholly, seeds included; a holder’s stays, whoever wrote it',
    entries: [
      entry('binary Update status', {
        'f:status': { 'f:conditions': { '.': {}, [k('Ready')]: { 'f:status': {} }, [k('Held')]: { '.': {}, 'f:type': {} } } },
      }),
    ],
    object: objectWith(stored('Ready', 'Held')),
    want: [
      entry('binary Update status', { 'f:status': { 'f:conditions': { '.': {}, [k('Held')]: { '.': {}, 'f:type': {} } } } }),
      entry('alice Apply status', { 'f:status': { 'f:conditions': { [k('Ready')]: whole } } }),
    ],
  },
  {
    says: 'what the writer holds already is joined',
    entries: [
      entry('binary Update status', { 'f:status': { 'f:phase': {} } }, { time: '2031-01-01T00:00:00Z' }),
      entry('alice Apply status', { 'f:status': { 'f:addresses': {} } }),
    ],
    want: [entry('alice Apply status', { 'f:status': { 'f:addresses': {}, 'f:phase': {} } })],
  },
  {
    says: 'spec, one annotation and one finalizer go; labels of the user and other finalizers stay',
    entries: [
      entry('binary Update', {
        'f:spec': { 'f:size': {} },
        'f:metadata': {
          'f:labels': { '.': {}, 'f:app': {} },
          'f:annotations': { '.': {}, 'f:example.dev/choice': {} },
          'f:finalizers': { '.': {}, 'v:"example.dev/keep"': {}, 'v:"other.dev/keep"': {} },
        },
      }),
      entry('alice Update', { 'f:metadata': { 'f:annotations': { 'f:example.dev/else': {} } } }),
    ],
    want: [
      entry('binary Update', {
        'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} }, 'f:finalizers': { '.': {}, 'v:"other.dev/keep"': {} } },
      }),
      entry('alice Update', {
        'f:metadata': { 'f:annotations': { 'f:example.dev/else': {}, 'f:example.dev/choice': {} } },
        'f:spec': { 'f:size': {} },
      }),
      entry('dave Update', { 'f:metadata': { 'f:finalizers': { 'v:"example.dev/keep"': {} } } }),
    ],
  },
  {
    says: 'an administrator may name further managers',
    entries: [entry('fork Update status', { 'f:status': { 'f:phase': {} } })],
    given: { alsoLegacy: ['fork'] },
    want: [entry('alice Apply status', { 'f:status': { 'f:phase': {} } })],
  },
  {
    says: 'what the writer applied in another version is joined, as that is one entry for the server; what it updated there is not',
    entries: [
      entry('binary Update status', { 'f:status': { 'f:phase': {} } }),
      entry('binary Update', { 'f:spec': { 'f:size': {} } }),
      entry('alice Apply status', { 'f:status': { 'f:addresses': {} } }, { apiVersion: 'example.dev/v0' }),
      entry('alice Update', { 'f:spec': { 'f:color': {} } }, { apiVersion: 'example.dev/v0' }),
    ],
    want: [
      entry('alice Apply status', { 'f:status': { 'f:addresses': {}, 'f:phase': {} } }),
      entry('alice Update', { 'f:spec': { 'f:color': {} } }, { apiVersion: 'example.dev/v0' }),
      entry('alice Update', { 'f:spec': { 'f:size': {} } }),
    ],
  },
  {
    says: 'of a kind that others use too, only marked objects',
    entries: [entry('binary Update', { 'f:spec': {} })],
    given: { row: { ...row, marked: 'example.dev/mark' } },
    want: undefined,
  },
]

describe('migration of entries', () => {
  for (const { says, entries, object = objectWith(), given = {}, want } of table) {
    test(says, () => {
      assert.deepEqual(migrated(entries, object, given), want)
    })
  }

  test('a marked object is ours', () => {
    const object = objectWith([], { labels: { 'example.dev/mark': '' } })
    const given = { row: { ...row, marked: 'example.dev/mark' } }
    assert.deepEqual(migrated([entry('binary Update', { 'f:spec': {} })], object, given), [
      entry('alice Update', { 'f:spec': {} }),
    ])
  })

  test('one writer after the other comes to the same', () => {
    const held = { '.': {}, 'f:phase': {}, 'f:note': {}, 'f:conditions': {} }
    const spec = { 'f:spec': {}, 'f:metadata': { 'f:finalizers': { 'v:"example.dev/keep"': {} } } }
    const entries = [entry('binary Update status', { 'f:status': held }), entry('binary Update', spec)]
    const object = objectWith(stored('Ready', 'Noted', 'Held'))
    const inTurn = ['alice', 'dave', 'carol'].reduce((all, writer) => migrated(all, object, { writer }) ?? all, entries)
    const byName = (all: ManagedFieldsEntry[] = []) =>
      all.toSorted((a, b) => `${a.manager} ${a.operation}`.localeCompare(`${b.manager} ${b.operation}`))
    assert.deepEqual(byName(inTurn), byName(migrated(entries, object)))
  })

  test('what is still to be moved is named with both managers', () => {
    const entries = [
      entry('binary Update status', { 'f:status': { 'f:phase': {}, 'f:conditions': {} } }),
      entry('other-binary Update', { 'f:metadata': { 'f:finalizers': { 'v:"example.dev/keep"': {} } } }),
    ]
    assert.deepEqual(legacyPaths(objectWith(stored('Noted')), entries, { row }), [
      { path: 'status.phase', manager: 'binary', writer: 'alice' },
      { path: 'status.conditions/Noted', manager: 'binary', writer: 'carol' },
      { path: 'metadata.finalizers/example.dev/keep', manager: 'other-binary', writer: 'dave' },
    ])
  })
})

const leaf = fc.constant<FieldTree>({})
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })
const some = (fields: Record<string, fc.Arbitrary<FieldTree>>): fc.Arbitrary<FieldTree> =>
  fc
    .record(Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, maybe(value)])))
    .map((tree) => Object.fromEntries(Object.entries(tree).filter(([, child]) => child !== undefined)) as FieldTree)
const item = some({ '.': leaf, 'f:type': leaf, 'f:status': leaf, 'f:reason': leaf })
const list = some({ '.': leaf, ...Object.fromEntries(['Ready', 'Noted', 'Held', 'Rogue'].map((type) => [k(type), item])) })
const set = some({ '.': leaf, 'v:"example.dev/keep"': leaf, 'v:"other.dev/keep"': leaf })
const fields = some({
  'f:spec': some({ 'f:size': leaf, 'f:color': leaf }),
  'f:metadata': some({
    'f:finalizers': set,
    'f:labels': some({ '.': leaf, 'f:app': leaf }),
    'f:annotations': some({ '.': leaf, 'f:example.dev/choice': leaf, 'f:note': leaf }),
  }),
  'f:status': some({ 'f:phase': leaf, 'f:extra': leaf, 'f:ref': some({ 'f:name': leaf }), 'f:conditions': list }),
})
const by = fc.constantFrom(
  ...['binary Update status', 'other-binary Update status', 'binary Update', 'alice Apply status', 'carol Apply status'],
  ...['alice Update', 'holder Apply status', 'kubectl-edit Update status', 'user Apply', 'binary Apply status'],
)
const histories = fc.uniqueArray(
  fc.tuple(by, fields).map(([name, tree]) => entry(name, tree)),
  { selector: (each) => `${each.manager} ${each.operation} ${each.subresource}`, maxLength: 6 },
)
const objects = fc.subarray(['Ready', 'Noted', 'Held', 'Rogue']).map((types) => objectWith(stored(...types)))

const isEarlier = ({ manager, operation }: ManagedFieldsEntry) =>
  operation === 'Update' && ['binary', 'other-binary'].includes(manager ?? '')
const isDocumented = ({ manager }: ManagedFieldsEntry) => ['alice', 'carol', 'dave'].includes(manager ?? '')
const treeOfAll = (entries: readonly ManagedFieldsEntry[]) =>
  entries.reduce<FieldTree>((all, { fieldsV1 }) => union(all, (fieldsV1 ?? {}) as FieldTree), {})
const valuePaths = (tree: FieldTree) => new Set(pathsIn(tree).map((path) => path.join(' ')))

describe('migration of any history', () => {
  const property = (check: (object: KubeObject, before: ManagedFieldsEntry[], after: ManagedFieldsEntry[]) => void) =>
    fc.assert(
      fc.property(objects, histories, (object, before) => {
        check(object, before, migrated(before, object) ?? before)
      }),
      { numRuns: 500 },
    )

  test('entries of others stay byte for byte, and in their order', () => {
    property((_, before, after) => {
      const foreign = (entries: ManagedFieldsEntry[]) => entries.filter((each) => !isEarlier(each) && !isDocumented(each))
      assert.equal(JSON.stringify(foreign(after)), JSON.stringify(foreign(before)))
    })
  })

  test('a second run has nothing to do', () => {
    property((object, _, after) => {
      assert.equal(migrated(after, object), undefined)
      assert.deepEqual(legacyPaths(object, after, { row }), [])
    })
  })

  test('every documented path that was held is its writer’s to remove', () => {
    property((_, before, after) => {
      for (const { path, manager } of inheritedPaths(row)) {
        if (!before.some((each) => isEarlier(each) && nodeAt(each.fieldsV1 as FieldTree, path))) continue
        const holders = after.filter((each) => nodeAt(each.fieldsV1 as FieldTree, path)).map((each) => each.manager)
        assert.ok(holders.includes(manager), `${path.join(' ')} has lost its writer`)
        assert.ok(!after.some((each) => isEarlier(each) && nodeAt(each.fieldsV1 as FieldTree, path)))
      }
    })
  })

  test('what is not documented stays with the earlier manager, and no held value is without an owner', () => {
    property((_, before, after) => {
      const kept = valuePaths(treeOfAll(after))
      for (const each of before.filter(isEarlier)) {
        for (const path of pathsIn(each.fieldsV1 as FieldTree)) {
          // Owning the list or map itself ends with its last item.
          const isContainer = /^f:(finalizers|labels|annotations|conditions|metadata|status)$/.test(path.at(-1) ?? '')
          if (!isContainer) assert.ok(kept.has(path.join(' ')), `${path.join(' ')} has lost its owner`)
        }
      }
    })
  })
})
