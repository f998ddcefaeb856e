import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubeObject } from '../kind.ts'
import type { MetadataOwner, ResourceOwnership } from '../ownership.ts'
import { metadataPaths } from './metadata-paths.ts'

const mark = 'widgets.example.dev/ours'
const kind = { group: 'widgets.example.dev', version: 'v1', kind: 'Widget', plural: 'widgets', scope: 'Namespaced' } as const
const by = (path: string, keys?: readonly string[]): MetadataOwner => ({
  ...{ path, writer: 'painter', identity: 'app', when: '' },
  ...(keys ? { keys } : {}),
})
const row = (metadata: readonly MetadataOwner[], marked?: string): ResourceOwnership => ({
  ...{ kind, status: [], metadata },
  ...(marked ? { marked } : {}),
})
const widget = (metadata: Partial<KubeObject['metadata']>, spec: object = {}): KubeObject => ({
  ...{ apiVersion: 'widgets.example.dev/v1', kind: 'Widget', spec },
  metadata: { name: 'a', ...metadata },
})
const changedBetween = (of: ResourceOwnership, before: KubeObject | undefined, object: KubeObject) =>
  metadataPaths(of, before, { object, makers: [], last: false })
    .filter(({ changed }) => changed)
    .map(({ path }) => path)

const ours = { [mark]: '1' }
const marked = row([by('spec'), by(`metadata.labels/${mark}`)], mark)

const cases: { says: string; before?: KubeObject; after: KubeObject; want: string[] }[] = [
  { says: 'one of somebody else is nobody’s business', before: widget({}, { a: 1 }), after: widget({}, { a: 2 }), want: [] },
  { says: 'nor is its creation', after: widget({}, { a: 1 }), want: [] },
  {
    says: 'a marked one is',
    before: widget({ labels: ours }, { a: 1 }),
    after: widget({ labels: ours }, { a: 2 }),
    want: ['spec'],
  },
  {
    says: 'so is the write that takes the mark away',
    before: widget({ labels: ours }, { a: 1 }),
    after: widget({}, { a: 2 }),
    want: ['spec', `metadata.labels/${mark}`],
  },
  {
    says: 'and the write that gives it',
    before: widget({}),
    after: widget({ labels: ours }),
    want: [`metadata.labels/${mark}`],
  },
]
for (const { says, before, after, want } of cases)
  test(`of a kind that others have too: ${says}`, () => assert.deepEqual(changedBetween(marked, before, after), want))

for (const map of ['labels', 'annotations'] as const) {
  const path = `metadata.${map}`
  const change = (of: ResourceOwnership, ...[was, is]: Record<string, string>[]) =>
    changedBetween(of, widget({ [map]: was }), widget({ [map]: is }))
  test(`${map} of which keys are documented: only these are looked at`, () => {
    const keyed = row([by(path, ['place']), by(path, ['work.example.dev/*'])])
    assert.deepEqual(change(keyed, { place: 'a' }, { place: 'a', placement: 'b', team: 'x' }), [])
    assert.deepEqual(change(keyed, { place: 'a' }, { place: 'b' }), [path])
    assert.deepEqual(change(keyed, {}, { 'work.example.dev/name': 'x' }), [path])
    assert.deepEqual(change(keyed, { 'work.example.dev/name': 'x' }, {}), [path])
    assert.deepEqual(change(keyed, {}, { 'work.example.com/name': 'x' }), [])
  })
  test(`${map} that somebody has as a whole: every key is looked at`, () => {
    for (const whole of [row([by(path)]), row([by(path, ['place']), by(path)])])
      assert.deepEqual(change(whole, {}, { team: 'x' }), [path])
  })
}
