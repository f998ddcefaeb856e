import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { dataPlaneChoice, parseDataPlaneChoice } from './names.ts'

test('the choice of a data plane reads back as it was written', () => {
  const word = fc.stringMatching(/^[a-z0-9.-]+$/)
  fc.assert(
    fc.property(word, word, (name, uid) => assert.deepEqual(parseDataPlaneChoice(dataPlaneChoice({ name, uid })), { name, uid })),
  )
})

test('anything else is no choice', () => {
  for (const text of [undefined, '', 'galactic', 'galactic/', '/uid', 'a/b/c'])
    assert.equal(parseDataPlaneChoice(text), undefined)
})
