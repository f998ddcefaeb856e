import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Environment } from '@marcbachmann/cel-js'
import fc from 'fast-check'
import { celScope, compileExpression } from './cel.ts'
import { readsOf } from './reads.ts'

const table: { says: string; source: string; reads: Record<string, unknown> }[] = [
  { says: 'a select reads that field', source: 'interface.spec.mtu', reads: { interface: { spec: { mtu: 'all' } } } },
  { says: 'an optional select too', source: 'interface.?spec.?mtu.orValue(1)', reads: { interface: { spec: { mtu: 'all' } } } },
  {
    says: 'a macro reads all of its list',
    source: 'interface.spec.addresses.map(a, a.address)',
    reads: { interface: { spec: { addresses: 'all' } }, a: 'all' },
  },
  {
    says: 'an index reads all below',
    source: 'interface.metadata.labels["a.b/c"]',
    reads: { interface: { metadata: { labels: 'all' } } },
  },
  {
    says: 'the whole wins over its parts',
    source: 'size(context.spec) + size(context.spec.network)',
    reads: { context: { spec: 'all' } },
  },
  {
    says: 'a bare variable is read whole, whatever else is selected from it',
    source: 'claim.metadata.name == "a" || claim == claim',
    reads: { claim: 'all' },
  },
]

for (const { says, source, reads } of table) {
  test(says, () => {
    const environment = new Environment({ enableOptionalTypes: true, homogeneousAggregateLiterals: false })
    for (const name of ['interface', 'context', 'claim']) environment.registerVariable(name, 'dyn')
    const found = JSON.parse(JSON.stringify(readsOf(environment.parse(source).ast)))
    // What a macro binds is no variable of the scope: it may or may not be listed, and converts nothing.
    delete found.a
    delete (reads as { a?: unknown }).a
    assert.deepEqual(found, reads)
  })
}

test('what is converted does not change what an expression yields', () => {
  const leaf = fc.oneof(fc.integer(), fc.string(), fc.boolean(), fc.constant(null), fc.array(fc.integer(), { maxLength: 2 }))
  const field = fc.constantFrom('a', 'b', 'c')
  const map = fc.dictionary(field, fc.oneof(leaf, fc.dictionary(field, leaf)))
  const sources = [
    'attachment.a',
    'attachment.a.b',
    'has(attachment.a.b) ? attachment.a : attachment',
    '[attachment.b, attachment.a.c]',
  ]
  fc.assert(
    fc.property(map, fc.constantFrom(...sources), (value, source) => {
      const outcome = (text: string) => {
        try {
          return compileExpression(text)(celScope({ subnets: [], attachment: value as never }))
        } catch (error) {
          return (error as Error).message
        }
      }
      // The same expression, made to read the whole variable.
      assert.deepEqual(outcome(source), outcome(`size([attachment]) == 1 ? (${source}) : (${source})`))
    }),
  )
})
