import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { crdOf, ownershipOf, structural } from './crd.ts'
import type { OwnershipTable } from './ownership.ts'
import {
  anything,
  conditions,
  defineKind,
  immutable,
  int32,
  list,
  oneOf,
  optional,
  record,
  seeded,
  text,
  textMap,
} from './schema.ts'

const Widget = defineKind({
  group: 'widgets.example.dev',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  shortNames: ['wd'],
  description: 'A widget.',
  columns: [{ name: 'Size', type: 'integer', jsonPath: '.spec.size', priority: 1 }],
  spec: record(
    {
      size: int32({ description: 'Edge.', default: 3, minimum: 1 }),
      color: oneOf(['red', 'blue'], { description: 'Paint.' }),
      tags: optional(textMap()),
      parts: optional(list(record({ name: text({ default: 'a' }), free: anything() }))),
    },
    { description: 'A spec.', rules: immutable('spec') },
  ),
  status: record(
    {
      phase: optional(text({ description: 'Phase.' })),
      uid: optional(text({ description: 'Uid.' })),
      conditions: optional(conditions('All.')),
    },
    { default: seeded('Ready') },
  ),
  rules: [{ rule: 'self.metadata.name != "x"', message: 'no x' }],
})

const table: OwnershipTable = [
  {
    kind: Widget,
    status: [
      { writer: 'painter', identity: 'app', owns: ['phase', 'conditions/Ready', 'conditions/Dry'], when: 'when painted' },
      { writer: 'holder', identity: 'holder', owns: ['conditions/Held'], when: 'when held' },
    ],
    metadata: [{ path: 'spec', writer: 'user', identity: 'user', when: 'at creation' }],
    reserved: [{ path: 'uid', why: 'not built' }],
  },
]

const crd = crdOf(Widget, ownershipOf(Widget, table))

/** Looks into plain data: `spec.versions.0.name`. */
const at = (value: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((inner, key) => (inner as Record<string, unknown> | undefined)?.[key], value)

const version = at(crd, 'spec.versions.0')
const schema = at(version, 'schema.openAPIV3Schema')
const inSpec = (path: string) => at(schema, `properties.spec.${path}`)
const inStatus = (path: string) => at(schema, `properties.status.${path}`)

test('a kind becomes a served definition with its names, columns and status subresource', () => {
  assert.equal(crd.metadata.name, 'widgets.widgets.example.dev')
  assert.deepEqual(at(crd, 'spec.names'), {
    kind: 'Widget',
    listKind: 'WidgetList',
    plural: 'widgets',
    singular: 'widget',
    shortNames: ['wd'],
  })
  assert.equal(at(crd, 'spec.scope'), 'Namespaced')
  assert.deepEqual(at(version, 'additionalPrinterColumns'), Widget.columns)
  assert.deepEqual(at(version, 'subresources'), { status: {} })
  assert.deepEqual(at(schema, 'x-kubernetes-validations'), [{ rule: 'self.metadata.name != "x"', message: 'no x' }])
})

test('what has a default is not required; everything else that is not optional is', () => {
  assert.deepEqual(inSpec('required'), ['color'])
  assert.deepEqual(inSpec('properties.parts.items.required'), ['free'])
})

test('rules, enums, formats and bounds reach the schema under the server’s names', () => {
  assert.deepEqual(inSpec('properties.size'), { type: 'integer', format: 'int32', description: 'Edge.', default: 3, minimum: 1 })
  assert.deepEqual(inSpec('properties.color'), { type: 'string', enum: ['red', 'blue'], description: 'Paint.' })
  assert.deepEqual(inSpec('properties.tags'), { type: 'object', additionalProperties: { type: 'string' } })
  assert.equal(inSpec('x-kubernetes-validations.0.rule'), 'self == oldSelf')
})

test('conditions are a map by type, other lists are atomic, and seeds stand in the default', () => {
  assert.equal(inStatus('properties.conditions.x-kubernetes-list-type'), 'map')
  assert.deepEqual(inStatus('properties.conditions.x-kubernetes-list-map-keys'), ['type'])
  assert.equal(inSpec('properties.parts.x-kubernetes-list-type'), 'atomic')
  assert.deepEqual(inStatus('default.conditions.0'), {
    type: 'Ready',
    status: 'Unknown',
    reason: 'Pending',
    message: 'Waiting for controller',
    lastTransitionTime: '1970-01-01T00:00:00Z',
  })
})

test('descriptions name who writes a field, and what nobody writes', () => {
  assert.equal(inStatus('properties.phase.description'), 'Phase. Written only by painter.')
  assert.equal(inStatus('properties.uid.description'), 'Uid. Reserved, written by nobody: not built.')
  assert.equal(
    inStatus('properties.conditions.description'),
    'All. Ready, Dry: Written only by painter. Held: Written only by the holder.',
  )
  assert.equal(inSpec('description'), 'A spec. Written only by the user, at creation.')
})

test('descriptions say, where the table does, what a field comes from', () => {
  const row = ownershipOf(Widget, table)
  assert.ok(row)
  const texts = { phase: { when: 'at noon', source: 'the paint' }, 'conditions/Dry': { when: 'at noon', source: 'the air' } }
  const described = at(crdOf(Widget, { ...row, texts }), 'spec.versions.0.schema.openAPIV3Schema.properties.status.properties')
  assert.equal(at(described, 'phase.description'), 'Phase. Written only by painter, from the paint.')
  assert.equal(
    at(described, 'conditions.description'),
    'All. Ready: Written only by painter. Dry: Written only by painter, from the air. Held: Written only by the holder.',
  )
})

test('without a table nobody is named, and the schema is the same otherwise', () => {
  const plain = JSON.stringify(crdOf(Widget))
  assert.ok(!plain.includes('Written only'))
  assert.equal(plain.replaceAll(/"description":"[^"]*",?/g, ''), JSON.stringify(crd).replaceAll(/"description":"[^"]*",?/g, ''))
})

test('a kind without a status has no status subresource', () => {
  const Plain = defineKind({ group: 'g.dev', version: 'v1', kind: 'Plain', plural: 'plains', description: '', spec: record({}) })
  const plain = at(crdOf(Plain), 'spec.versions.0')
  assert.equal(at(plain, 'name'), 'v1')
  assert.equal(at(plain, 'subresources'), undefined)
  assert.equal(at(plain, 'schema.openAPIV3Schema.properties.status'), undefined)
})

test('making a schema structural twice changes nothing more', () => {
  const leaf = fc.oneof(
    fc.constant(text()),
    fc.constant(int32({ default: 1 })),
    fc.constant(anything()),
    fc.constant(textMap({ minProperties: 1 })),
  )
  const schemas = fc.letrec((tie) => ({
    node: fc.oneof(
      { depthSize: 'small' },
      leaf,
      fc
        .dictionary(fc.string({ minLength: 1 }), tie('node') as typeof leaf, { maxKeys: 3 })
        .map((properties) => record(properties)),
      (tie('node') as typeof leaf).map((item) => list(item)),
    ),
  })).node
  fc.assert(
    fc.property(schemas, (given) => {
      const once = structural({ ...given })
      assert.deepEqual(structural(once), once)
    }),
  )
})
