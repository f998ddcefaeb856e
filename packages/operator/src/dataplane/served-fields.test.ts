// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the strings are templates of a DataPlane
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { DataPlane } from '@nso/api'
import fc from 'fast-check'
import { type Schema, schemaIn } from './openapi.ts'
import { compileSpec } from './plane.ts'
import { unknownFields } from './served-fields.ts'

const wire = { apiVersion: 'wires.example.dev/v1', kind: 'Wire' }
const net = { apiVersion: 'wires.example.dev/v1', kind: 'Net' }
const text = { type: 'string' }

/** A document as the server publishes it. */
const documentWith = (kind: string, properties: object, more: object = {}) => ({
  components: {
    schemas: {
      'io.k8s.ObjectMeta': { type: 'object', properties: { name: text } },
      'io.k8s.Ends': { type: 'object', properties: { left: text, next: { $ref: '#/components/schemas/io.k8s.Ends' } } },
      [`dev.example.wires.v1.${kind}`]: {
        type: 'object',
        properties: {
          apiVersion: text,
          kind: text,
          metadata: { description: 'x', allOf: [{ $ref: '#/components/schemas/io.k8s.ObjectMeta' }] },
          ...properties,
        },
        'x-kubernetes-group-version-kind': [{ group: 'wires.example.dev', kind, version: 'v1' }],
        ...more,
      },
    },
  },
})

const conditions = { type: 'object', properties: { conditions: { type: 'array', items: { type: 'object' } }, id: text } }
const specOf = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more })
const read = (spec: object, given: { prunes?: boolean; status?: object } = {}) =>
  schemaIn(documentWith('Wire', { spec, status: given.status ?? conditions }), { kind: wire, prunes: given.prunes ?? true })

const fields = {
  mtu: { type: 'integer' },
  ratio: { type: 'number' },
  on: { type: 'boolean' },
  mode: { type: 'string', enum: ['tap', 'veth'] },
  level: { type: 'integer', enum: [1, 2] },
  ends: { type: 'array', items: { type: 'object', properties: { at: text } } },
  bag: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: { known: specOf({ inner: text }) } },
  labels: { type: 'object', additionalProperties: text },
  port: { 'x-kubernetes-int-or-string': true },
  closed: { type: 'object' },
  open: { type: 'object', additionalProperties: true },
  embedded: { type: 'object', 'x-kubernetes-embedded-resource': true, properties: { data: text } },
  shared: { allOf: [{ $ref: '#/components/schemas/io.k8s.Ends' }], default: {} },
}

function problems(
  given: { spec?: object; report?: object; network?: object },
  { schema }: { schema: Schema | undefined } = { schema: read(specOf(fields)) },
) {
  const object = {
    attachment: { ...wire, spec: given.spec ?? {} },
    ...(given.network ? { network: { ...net, spec: given.network } } : {}),
    report: { prepared: { condition: 'Ready' }, ...given.report },
  } as unknown as DataPlane['spec']
  const { reads, errors } = compileSpec(object)
  assert.deepEqual(errors, [])
  const netSchema = schemaIn(documentWith('Net', { spec: specOf({ size: text }), status: specOf({ id: text }) }), {
    kind: net,
    prunes: true,
  })
  const network = given.network && { ref: net, schema: netSchema }
  return unknownFields(object, reads, { attachment: { ref: wire, schema }, network }).map(({ message }) => message)
}

