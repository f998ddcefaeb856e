import assert from 'node:assert/strict'
import { test } from 'node:test'
import { labels } from '@nso/api'
import { decodeProject, projectOf } from './project.ts'

const decoded: { says: string; label: string; want: string }[] = [
  { says: 'the name after the prefix', label: 'cluster-alpha', want: 'alpha' },
  { says: 'slashes that were written as underscores', label: 'cluster-org_alpha', want: 'org/alpha' },
  { says: 'no slash at the beginning', label: 'cluster-_alpha', want: 'alpha' },
  { says: 'a name without the prefix as it is', label: 'alpha', want: 'alpha' },
]
for (const { says, label, want } of decoded) {
  test(`a project label gives ${says}`, () => assert.equal(decodeProject(label), want))
}

const namespace = (given: Record<string, string>) => ({ metadata: { name: 'apps', labels: given } })
const cluster = { [labels.upstreamCluster]: 'cluster-alpha' }
const inside = { [labels.upstreamNamespace]: 'default' }

test('a namespace with both labels is of a project', () => {
  const answer = projectOf('apps', namespace({ ...cluster, ...inside }))
  assert.deepEqual(answer, { kind: 'resolved', project: { name: 'alpha', namespace: 'default' } })
})

const refused: { says: string; given: Parameters<typeof projectOf>[1]; names: readonly string[] }[] = [
  { says: 'without the project label', given: namespace(inside), names: [labels.upstreamCluster] },
  { says: 'without the label of the namespace there', given: namespace(cluster), names: [labels.upstreamNamespace] },
  { says: 'with neither', given: namespace({}), names: [labels.upstreamCluster, labels.upstreamNamespace] },
  {
    says: 'with an empty label',
    given: namespace({ ...cluster, [labels.upstreamNamespace]: '' }),
    names: [labels.upstreamNamespace],
  },
  {
    says: 'with a label that names no project',
    given: namespace({ [labels.upstreamCluster]: 'cluster-', ...inside }),
    names: [labels.upstreamCluster],
  },
  { says: 'that is not known', given: undefined, names: [labels.upstreamCluster, labels.upstreamNamespace] },
]
for (const { says, given, names } of refused) {
  test(`a namespace ${says} is refused, naming the label`, () => {
    const answer = projectOf('apps', given)
    assert.ok(answer.kind === 'refused' && answer.reason === 'ProjectUnresolved')
    for (const key of [labels.upstreamCluster, labels.upstreamNamespace]) {
      assert.equal(
        answer.message.includes(`label ${key}`) || answer.message.includes(`none ${key}`),
        names.includes(key),
        answer.message,
      )
    }
  })
}
