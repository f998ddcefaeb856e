/** What `kubectl get` and `kubectl explain` show of each kind, by the definitions that are installed. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { nsoManifests } from '@nso/api'
import { galacticManifests } from 'galactic/manifests'
import { bridgeManifests } from 'kube-bridge/manifests'
import { crdOf, type PrintColumn } from 'kube-control-loop'
import { IPAllocation, IPClaim, IPClass, IPPool } from 'kube-ipam'

type Schema = {
  description?: string
  type?: string
  properties?: Record<string, Schema>
  items?: Schema
  additionalProperties?: Schema | boolean
}
type Version = { additionalPrinterColumns?: PrintColumn[]; schema: { openAPIV3Schema: Schema } }
type Definition = { spec: { names: { kind: string }; versions: Version[] } }

const definitions = [
  ...nsoManifests().crds,
  ...galacticManifests().crds,
  ...galacticManifests().local,
  ...bridgeManifests().crds,
  ...[IPClaim, IPAllocation, IPClass, IPPool].map((kind) => crdOf(kind)),
] as unknown as Definition[]

const served = definitions.flatMap(({ spec }) => spec.versions.map((version) => ({ kind: spec.names.kind, version })))

/** As the original system has them: names, order, and what stands only in `-o wide`. What is added since comes after, only there. */
const original: Record<string, { always: string[]; wide?: string[] }> = {
  Network: { always: ['IPv6Prefix', 'Ready', 'Reason', 'Age'], wide: ['IPFamilies', 'IPAM', 'MTU'] },
  NetworkContext: { always: ['Age', 'Ready', 'Reason', 'IPv6Subnet'] },
  Subnet: { always: ['Age', 'Ready', 'Reason', 'Start Address', 'Prefix Length'] },
  NetworkInterfaceClaim: { always: ['Age', 'Network', 'Interface', 'Ready', 'Reason'] },
  NetworkInterface: { always: ['Age', 'Network', 'Phase', 'Claim', 'Allocated', 'Prepared', 'Programmed'] },
  VPC: { always: ['VPC', 'Ready'] },
  // It has none, and kubectl shows the age then.
  VPCAttachment: { always: ['Age'] },
  BGPAdvertisement: { always: ['ROUTER', 'ADDRESS-FAMILY', 'PREFIXES', 'AGE'] },
}

describe('kubectl get', () => {
  const columnsOf = (kind: string) => {
    const found = served.find((each) => each.kind === kind)
    assert.ok(found, `${kind} is defined`)
    const columns = found.version.additionalPrinterColumns ?? []
    const named = (isWide: boolean) => columns.filter(({ priority = 0 }) => priority > 0 === isWide).map(({ name }) => name)
    return { always: named(false), wide: named(true) }
  }
  for (const [kind, { always, wide = [] }] of Object.entries(original)) {
    test(`shows ${kind} as the original does`, () => {
      const columns = columnsOf(kind)
      assert.deepEqual(columns.always, always)
      assert.deepEqual(columns.wide.slice(0, wide.length), wide)
    })
  }
  test('has no column of a field that no kind has', () => {
    const lost = served.flatMap(({ kind, version: { additionalPrinterColumns = [], schema } }) =>
      additionalPrinterColumns
        .filter(({ jsonPath }) => !jsonPath.startsWith('.metadata.') && !at(schema.openAPIV3Schema, jsonPath))
        .map(({ name, jsonPath }) => `${kind} ${name} ${jsonPath}`),
    )
    assert.deepEqual(lost, [])
  })
  test('shows the age of everything', () => {
    // Kinds of an address service have the columns that it gives them.
    for (const { kind, version } of served.filter((each) => !each.kind.startsWith('IP'))) {
      const columns = version.additionalPrinterColumns ?? []
      const isAge = ({ jsonPath }: PrintColumn) => jsonPath === '.metadata.creationTimestamp'
      if (columns.length > 0) assert.ok(columns.some(isAge), `${kind} has an age`)
    }
  })
})

/** The schema of what a column shows. */
function at(root: Schema, jsonPath: string): Schema | undefined {
  const steps = jsonPath.match(/(?:\\.|[^.[\\])+|\[[^\]]*\]/g) ?? []
  return steps.reduce<Schema | undefined>((schema, step) => {
    if (step.startsWith('[')) return schema?.items
    const name = step.replaceAll('\\', '')
    return (
      schema?.properties?.[name] ?? (typeof schema?.additionalProperties === 'object' ? schema.additionalProperties : undefined)
    )
  }, root)
}

/** Fields that kubectl explains by itself. */
const known = ['apiVersion', 'kind', 'metadata']

test('kubectl explain says something of every field', () => {
  const mute = (schema: Schema, path: string): string[] => [
    ...Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => [
      ...(inner.description || known.includes(name) ? [] : [`${path}.${name}`]),
      ...mute(inner, `${path}.${name}`),
    ]),
    ...(schema.items ? mute(schema.items, `${path}[]`) : []),
  ]
  assert.deepEqual(
    served.flatMap(({ kind, version: { schema } }) => [
      ...(schema.openAPIV3Schema.description ? [] : [kind]),
      ...mute(schema.openAPIV3Schema, kind),
    ]),
    [],
  )
})
