import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { orderOfVersions } from './resource-version.ts'

const table: { says: string; version: string | undefined; than: string | undefined; want: string }[] = [
  { says: 'longer is newer', version: '10', than: '9', want: 'newer' },
  { says: 'shorter is older', version: '9', than: '10', want: 'older' },
  { says: 'the same text is the same', version: '10', than: '10', want: 'same' },
  {
    says: 'digits that a JS number would round away count',
    version: '9007199254740993',
    than: '9007199254740992',
    want: 'newer',
  },
  { says: 'a text is equal to itself', version: 'abc', than: 'abc', want: 'same' },
  { says: 'a text has no order', version: 'abc', than: '12', want: 'unknown' },
  { says: 'digits before a text are not well formed', version: '10a', than: '9', want: 'unknown' },
  { says: 'nothing is older than a missing version', version: '9', than: undefined, want: 'unknown' },
  { says: 'a leading zero is not well formed', version: '010', than: '9', want: 'unknown' },
  { says: 'a sign is not well formed', version: '+10', than: '9', want: 'unknown' },
  { says: 'a missing version has no order', version: undefined, than: '9', want: 'unknown' },
  { says: 'two missing versions have no order', version: undefined, than: undefined, want: 'unknown' },
]

for (const { says, version, than, want } of table) {
  test(`B20: ${says}`, () => assert.equal(orderOfVersions(version, than), want))
}

test('B20: the order is that of the integers, whatever their size', () => {
  const version = fc.bigInt({ min: 1n, max: 2n ** 80n })
  fc.assert(
    fc.property(version, version, (a, b) => {
      const want = a === b ? 'same' : a < b ? 'older' : 'newer'
      assert.equal(orderOfVersions(String(a), String(b)), want)
    }),
  )
})
