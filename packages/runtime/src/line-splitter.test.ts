import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createLineSplitter } from './line-splitter.ts'

const event = '{"type":"ADDED","object":{"note":"Zürich ☃ 𝄞 日本"}}'

test('B19: an event split at every byte position is the same event', () => {
  const bytes = Buffer.from(`${event}\n`)
  for (let at = 0; at <= bytes.length; at++) {
    const split = createLineSplitter()
    assert.deepEqual([...split(bytes.subarray(0, at)), ...split(bytes.subarray(at))], [event], `split at ${at}`)
  }
})

test('B19: what follows the last newline never comes out as a line', () => {
  const split = createLineSplitter()
  assert.deepEqual(split(Buffer.from(`${event}\n${event.slice(0, 20)}`)), [event])
  assert.deepEqual(split(Buffer.from('…')), [])
})

test('lines do not depend on where chunks end', () => {
  const lines = fc.array(fc.string({ unit: 'grapheme', minLength: 1 }).map((line) => line.replaceAll('\n', ' ')))
  const cuts = fc.array(fc.nat({ max: 200 }))
  fc.assert(
    fc.property(lines, cuts, (wanted, positions) => {
      const bytes = Buffer.from(wanted.map((line) => `${line}\n`).join(''))
      const split = createLineSplitter()
      const found: string[] = []
      let from = 0
      for (const at of [...positions.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length]) {
        found.push(...split(bytes.subarray(from, at)))
        from = at
      }
      assert.deepEqual(found, wanted)
    }),
  )
})