describe('a template is held against the schema:', () => {
  const says = 'Wire (wires.example.dev/v1)'
  const at = 'spec.attachment.spec'
  const rows: { says: string; given: Parameters<typeof problems>[0]; want: string[] }[] = [
    {
      says: 'what is there passes',
      given: { spec: { mtu: 1, ratio: 2, on: true, mode: 'tap', level: 2, ends: [{ at: 'x' }] } },
      want: [],
    },
    {
      says: 'expressions pass',
      given: { spec: { mtu: '${interface.spec.mtu}', ends: '${[1]}', closed: '${{"a": 1}}' } },
      want: [],
    },
    { says: 'null counts as absent', given: { spec: { mtu: null } }, want: [] },
    {
      says: 'a key is misspelt',
      given: { spec: { mtuu: 1 } },
      want: [
        `${at}.mtuu: ${says} has no field spec.mtuu: there it has mtu, ratio, on, mode, level, ends, bag, labels, port, closed and 3 more`,
      ],
    },
    {
      says: 'a key in a list',
      given: { spec: { ends: [{}, { to: 'x' }] } },
      want: [`${at}.ends[1].to: ${says} has no field spec.ends[].to: there it has at`],
    },
    {
      says: 'a key where nothing is kept',
      given: { spec: { closed: { a: 1 } } },
      want: [`${at}.closed.a: ${says} has no field spec.closed.a: nothing is kept there`],
    },
    {
      says: 'any key where unknown ones are kept',
      given: { spec: { bag: { any: { thing: [1] } }, open: { any: 1 } } },
      want: [],
    },
    {
      says: 'a known key there is held to its schema',
      given: { spec: { bag: { known: { outer: 1 } } } },
      want: [`${at}.bag.known.outer: ${says} has no field spec.bag.known.outer: there it has inner`],
    },
    {
      says: 'any key of a map, with its values',
      given: { spec: { labels: { a: 'x', b: 1 } } },
      want: [`${at}.labels.b: ${says} has text at spec.labels.b, not an integer`],
    },
    { says: 'either of a number and text', given: { spec: { port: 'http' } }, want: [] },
    {
      says: 'what every embedded object has',
      given: { spec: { embedded: { kind: 'X', metadata: { name: 'x' }, data: 'y', more: 1 } } },
      want: [`${at}.embedded.more: ${says} has no field spec.embedded.more: there it has apiVersion, kind, metadata, data`],
    },
    {
      says: 'a schema by reference, that refers to itself',
      given: { spec: { shared: { left: 'x', next: { next: { right: 'y' } } } } },
      want: [`${at}.shared.next.next.right: ${says} has no field spec.shared.next.next.right: there it has left, next`],
    },
    {
      says: 'text for a number',
      given: { spec: { mtu: 'x' } },
      want: [`${at}.mtu: ${says} has an integer at spec.mtu, not text`],
    },
    {
      says: 'a fraction for an integer',
      given: { spec: { mtu: 1.5 } },
      want: [`${at}.mtu: ${says} has an integer at spec.mtu, not a number`],
    },
    {
      says: 'joined text for a number',
      given: { spec: { mtu: 'a${1}' } },
      want: [`${at}.mtu: ${says} has an integer at spec.mtu, not text`],
    },
    {
      says: 'a list for a map',
      given: { spec: { labels: ['a'] } },
      want: [`${at}.labels: ${says} has a map at spec.labels, not a list`],
    },
    {
      says: 'a map for a list',
      given: { spec: { ends: { at: 'x' } } },
      want: [`${at}.ends: ${says} has a list at spec.ends, not a map`],
    },
    {
      says: 'a value that is not listed',
      given: { spec: { mode: 'pipe', level: 3 } },
      want: [
        `${at}.mode: ${says} takes one of tap, veth at spec.mode, not "pipe"`,
        `${at}.level: ${says} takes one of 1, 2 at spec.level, not 3`,
      ],
    },
    {
      says: 'reads of what is there',
      given: { report: { vpc: '${attachment.status.id}${attachment.metadata.name}${attachment.spec.labels.any}' } },
      want: [],
    },
    {
      says: 'a read of what is not',
      given: { report: { vpc: '${attachment.status.vpc}' } },
      want: [`spec.report.vpc, column 21: ${says} has no field status.vpc: there it has conditions, id`],
    },
    {
      says: 'a read of metadata that no object has',
      given: { report: { vpc: '${attachment.metadata.nam}' } },
      want: [`spec.report.vpc, column 23: ${says} has no field metadata.nam`],
    },
    {
      says: 'a field of a list',
      given: { report: { vpc: '${attachment.status.conditions.Ready}' } },
      want: [`spec.report.vpc, column 32: ${says} has no field status.conditions.Ready: there is a list`],
    },
    {
      says: 'a name that a macro binds is no variable',
      given: { report: { vpc: '${subnets.map(attachment, attachment.cidr)[0]}' } },
      want: [],
    },
    {
      says: 'the network object, written and read',
      given: { network: { size: 1, sice: 'x' }, report: { vpc: '${networkObject.status.ID}' } },
      want: [
        'spec.network.spec.size: Net (wires.example.dev/v1) has text at spec.size, not an integer',
        'spec.network.spec.sice: Net (wires.example.dev/v1) has no field spec.sice: there it has size',
        'spec.report.vpc, column 24: Net (wires.example.dev/v1) has no field status.ID: there it has id',
      ],
    },
  ]
  for (const { says: name, given, want } of rows) test(name, () => assert.deepEqual(problems(given), want))

  test('both conditions of a kind that has no place for them', () => {
    const schema = read(specOf(fields), { status: specOf({ phase: text }) })
    assert.deepEqual(problems({ report: { programmed: { condition: 'Flows' } } }, { schema }), [
      `spec.report.prepared.condition: ${says} has no field status.conditions: there it has phase`,
      `spec.report.programmed.condition: ${says} has no field status.conditions: there it has phase`,
    ])
  })
  test('a kind without a spec', () => {
    const schema = schemaIn(documentWith('Wire', { status: conditions }), { kind: wire, prunes: true })
    assert.deepEqual(problems({}, { schema }), [
      `${at}: ${says} has no field spec: there it has apiVersion, kind, metadata, status`,
    ])
  })
  test('a map without fields keeps what it is given, unless it is a definition’s', () => {
    assert.deepEqual(problems({ spec: { closed: { a: 1 } } }, { schema: read(specOf(fields), { prunes: false }) }), [])
  })
})

describe('nothing is said against anything', () => {
  const anySpec = { spec: { odd: 1 }, report: { vpc: '${attachment.status.odd}' } }
  const documents: Record<string, unknown> = {
    'without a document': undefined,
    'with a document that is text': 'no',
    'with one that is null': null,
    'with one without schemas': { components: {} },
    'with one of another kind': documentWith('Cable', { spec: specOf({}) }),
    'with a reference that leads nowhere': {
      components: {
        schemas: {
          a: {
            ...documentWith('Wire', {}).components.schemas['dev.example.wires.v1.Wire'],
            properties: { spec: { $ref: '#/nowhere' }, status: { $ref: '#/components/schemas/nowhere' } },
          },
        },
      },
    },
    'with a root that keeps everything': documentWith('Wire', {}, { 'x-kubernetes-preserve-unknown-fields': true }),
  }
  for (const [name, document] of Object.entries(documents)) {
    test(name, () => assert.deepEqual(problems(anySpec, { schema: schemaIn(document, { kind: wire, prunes: true }) }), []))
  }

  test('and whatever the server publishes, nothing is thrown', () => {
    const schemas = fc.dictionary(fc.constantFrom('a', 'b'), fc.jsonValue())
    fc.assert(
      fc.property(fc.jsonValue(), schemas, (spec, others) => {
        const document = documentWith('Wire', { spec: spec as object })
        Object.assign(document.components.schemas, others)
        problems(anySpec, { schema: schemaIn(document, { kind: wire, prunes: true }) })
      }),
    )
  })
})
