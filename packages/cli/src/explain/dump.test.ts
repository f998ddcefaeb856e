import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { stringify } from 'yaml'
import { snapshotOf, target, world } from '../../test/example-chain.ts'
import { newestTime, parseDump, readDump, writeDump } from './dump.ts'
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

test('ages are counted from the newest time that an API server wrote', () => {
  const later = structuredClone(objects)
  for (const { status } of later) {
    const { conditions = [] } = (status ?? {}) as { conditions?: Record<string, unknown>[] }
    for (const each of conditions) each.lastTransitionTime = '2099-01-01T00:00:00Z'
  }
  assert.equal(newestTime(later).toISOString(), '2026-11-30T12:00:00.000Z')
})

test('without managedFields also from those that documented writers tell', () => {
  const bare = structuredClone(objects).map(({ metadata: { managedFields: _, ...metadata }, ...rest }) => ({ ...rest, metadata }))
  const rogue = { type: 'Rogue', status: 'True', lastTransitionTime: '2099-01-01T00:00:00Z' }
  for (const { status } of bare) (status as { conditions?: unknown[] } | undefined)?.conditions?.push(rogue)
  assert.equal(newestTime(bare).toISOString(), '2026-11-30T12:00:58.000Z')
})

test('that a component still runs does not follow from a dump', () => {
  const { leaders } = explained(JSON.stringify({ kind: 'List', items: objects })) ?? {}
  assert.match(leaders?.[0]?.says ?? '', /^NSO ran, as far as the dump tells: one led at 2026-11-30T12:00:58/)
})

test('JSON values one after the other, UTF-16 and a byte order mark are read', () => {
  const values = objects.map((object) => JSON.stringify(object, undefined, 1)).join('\n')
  assert.equal(explained(values)?.verdict.state, 'ready')
  const folder = mkdtempSync(path.join(tmpdir(), 'nso-dump-'))
  try {
    const file = path.join(folder, 'dump.json')
    writeFileSync(file, `\ufeff${values}`, 'utf16le')
    assert.equal(explain(readDump(file), target)?.verdict.state, 'ready')
    writeFileSync(file, `\ufeff${values}`)
    assert.equal(explain(readDump(file), target)?.verdict.state, 'ready')
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('a List that is cut off is told, and nothing follows from what it lacks', () => {
  const { attachment, ...rest } = world()
  const other = { ...attachment, metadata: { ...attachment.metadata, name: 'other' } }
  const items = [...Object.values(snapshotOf(rest).objects), other]
  const text = stringify({ apiVersion: 'v1', items }, { aliasDuplicateObjects: false })
  const { verdict, notes } = explained(text) ?? {}
  assert.equal(verdict?.state, 'ready')
  assert.match(notes?.join() ?? '', /it is cut off/)
})

test('in a List of kubectl the lack of an object counts where there are others of its kind in its namespace', () => {
  const { nsoLease, galacticLease, ...rest } = world()
  const dumped = (namespace: string) => {
    const other = { ...nsoLease, metadata: { ...nsoLease.metadata, namespace, name: 'other' } }
    return explained(
      JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [...Object.values(snapshotOf(rest).objects), other] }),
    )
  }
  assert.match(dumped('kube-system')?.leaders[0]?.says ?? '', /^whether NSO runs is not known/)
  assert.match(dumped('nso-system')?.leaders[0]?.says ?? '', /^NSO is not running: there is no Lease/)
})

test('of the first page of a list nothing follows for what is on the next', () => {
  const vpc = { group: 'cloud.datumapis.com', kind: 'VPC' }
  const page = { apiVersion: 'cloud.datumapis.com/v1alpha1', kind: 'VPCList', metadata: { continue: 'next' }, items: [] }
  const text = [...objects, page].map((each) => JSON.stringify(each)).join('\n')
  assert.equal(gapOf(parseDump(text.replaceAll('"VPC"', '"X"'), 'dump.json'), vpc, 'default')?.why, 'not in the dump')
})

test('of a kind that the dump lacks nothing is known; a list of the API server says that there is none', () => {
  const { vpc: _, ...rest } = world()
  const text = Object.values(snapshotOf(rest).objects)
    .map((object) => stringify(object))
    .join('---\n')
  const vpc = { group: 'cloud.datumapis.com', kind: 'VPC' }
  assert.equal(gapOf(parseDump(text, 'dump.yaml'), vpc, 'default')?.why, 'not in the dump')
  const list = '---\napiVersion: cloud.datumapis.com/v1alpha1\nkind: VPCList\nitems: []\n'
  assert.equal(gapOf(parseDump(text + list, 'dump.yaml'), vpc, 'default'), undefined)
})

const bomb = [
  'a: &a0 [x]',
  ...Array.from({ length: 9 }, (_, at) => `b${at}: &a${at + 1} [${Array(9).fill(`*a${at}`).join(',')}]`),
].join('\n')

const bad: { says: string; text: string; want: RegExp }[] = [
  { says: 'what is no YAML', text: 'a: [', want: /is no YAML/ },
  { says: 'JSON that is cut off', text: '{"kind": "List", "items": [{"kind"', want: /is cut off, or no JSON: / },
  { says: 'references upon references', text: bomb, want: /is no YAML: Excessive alias count/ },
  { says: 'brackets within brackets', text: '['.repeat(20_000), want: /is no YAML: / },
  { says: 'what has no objects', text: 'Error from server (NotFound)', want: /has no objects: .*--show-managed-fields/ },
  { says: 'nothing', text: '', want: /has no objects/ },
  { says: 'documents of other shapes', text: '[1, 2]\n---\nnull\n---\nkind: Pod\n', want: /has no objects/ },
]

for (const { says, text, want } of bad) {
  test(`a dump is refused with a hint: ${says}`, () => {
    assert.throws(() => parseDump(text, 'dump.yaml'), { name: 'Explained', message: want })
  })
}
