import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { KubeObject, ManagedFieldsEntry } from './kind.ts'
import { turns } from './manual-clock.ts'
import { createOwnershipWatch, followOwnership } from './ownership-watch.ts'
import { syncedCache, widget } from './scripted-cache.ts'

const owner = { writer: 'owner', identity: 'owner', owns: ['vpc', 'conditions/Ready'], when: '' } as const

function entry(manager: string, fields: object, operation: 'Apply' | 'Update' = 'Apply'): ManagedFieldsEntry {
  return { manager, operation, subresource: 'status', fieldsV1: { 'f:status': fields } }
}
const own = entry('owner', { 'f:vpc': {} })
const rogue = entry('rogue', { 'f:vpc': {} })
const legacy = entry('manager', { 'f:conditions': {} }, 'Update')

const at = (resourceVersion: string, uid = 'uid-a', name = 'a'): KubeObject => widget(name, resourceVersion, { uid })

function bed(limit?: number) {
  return createOwnershipWatch(owner, { legacy: ['manager'], ...(limit === undefined ? {} : { limit }) })
}

describe('what is known of an object', () => {
  test('nothing, where only the documented writer stands', () => {
    const watch = bed()
    watch.see(at('5'), [own])
    assert.deepEqual([watch.foreignOwners(at('5')), watch.hasLegacy(at('5')), watch.size], [new Map(), false, 0])
  })

  const table: { says: string; asked: KubeObject; want: string[] }[] = [
    { says: 'who else owns a documented path, of the version seen', asked: at('5'), want: ['rogue'] },
    { says: 'the same for whoever holds an older version still', asked: at('4'), want: ['rogue'] },
    { says: 'nothing of a newer version', asked: at('6'), want: [] },
    { says: 'nothing of another object of that name', asked: at('5', 'other'), want: [] },
    { says: 'nothing of another object', asked: at('5', 'uid-a', 'b'), want: [] },
  ]
  for (const { says, asked, want } of table) {
    test(says, () => {
      const watch = bed()
      watch.see(at('5'), [own, rogue, legacy])
      assert.deepEqual(watch.foreignOwners(asked).get('vpc') ?? [], want)
      assert.equal(watch.hasLegacy(asked), want.length > 0)
    })
  }

  test('that earlier software stands there by Update, also where it owns no documented path', () => {
    const watch = bed()
    watch.see(at('5'), [own, legacy])
    assert.deepEqual([watch.foreignOwners(at('5')).size, watch.hasLegacy(at('5'))], [0, true])
    watch.see(at('6'), [own, entry('manager', { 'f:odd': {} })])
    assert.equal(watch.hasLegacy(at('6')), false, 'an Apply of that name is somebody else’s')
    watch.see(at('7'), [{ operation: 'Update' }])
    assert.equal(watch.hasLegacy(at('7')), false)
  })

  test('without a list nobody is earlier software', () => {
    const watch = createOwnershipWatch(owner)
    watch.see(at('5'), [legacy])
    assert.equal(watch.hasLegacy(at('5')), false)
  })

  test('nothing any more once they are out, or the object is', () => {
    const watch = bed()
    watch.see(at('5'), [rogue])
    watch.see(at('6'), [own])
    assert.equal(watch.size, 0)
    watch.see(at('7'), [rogue])
    watch.gone(at('7', 'other'))
    assert.equal(watch.size, 1)
    watch.gone(at('7'))
    watch.gone(at('7'))
    assert.equal(watch.size, 0)
  })

  test('B31: of many the one seen first goes', () => {
    const watch = bed(2)
    for (const name of ['a', 'b', 'a', 'c']) watch.see(at('5', 'u', name), [rogue])
    assert.deepEqual(
      ['a', 'b', 'c'].map((name) => watch.foreignOwners(at('5', 'u', name)).size),
      [1, 0, 1],
    )
  })
})

test('a cache keeps it up to date: events, own answers, and ends', async () => {
  const watch = bed()
  const world = await syncedCache()
  followOwnership(watch, world.cache)
  world.watch.send('ADDED', widget('a', '101', { managedFields: [rogue] }))
  world.watch.send('ADDED', widget('b', '102', { managedFields: [rogue] }))
  await turns()
  assert.equal(watch.size, 2)
  world.watch.send('MODIFIED', widget('b', '103', { color: 'red', managedFields: [rogue] }))
  await turns()
  assert.equal(watch.foreignOwners(widget('b', '103')).size, 1)
  world.cache.absorb(widget('a', '104', { managedFields: [own] }))
  assert.equal(watch.foreignOwners(widget('a', '104')).size, 0)
  world.watch.send('DELETED', widget('b', '105'))
  await turns()
  assert.deepEqual([watch.size, world.counts.handler], [0, undefined])
  await world.end()
})

test('what a subscriber of changes asks is answered already', async () => {
  const watch = bed()
  const world = await syncedCache()
  followOwnership(watch, world.cache)
  const asked: number[] = []
  world.cache.subscribe(({ after }) => after && asked.push(watch.foreignOwners(after).size))
  world.watch.send('ADDED', widget('a', '101', { managedFields: [rogue] }))
  // Another object under the name: the end of the first one says nothing about it.
  world.watch.send('MODIFIED', widget('a', '102', { uid: 'second', managedFields: [rogue] }))
  await turns()
  assert.deepEqual([asked, watch.size], [[1, 1], 1])
  await world.end()
})
