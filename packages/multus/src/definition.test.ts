import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hindrance, isRendered, type SeenDefinition, seeDefinition } from './definition.ts'
import { patience } from './detach-grace.ts'

const attachment = { kind: 'Cable', metadata: { name: 'a', uid: 'u1' } }
const owned = (owner?: { kind?: string; name?: string; uid?: string; controller?: boolean }) => ({
  apiVersion: 'k8s.cni.cncf.io/v1',
  kind: 'NetworkAttachmentDefinition',
  metadata: {
    name: 'a',
    ...(owner
      ? { ownerReferences: [{ apiVersion: 'example.dev/v1', kind: 'Cable', name: 'a', uid: 'u1', controller: true, ...owner }] }
      : {}),
  },
  spec: { config: '{}' },
})

const seen: { says: string; given: ReturnType<typeof owned>; isOurs: boolean; controlledBy: string }[] = [
  { says: 'ours is told by the uid', given: owned({}), isOurs: true, controlledBy: 'Cable a' },
  { says: 'nobody’s is not ours', given: owned(), isOurs: false, controlledBy: 'nobody' },
  {
    says: 'one of an attachment that had the name before',
    given: owned({ uid: 'u0' }),
    isOurs: false,
    controlledBy: 'Cable a that was deleted',
  },
  { says: 'an owner that does not control', given: owned({ controller: false }), isOurs: false, controlledBy: 'nobody' },
  { says: 'another kind of the same name', given: owned({ kind: 'Wire', uid: 'u2' }), isOurs: false, controlledBy: 'Wire a' },
]

for (const { says, given, isOurs, controlledBy } of seen)
  test(says, () => {
    const { isOurs: ours, controlledBy: by } = seeDefinition(given, attachment)
    assert.deepEqual([ours, by], [isOurs, controlledBy])
  })

test('B51: a definition without spec, labels and references is seen, and is not ours', () => {
  const bare = { apiVersion: 'k8s.cni.cncf.io/v1', kind: 'NetworkAttachmentDefinition', metadata: { name: 'a' } } as ReturnType<
    typeof owned
  >
  assert.deepEqual(seeDefinition(bare, attachment), {
    ...{ deleting: false, isOurs: false, controlledBy: 'nobody', labels: {}, config: undefined },
  })
})

const ours: SeenDefinition = {
  deleting: false,
  isOurs: true,
  controlledBy: 'Cable a',
  labels: { a: '1', theirs: 'x' },
  config: '{}',
}

test('what stands in the way, the nearest first', () => {
  const is = (served: boolean, definition?: SeenDefinition) => hindrance('a', served, definition)?.is
  assert.deepEqual(
    [
      is(true),
      is(true, ours),
      is(false, ours),
      is(true, { ...ours, isOurs: false }),
      is(true, { ...ours, deleting: true, isOurs: false }),
    ],
    [undefined, undefined, 'unserved', 'foreign', 'deleting'],
  )
})

test('labels of others do not matter, ours and the text do', () => {
  assert.ok(isRendered(ours, { labels: { a: '1' }, config: '{}' }))
  assert.ok(!isRendered(ours, { labels: { a: '2' }, config: '{}' }))
  assert.ok(!isRendered(ours, { labels: { a: '1', b: '' }, config: '{}' }))
  assert.ok(!isRendered(ours, { labels: {}, config: '[]' }))
})

test('a grace: a moment is not said, the rest is, and then it is over', () => {
  assert.deepEqual(patience(0, 30_000), { is: 'quiet', afterMs: 1_000 })
  assert.deepEqual(patience(999, 30_000), { is: 'quiet', afterMs: 1 })
  assert.deepEqual(patience(1_000, 30_000), { is: 'said', afterMs: 29_000 })
  assert.deepEqual(patience(0, 200), { is: 'quiet', afterMs: 200 })
  assert.deepEqual(patience(30_000, 30_000), { is: 'over' })
  assert.deepEqual(patience(0, 0), { is: 'over' })
})
