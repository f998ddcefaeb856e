import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'yaml'
import { formatted, paintFor } from './output.ts'

for (const { says, isTTY, env, coloured } of [
  { says: 'on a terminal', isTTY: true, env: {}, coloured: true },
  { says: 'not into a pipe', isTTY: false, env: {}, coloured: false },
  { says: 'not where NO_COLOR is set', isTTY: true, env: { NO_COLOR: '1' }, coloured: false },
  { says: 'where NO_COLOR is empty, as no-color.org has it', isTTY: true, env: { NO_COLOR: '' }, coloured: true },
  { says: 'not on a terminal that cannot', isTTY: true, env: { TERM: 'dumb' }, coloured: false },
]) {
  test(`colours ${says}`, () => {
    assert.equal(paintFor({ isTTY }, env)('x', 'bad') !== 'x', coloured)
  })
}

test('people get no control characters, programs get them escaped', () => {
  const value = { message: `red \u001b[31m\n\u0007` }
  assert.equal(
    formatted('text', value, ({ message }) => message),
    'red \uFFFD[31m\uFFFD',
  )
  assert.deepEqual(JSON.parse(formatted('json', value, () => '')), value)
})

test('nothing that turns a terminal around gets to it, in any format, and programs get the value as it is', () => {
  const value = { message: 'left \u202eright\u2066 \u009b31m\u2028', plain: 'no need to quote' }
  const obeyed = /[\p{Cc}\p{Bidi_Control}\p{Zl}]/u
  const [json, yaml] = (['json', 'yaml'] as const).map((format) => formatted(format, value, () => ''))
  for (const text of [json, yaml, formatted('text', value, ({ message }) => message)])
    assert.doesNotMatch((text ?? '').replaceAll('\n', ''), obeyed)
  assert.deepEqual([JSON.parse(json ?? ''), parse(yaml ?? '')], [value, value])
})

test('one value in three formats', () => {
  const value = { a: [1], b: undefined }
  assert.equal(
    formatted('json', value, () => 'text'),
    '{\n  "a": [\n    1\n  ]\n}',
  )
  assert.equal(
    formatted('yaml', value, () => 'text'),
    'a:\n  - 1',
  )
  assert.equal(
    formatted('text', value, () => 'text'),
    'text',
  )
})
