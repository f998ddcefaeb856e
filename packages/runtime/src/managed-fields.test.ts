import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { ManagedFieldsEntry } from './kind.ts'
import { documentedPath, foreignOwners, withoutForeignOwners } from './managed-fields.ts'

const owner = { writer: 'owner', identity: 'owner', owns: ['vpc', 'addresses', 'conditions/Ready', 'conditions/Sound'], when: '' }

const k = (type: string) => `k:{"type":"${type}"}`
const leaf = { '.': {}, 'f:status': {}, 'f:type': {} }

function entry(manager: string, status: Record<string, unknown>, more: Partial<ManagedFieldsEntry> = {}): ManagedFieldsEntry {
  return { manager, operation: 'Apply', subresource: 'status', fieldsType: 'FieldsV1', fieldsV1: { 'f:status': status }, ...more }
}

const bob = entry('bob', { 'f:note': {} })
const own = entry('owner', { 'f:vpc': {}, 'f:conditions': { [k('Ready')]: leaf } })

describe('the documented path of a conflict', () => {
  const table = [
    ['.status.vpc', 'vpc'],
    ['.status.vpc.name', 'vpc'],
    ['.status.addresses', 'addresses'],
    ['.status.addresses[address="x"].family', 'addresses'],
    ['.status.conditions[type="Ready"].lastTransitionTime', 'conditions/Ready'],
    ['.status.conditions[type="Ready"]', 'conditions/Ready'],
    ['.status.conditions', 'conditions'],
    ['.spec.size', '.spec.size'],
    ['.spec.status.vpc', '.spec.status.vpc'],
    ['.spec.status.conditions[type="Ready"]', '.spec.status.conditions[type="Ready"]'],
  ] as const
  for (const [field, path] of table) test(field, () => assert.equal(documentedPath(field), path))
})

describe('who else owns documented paths', () => {
  test('nobody, where each keeps to its own', () => {
    assert.deepEqual(foreignOwners([own, entry('bob', { 'f:conditions': { [k('Carried')]: leaf } })], owner), new Map())
  })

  test('by field and by condition, every manager', () => {
    const rogue = entry('rogue', { 'f:vpc': { 'f:name': {} }, 'f:conditions': { '.': {}, [k('Ready')]: leaf, [k('Odd')]: leaf } })
    const old = entry('old', { 'f:vpc': {} }, { operation: 'Update' })
    assert.deepEqual(
      foreignOwners([own, rogue, old, rogue], owner),
      new Map([
        ['vpc', ['rogue', 'old']],
        ['conditions/Ready', ['rogue']],
      ]),
    )
  })

  test('the own name with another verb or another endpoint is someone else', () => {
    const update = entry('owner', { 'f:vpc': {} }, { operation: 'Update' })
    const { subresource: _, ...main } = entry('owner', { 'f:addresses': {} })
    assert.deepEqual([...foreignOwners([own, update, main], owner).keys()], ['vpc', 'addresses'])
  })

  test('an entry without a name', () => {
    const { manager: _, ...nameless } = entry('x', { 'f:vpc': {} })
    assert.deepEqual(foreignOwners([nameless], owner).get('vpc'), ['unknown'])
  })

  test('what is no field set is nobody’s', () => {
    const odd = [
      { manager: 'x' },
      entry('x', {}),
      { ...entry('x', {}), fieldsV1: { 'f:status': [] } },
      { ...entry('x', {}), fieldsV1: { 'f:status': null } },
      { ...entry('x', {}), fieldsV1: { 'f:status': 'vpc' } },
      entry('x', { 'f:conditions': { 'k:{': leaf, 'v:"x"': {}, 'v:{"type":"Ready"}': {}, 'k:null': leaf } }),
      entry('x', { 'f:conditions/Ready': {} }),
    ]
    assert.deepEqual(foreignOwners(odd as ManagedFieldsEntry[], owner), new Map())
    assert.equal(withoutForeignOwners(odd as ManagedFieldsEntry[], owner, []), undefined)
  })
})

