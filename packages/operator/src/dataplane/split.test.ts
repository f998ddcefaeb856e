// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the strings are templates of a DataPlane
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { type Piece, SplitError, split } from './split.ts'

const shown = (pieces: readonly Piece[]) => pieces.map((piece) => (piece.kind === 'text' ? piece.text : [piece.source, piece.at]))

describe('a template string', () => {
  const table: { says: string; given: string; want: unknown[] }[] = [
    { says: 'without expressions is text', given: 'plain $ { } text', want: ['plain $ { } text'] },
    { says: 'that is empty has no pieces', given: '', want: [] },
    { says: 'may be one expression', given: '${a.b}', want: [['a.b', 2]] },
    { says: 'may join text and expressions', given: 'x-${a}-${b}y', want: ['x-', ['a', 4], '-', ['b', 9], 'y'] },
    {
      says: 'keeps nested braces in the expression',
      given: '${ {"k": {"l": 1}}["k"] }!',
      want: [[' {"k": {"l": 1}}["k"] ', 2], '!'],
    },
    { says: 'does not end at a brace inside a string', given: `\${a + "}" + '}'}b`, want: [[`a + "}" + '}'`, 2], 'b'] },
    { says: 'knows escaped quotes', given: '${"\\"}"}b', want: [['"\\"}"', 2], 'b'] },
    { says: 'knows raw strings, in which a backslash escapes nothing', given: '${r"\\"}b', want: [['r"\\"', 2], 'b'] },
    { says: 'does not take a name that ends in r for a raw prefix', given: '${bar"\\"}"}b', want: [['bar"\\"}"', 2], 'b'] },
    { says: 'knows triple quotes', given: '${"""}"} " """}b', want: [['"""}"} " """', 2], 'b'] },
    { says: 'knows comments', given: '${a // }\n}b', want: [['a // }\n', 2], 'b'] },
    { says: 'may hold ${ in a string of an expression', given: "${'${'}", want: [["'${'", 2]] },
  ]
  for (const { says, given, want } of table) test(says, () => assert.deepEqual(shown(split(given)), want))

  const wrong: { says: string; given: string; at: number }[] = [
    { says: 'that never ends is refused where it begins', given: 'ab${c', at: 4 },
    { says: 'whose string never ends is refused where that begins', given: '${a + "b}', at: 6 },
    { says: 'that is empty is refused', given: 'a${ }', at: 3 },
    { says: 'whose closing brace is commented out is refused', given: '${a // }', at: 2 },
  ]
  for (const { says, given, at } of wrong) {
    test(`with an expression ${says}`, () =>
      assert.throws(
        () => split(given),
        (error) => error instanceof SplitError && error.at === at,
      ))
  }
})

const textPiece = fc.string({ minLength: 1 }).filter((text) => !text.includes('${') && !text.endsWith('$'))
const literal = fc.string({ unit: fc.constantFrom('a', '}', '{', '$', "'", '/', ' ') }).map((inner) => JSON.stringify(inner))
const expressionPiece = fc.oneof(
  fc.constantFrom('a', 'a.b', '{"a": {}}', '[1, 2].map(x, {"x": x})', "r'\\'"),
  literal,
  fc.tuple(literal, literal).map(([a, b]) => `{${a}: ${b}}`),
)

test('what was put together is taken apart again, whatever stands in text and strings', () => {
  const parts = fc.array(
    fc.oneof(
      textPiece.map((text) => ({ text })),
      expressionPiece.map((source) => ({ source })),
    ),
  )
  fc.assert(
    fc.property(parts, (given) => {
      const template = given.map((part) => ('text' in part ? part.text : `\${${part.source}}`)).join('')
      const pieces = split(template)
      const again = pieces.map((piece) => (piece.kind === 'text' ? piece.text : `\${${piece.source}}`)).join('')
      assert.equal(again, template)
      assert.deepEqual(
        pieces.filter((piece) => piece.kind === 'expression').map((piece) => piece.source),
        given.flatMap((part) => ('source' in part ? [part.source] : [])),
      )
      for (const piece of pieces) {
        if (piece.kind === 'expression') assert.equal(template.slice(piece.at, piece.at + piece.source.length), piece.source)
      }
    }),
  )
})

test('no string makes it throw anything but a SplitError', () => {
  const string = fc.string({ unit: fc.constantFrom('$', '{', '}', '"', "'", '\\', 'r', 'b', '/', '\n', 'é') })
  fc.assert(
    fc.property(string, (given) => {
      try {
        split(given)
      } catch (error) {
        assert.ok(error instanceof SplitError && error.at >= 0 && error.at <= given.length)
      }
    }),
  )
})
