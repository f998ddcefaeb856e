/** Kinds of data planes that no table has: what of them is checked, and by what their DataPlane says. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DataPlane } from '@nso/api'
import type { Kind, KubeObject, ManagedFieldsEntry } from 'kube-control-loop'
import { findingsOn } from './findings.ts'
import { rowOfPlane, unlistedKinds } from './planes.ts'
import { rows } from './table.ts'

const apiVersion = 'cables.example.dev/v1'

const plane = (name: string, spec: object): DataPlane =>
  ({ apiVersion: 'networking.datumapis.com/v1alpha', kind: 'DataPlane', metadata: { name }, spec }) as unknown as DataPlane

const cables = plane('cables', {
  network: { apiVersion, kind: 'Duct' },
  attachment: { apiVersion, kind: 'Cable' },
  report: { prepared: { condition: 'Up' }, programmed: { condition: 'Up' } },
})

test('the kinds of the templates that no table has, each once, with what they report by', () => {
  const galactic = plane('galactic', { attachment: { apiVersion: 'cloud.datumapis.com/v1alpha1', kind: 'VPCAttachment' } })
  const again = plane('again', { attachment: { apiVersion: 'cables.example.dev/v2', kind: 'Cable' } })
  const junk = plane('junk', { attachment: 'x', network: { kind: 7 } })
  assert.deepEqual(
    unlistedKinds([galactic, again, cables, junk, { ...junk, spec: undefined } as never]).map(({ kind, part, reports }) => [
      kind,
      part,
      reports,
    ]),
    [
      ['Cable', 'attachment', ['Up']],
      ['Duct', 'network', []],
    ],
  )
})

const Cable: Kind = { group: 'cables.example.dev', version: 'v1', kind: 'Cable', plural: 'cables', scope: 'Namespaced' }

type Fields = Record<string, unknown>

const entry = (manager: string, fields: Fields, subresource?: string): ManagedFieldsEntry => ({
  ...{ manager, operation: subresource ? 'Apply' : 'Update', apiVersion, fieldsType: 'FieldsV1', fieldsV1: fields },
  ...(subresource ? { subresource } : {}),
})
const spec = { 'f:spec': { 'f:mtu': {} }, 'f:metadata': { 'f:ownerReferences': { '.': {}, 'k:{"uid":"x"}': {} } } }
const leaf = { '.': {}, 'f:type': {}, 'f:status': {} }
const up = { 'f:status': { 'f:conditions': { 'k:{"type":"Up"}': leaf } } }
const wholeList = { 'f:status': { 'f:conditions': {} } }

const table: { says: string; given: ManagedFieldsEntry[]; want: string[] }[] = [
  {
    says: 'NSO asks, the data plane reports under a name of its own',
    given: [entry('nso-dataplane', spec), entry('python-requests', up, 'status')],
    want: [],
  },
  {
    says: 'a list of conditions that is one value',
    given: [entry('nso-dataplane', spec), entry('python-requests', wholeList, 'status')],
    want: [],
  },
  {
    says: 'somebody has edited what NSO asked for',
    given: [entry('nso-dataplane', spec), entry('kubectl-edit', { 'f:spec': { 'f:mtu': {} } })],
    want: ['second-owner spec kubectl-edit'],
  },
  {
    says: 'somebody else made it',
    given: [entry('kubectl-create', spec)],
    want: ['second-writer spec kubectl-create', 'second-writer metadata.ownerReferences kubectl-create'],
  },
  {
    says: 'NSO has written a report, which it never may',
    given: [entry('nso-dataplane', spec), entry('nso-dataplane', up, 'status')],
    want: ['second-writer status.conditions/Up nso-dataplane'],
  },
]

for (const { says, given, want } of table) {
  test(`an attachment without a table: ${says}`, () => {
    const [named] = unlistedKinds([cables]).filter(({ kind }) => kind === 'Cable')
    assert.ok(named)
    const object: KubeObject = {
      ...{ apiVersion, kind: 'Cable', spec: { mtu: 1400 } },
      status: {
        conditions: [{ type: 'Up', status: 'True', reason: 'x', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' }],
      },
      metadata: { name: 'web-0', namespace: 'default', managedFields: given },
    }
    const found = findingsOn(rowOfPlane(named, Cable), object)
    assert.deepEqual(
      found.map(({ finding, path, writer }) => `${finding} ${path} ${writer?.manager}`),
      want,
    )
  })
}

test('a network definition is judged by the table of whoever has marked it, and by none where nobody has', () => {
  const of = (manager: string, labels: Record<string, string>): string[] => {
    const object: KubeObject = {
      ...{ apiVersion: 'k8s.cni.cncf.io/v1', kind: 'NetworkAttachmentDefinition', spec: {} },
      metadata: {
        name: 'web-0',
        namespace: 'default',
        labels,
        managedFields: [entry(manager, { 'f:spec': { 'f:config': {} } })],
      },
    }
    const own = rows.filter(({ kind }) => kind.kind === object.kind)
    assert.equal(own.length, 2)
    return own.flatMap((row) => findingsOn(row, object).map(({ path, writer }) => `${row.component} ${path} ${writer?.manager}`))
  }
  const [galactic, bridge] = [{ 'cloud.datumapis.com/vpc-attachment': 'b7' }, { 'bridge.datumapis.com/bridge': 'br-1' }]
  assert.deepEqual(of('galactic-vpcattachment', galactic), [])
  assert.deepEqual(of('bridge-attachment', bridge), [])
  assert.deepEqual(of('bridge-attachment', galactic), ['Galactic spec bridge-attachment'])
  assert.deepEqual(of('kubectl-edit', bridge), ['Bridge spec kubectl-edit'])
  assert.deepEqual(of('kubectl-edit', {}), [])
})