describe('taking documented paths out of the others', () => {
  test('nothing to take: nothing', () => assert.equal(withoutForeignOwners([own], owner, []), undefined))

  test('an entry that owned nothing else goes', () => {
    const rogue = entry('rogue', { 'f:vpc': {}, 'f:conditions': { '.': {}, [k('Ready')]: leaf } })
    assert.deepEqual(withoutForeignOwners([rogue, own], owner, []), [own])
  })

  test('what is not documented stays with it, in status and elsewhere', () => {
    const rogue = {
      ...entry('rogue', {}),
      fieldsV1: {
        'f:metadata': { 'f:labels': {} },
        'f:status': { 'f:vpc': {}, 'f:note': {}, 'f:conditions': { [k('Ready')]: leaf, [k('Odd')]: leaf } },
      },
    }
    const left = { 'f:metadata': { 'f:labels': {} }, 'f:status': { 'f:note': {}, 'f:conditions': { [k('Odd')]: leaf } } }
    assert.deepEqual(withoutForeignOwners([own, rogue], owner, []), [own, { ...rogue, fieldsV1: left }])
    const onlyLabels = { ...rogue, fieldsV1: { 'f:metadata': { 'f:labels': {} }, 'f:status': { 'f:vpc': {} } } }
    assert.deepEqual(withoutForeignOwners([own, onlyLabels], owner, []), [
      own,
      { ...rogue, fieldsV1: { 'f:metadata': { 'f:labels': {} } } },
    ])
  })

  test('a bare list of conditions, as an old whole-object writer owns it, stays', () => {
    const old = entry('old', { 'f:vpc': {}, 'f:conditions': {} }, { operation: 'Update' })
    const left = { ...old, fieldsV1: { 'f:status': { 'f:conditions': {} } } }
    assert.deepEqual(withoutForeignOwners([old, own], owner, []), [left, own])
  })

  test('what the owner is to remove passes to it', () => {
    const rogue = entry('rogue', {
      'f:addresses': {},
      'f:vpc': { 'f:name': {} },
      'f:conditions': { [k('Ready')]: leaf, [k('Sound')]: leaf },
    })
    const found = withoutForeignOwners([bob, rogue, own], owner, ['addresses', 'conditions/Sound'])
    const want = { 'f:vpc': {}, 'f:addresses': {}, 'f:conditions': { [k('Ready')]: leaf, [k('Sound')]: leaf } }
    assert.deepEqual(found, [bob, { ...own, fieldsV1: { 'f:status': want } }])
  })

  test('what the owner wants for itself does not pass, nor a list of conditions without any of them', () => {
    const rogue = entry('rogue', { 'f:addresses': {}, 'f:conditions': { [k('Ready')]: leaf } })
    const bare = { manager: 'owner', operation: 'Apply', subresource: 'status' } as const
    const want = { ...bare, fieldsV1: { 'f:status': { 'f:addresses': {} } } }
    assert.deepEqual(withoutForeignOwners([bare, rogue], owner, ['addresses']), [want])
  })

  test('an owner without an entry of its own inherits nothing', () => {
    assert.deepEqual(withoutForeignOwners([bob, entry('rogue', { 'f:addresses': {} })], owner, ['addresses']), [bob])
  })
})

const paths = fc.uniqueArray(fc.constantFrom('f:vpc', 'f:addresses', 'f:note', k('Ready'), k('Sound'), k('Odd')))
const someEntry = fc
  .record({
    manager: fc.constantFrom('owner', 'rogue', 'bob'),
    operation: fc.constantFrom<'Apply' | 'Update'>('Apply', 'Update'),
    paths,
  })
  .map(({ manager, operation, paths: covered }) => {
    const fields = Object.fromEntries(covered.filter((key) => key.startsWith('f:')).map((key) => [key, {}]))
    const conditions = Object.fromEntries(covered.filter((key) => key.startsWith('k:')).map((key) => [key, leaf]))
    return entry(manager, Object.keys(conditions).length > 0 ? { ...fields, 'f:conditions': conditions } : fields, { operation })
  })

test('afterwards nobody else owns a documented path, and nobody lost any other', () => {
  const undocumented = (entries: readonly ManagedFieldsEntry[]) =>
    entries.flatMap((each) => {
      const text = JSON.stringify(each.fieldsV1)
      return ['f:note', '\\"Odd\\"']
        .filter((path) => text.includes(path))
        .map((path) => `${each.manager} ${each.operation} ${path}`)
    })
  fc.assert(
    fc.property(fc.array(someEntry, { maxLength: 5 }), (entries) => {
      const after = withoutForeignOwners(entries, owner, []) ?? entries
      assert.equal(foreignOwners(after, owner).size, 0)
      assert.deepEqual(undocumented(after), undocumented(entries))
      assert.equal(withoutForeignOwners(after, owner, []), undefined)
    }),
  )
})
