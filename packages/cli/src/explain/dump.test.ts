import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stringify } from 'yaml'
import { snapshotOf, target, world } from '../../test/example-chain.ts'
import { newestTime, parseDump, writeDump } from './dump.ts'
import { explain } from './explain.ts'
import { gapOf } from './snapshot.ts'

const objects = Object.values(snapshotOf(world()).objects)
const explained = (text: string) => explain(parseDump(text, 'dump.yaml'), target)

test('an object, a List and several documents are the same dump', () => {
  const list = stringify({ apiVersion: 'v1', kind: 'List', items: objects }, { aliasDuplicateObjects: false })
  const documents = objects.map((object) => stringify(object, { aliasDuplicateObjects: false })).join('---\n')
  const json = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects })
  const want = explained(list)
  assert.equal(want?.verdict.state, 'ready')
  assert.deepEqual(explained(documents), want)
  assert.deepEqual(explained(json), want)
})

test('what -o dump writes is read back: the time, what is not there, and what could not be read', () => {
  const gap = { group: 'cloud.datumapis.com', kind: 'VPC', why: 'forbidden', message: 'vpcs is forbidden' } as const
  const { vpc: _, attachment: __, ...rest } = world()
  const snapshot = snapshotOf(rest, [gap])
  const again = parseDump(writeDump(snapshot), 'dump.yaml')
  const { origin: ___, ...live } = explain(snapshot, target) ?? {}
  const { origin: ____, ...offline } = explain(again, target) ?? {}
  assert.deepEqual(offline, live)
})

test('ages are counted from the newest time in the dump', () => {
  assert.equal(newestTime(objects).toISOString(), '2026-11-30T12:00:58.000Z')
})

test('of a kind that the dump lacks nothing is known; a list of the API server says that there is none', () => {
  const { vpc: _, ...rest } = world()
  const text = Object.values(snapshotOf(rest).objects)
    .map((object) => stringify(object))
    .join('---\n')
  const vpc = { group: 'cloud.datumapis.com', kind: 'VPC' }
  assert.equal(gapOf(parseDump(text, 'dump.yaml'), vpc)?.why, 'not in the dump')
  const list = '---\napiVersion: cloud.datumapis.com/v1alpha1\nkind: VPCList\nitems: []\n'
  assert.equal(gapOf(parseDump(text + list, 'dump.yaml'), vpc), undefined)
})

const bad: { says: string; text: string; want: RegExp }[] = [
  { says: 'what is no YAML', text: 'a: [', want: /is no YAML/ },
  { says: 'what has no objects', text: 'Error from server (NotFound)', want: /has no objects: .*--show-managed-fields/ },
  { says: 'nothing', text: '', want: /has no objects/ },
  { says: 'documents of other shapes', text: '[1, 2]\n---\nnull\n---\nkind: Pod\n', want: /has no objects/ },
]

for (const { says, text, want } of bad) {
  test(`a dump is refused with a hint: ${says}`, () => {
    assert.throws(() => parseDump(text, 'dump.yaml'), { name: 'Explained', message: want })
  })
}
