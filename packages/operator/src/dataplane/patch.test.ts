import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { JsonPatchOperation, KubeObject } from 'kube-control-loop'
import { difference, escapePointer, type Rendered, valueAt } from './patch.ts'

const object = (spec: unknown, labels?: Record<string, string>): KubeObject => ({
  apiVersion: 'planes.example.dev/v1',
  kind: 'Wire',
  metadata: { name: 'web-0', ...(labels ? { labels } : {}) },
  spec,
})
const rendered = (spec: unknown, labels?: Record<string, string>, leftOut: string[] = []): Rendered => ({
  body: object(spec, labels),
  leftOut,
})

/** RFC 6902 as the API server takes it: `test` with null also holds for what is absent; a failed test fails all. */
function apply(target: KubeObject, operations: readonly JsonPatchOperation[]): KubeObject {
  const result = structuredClone(target)
  for (const operation of operations) {
    const standing = valueAt(result, operation.path) ?? null
    if (operation.op === 'test') {
      assert.deepEqual(standing, operation.value)
      continue
    }
    const cut = operation.path.lastIndexOf('/')
    const parent = valueAt(result, operation.path.slice(0, cut)) as Record<string, unknown>
    const key = operation.path
      .slice(cut + 1)
      .replaceAll('~1', '/')
      .replaceAll('~0', '~')
    if (operation.op === 'remove') delete parent[key]
    else Object.defineProperty(parent, key, { value: operation.value, enumerable: true, configurable: true, writable: true })
  }
  return result
}

describe('the difference', () => {
  const table: { says: string; wants: Rendered; stored: KubeObject; want: object[] }[] = [
    { says: 'is nothing between equals', wants: rendered({ a: 1 }), stored: object({ a: 1 }), want: [] },
    {
      says: 'ignores what the schema added',
      wants: rendered({ a: { b: 1 } }),
      stored: object({ a: { b: 1, mode: 'Netns' }, c: 2 }),
      want: [],
    },
    {
      says: 'ignores what the schema added to items of a list',
      wants: rendered({ a: [{ b: 1 }] }),
      stored: object({ a: [{ b: 1, mode: 'x' }] }),
      want: [],
    },
    { says: 'takes an empty list for an absent one', wants: rendered({ a: [] }), stored: object({}), want: [] },
    { says: 'takes an empty map for an absent one', wants: rendered({ a: {} }), stored: object({}), want: [] },
    {
      says: 'replaces a value while it is the old one',
      wants: rendered({ a: { mtu: 1500 } }),
      stored: object({ a: { mtu: 1400 } }),
      want: [
        { op: 'test', path: '/spec/a/mtu', value: 1400 },
        { op: 'replace', path: '/spec/a/mtu', value: 1500 },
      ],
    },
    {
      says: 'adds a value while there is none',
      wants: rendered({ a: { mtu: 1500 } }),
      stored: object({ a: {} }),
      want: [
        { op: 'test', path: '/spec/a/mtu', value: null },
        { op: 'add', path: '/spec/a/mtu', value: 1500 },
      ],
    },
    {
      says: 'adds a whole map where its place is empty',
      wants: rendered({ a: { b: { c: 1 } } }),
      stored: object({}),
      want: [
        { op: 'test', path: '/spec/a', value: null },
        { op: 'add', path: '/spec/a', value: { b: { c: 1 } } },
      ],
    },
    {
      says: 'replaces a list as a whole',
      wants: rendered({ a: ['x'] }),
      stored: object({ a: ['x', 'y'] }),
      want: [
        { op: 'test', path: '/spec/a', value: ['x', 'y'] },
        { op: 'replace', path: '/spec/a', value: ['x'] },
      ],
    },
    {
      says: 'empties a list that lost its items',
      wants: rendered({ a: [] }),
      stored: object({ a: ['x'] }),
      want: [
        { op: 'test', path: '/spec/a', value: ['x'] },
        { op: 'replace', path: '/spec/a', value: [] },
      ],
    },
    {
      says: 'removes what the template names but no longer yields',
      wants: rendered({ a: {} }, undefined, ['/spec/a/mtu']),
      stored: object({ a: { mtu: 1400 } }),
      want: [
        { op: 'test', path: '/spec/a/mtu', value: 1400 },
        { op: 'remove', path: '/spec/a/mtu' },
      ],
    },
    { says: 'removes nothing that is not there', wants: rendered({}, undefined, ['/spec/a/mtu']), stored: object({}), want: [] },
    {
      says: 'changes own labels and leaves foreign ones',
      wants: rendered({}, { 'app/name': 'web' }),
      stored: object({}, { 'app/name': 'old', foreign: 'x' }),
      want: [
        { op: 'test', path: '/metadata/labels/app~1name', value: 'old' },
        { op: 'replace', path: '/metadata/labels/app~1name', value: 'web' },
      ],
    },
    {
      says: 'adds labels where there are none',
      wants: rendered({}, { app: 'web' }),
      stored: object({}),
      want: [
        { op: 'test', path: '/metadata/labels', value: null },
        { op: 'add', path: '/metadata/labels', value: { app: 'web' } },
      ],
    },
  ]
  for (const { says, wants, stored, want } of table) test(says, () => assert.deepEqual(difference(wants, stored), want))

  test('leaves a value that is known to be a default of the schema', () => {
    const wants = rendered({}, undefined, ['/spec/mode'])
    assert.deepEqual(
      difference(wants, object({ mode: 'Netns' }), (pointer, value) => pointer === '/spec/mode' && value === 'Netns'),
      [],
    )
    assert.equal(difference(wants, object({ mode: 'Hypervisor' }), (_, value) => value === 'Netns').length, 2)
  })
})

const leaf = fc.oneof(fc.integer(), fc.string(), fc.boolean(), fc.array(fc.integer(), { maxLength: 3 }))
const key = fc.constantFrom('a', 'b', 'c/d', 'e~f', '~1')
const spec = fc.letrec((tie) => ({
  map: fc.dictionary(key, fc.oneof({ depthSize: 'small' }, leaf, tie('map')), { maxKeys: 4, noNullPrototype: true }),
})).map

test('after its operations nothing differs, what was rendered stands, and what was not named is as before', () => {
  fc.assert(
    fc.property(spec, spec, (wanted, standing) => {
      const stored = object({ ...(standing as object), untouched: 'x' })
      const wants = rendered(wanted)
      const after = apply(stored, difference(wants, stored))
      assert.deepEqual(difference(wants, after), [])
      assert.equal(valueAt(after, '/spec/untouched'), 'x')
      for (const [name, value] of Object.entries(standing as object)) {
        if (!Object.hasOwn(wanted as object, name)) assert.deepEqual(valueAt(after, `/spec/${escapePointer(name)}`), value)
      }
    }),
  )
})
