import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { changeEntries, changeValue } from './json-patch.ts'

test('nothing to change is no operation', () => {
  assert.deepEqual(changeValue('/spec/mtu', 1460, 1460), [])
  assert.deepEqual(changeEntries('/metadata/labels', undefined, { a: undefined }), [])
})

test('a map that is absent is added as a whole, tested to be absent', () => {
  assert.deepEqual(changeEntries('/metadata/labels', undefined, { 'x/y': 'z', gone: undefined }), [
    { op: 'test', path: '/metadata/labels', value: null },
    { op: 'add', path: '/metadata/labels', value: { 'x/y': 'z' } },
  ])
})

test('every change of an entry tests what was read and touches no other key', () => {
  const value = fc.option(fc.string(), { nil: undefined })
  const map = fc.dictionary(fc.constantFrom('a', 'b/c', 'd~e'), fc.string())
  fc.assert(
    fc.property(map, fc.dictionary(fc.constantFrom('a', 'b/c', 'd~e', 'new'), value), (before, changes) => {
      const operations = changeEntries('/m', before, changes)
      const after: Record<string, string> = { ...before }
      for (const operation of operations) {
        const key = operation.path.slice(3).replaceAll('~1', '/').replaceAll('~0', '~')
        if (operation.op === 'test') assert.equal(operation.value, after[key] ?? null)
        else if (operation.op === 'remove') delete after[key]
        else after[key] = String(operation.value)
      }
      const want = { ...before }
      for (const [key, given] of Object.entries(changes)) {
        if (given === undefined) delete want[key]
        else want[key] = given
      }
      assert.deepEqual({ ...after }, { ...want })
    }),
  )
})
