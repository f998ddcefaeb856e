import assert from 'node:assert/strict'
import test from 'node:test'
import { locationOf } from './location.ts'

const table: { says: string; delivered: string[]; setting: string | undefined; want: string }[] = [
  { says: 'one delivered location wins over the setting', delivered: ['a'], setting: 'b', want: 'a' },
  { says: 'several leave it to the setting', delivered: ['a', 'b'], setting: 'b', want: 'b' },
  {
    says: 'several without a setting are ambiguous',
    delivered: ['b', 'a'],
    setting: undefined,
    want: 'AmbiguousLocationIdentity',
  },
  { says: 'none leaves it to the setting', delivered: [], setting: 'b', want: 'b' },
  { says: 'one that no label can carry is no identity', delivered: ['l'.repeat(64)], setting: 'b', want: 'NoLocationIdentity' },
  { says: 'the longest that a label carries is one', delivered: ['l'.repeat(63)], setting: undefined, want: 'l'.repeat(63) },
  { says: 'a setting that no label can carry is no identity', delivered: [], setting: 'Not here', want: 'NoLocationIdentity' },
  { says: 'none without a setting is no identity', delivered: [], setting: undefined, want: 'NoLocationIdentity' },
]

for (const { says, delivered, setting, want } of table) {
  test(says, () => {
    const location = locationOf(delivered, setting)
    assert.equal(location.kind === 'known' ? location.name : location.reason, want)
  })
}
