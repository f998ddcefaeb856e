import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubeObject, ManagedFieldsEntry } from 'kube-control-loop'
import { findingsOn } from './findings.ts'
import { rowOf } from './table.ts'

const leaf = { '.': {}, 'f:type': {}, 'f:status': {} }
const conditions = (...types: string[]) => ({
  'f:conditions': Object.fromEntries(types.map((type) => [`k:${JSON.stringify({ type })}`, leaf])),
})

type Entry = {
  manager: string
  operation?: 'Apply' | 'Update'
  status?: object
  metadata?: object
  spec?: object
  subresource?: string
}

function entryOf({
  manager,
  operation = 'Apply',
  status,
  metadata,
  spec,
  subresource = status ? 'status' : '',
}: Entry): ManagedFieldsEntry {
  const parts = { 'f:status': status, 'f:metadata': metadata, 'f:spec': spec }
  const fieldsV1 = Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined))
  return { manager, operation, fieldsV1, ...(subresource ? { subresource } : {}) }
}

type Given = { kind?: string; group?: string; status?: object; labels?: Record<string, string>; entries: Entry[] }

const groups: Readonly<Record<string, string>> = {
  VPCAttachment: 'cloud.datumapis.com',
  NetworkAttachmentDefinition: 'k8s.cni.cncf.io',
  BGPAdvertisement: 'network.datumapis.com',
}

function found({ kind = 'NetworkInterface', status, labels, entries }: Given): string[] {
  const group = groups[kind] ?? 'networking.datumapis.com'
  const row = rowOf({ apiVersion: `${group}/v1`, kind })
  assert.ok(row)
  const object: KubeObject = {
    ...{ apiVersion: `${group}/v1`, kind, spec: {}, ...(status ? { status } : {}) },
    metadata: { name: 'web-0', namespace: 'default', ...(labels ? { labels } : {}), managedFields: entries.map(entryOf) },
  }
  return findingsOn(row, object).map(({ finding, path, writer }) => [finding, path, writer?.manager].filter(Boolean).join(' '))
}

const ours = { manager: 'nso-networkinterface', status: { ...conditions('Prepared'), 'f:phase': {} } }
const prepared = { type: 'Prepared', status: 'True', reason: 'x', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' }

const table: { says: string; given: Given; want: string[] }[] = [
  { says: 'the documented writer, by apply', given: { entries: [ours] }, want: [] },
  {
    says: 'the documented manager by update: a name that was borrowed, or a client that is wrong',
    given: { entries: [{ ...ours, operation: 'Update' }] },
    want: ['second-writer status.phase nso-networkinterface', 'second-writer status.conditions/Prepared nso-networkinterface'],
  },
  {
    says: 'somebody else holds the value',
    given: { entries: [{ manager: 'kubectl-edit', operation: 'Update', status: conditions('Prepared') }] },
    want: ['second-writer status.conditions/Prepared kubectl-edit'],
  },
  {
    says: 'somebody else owns the value too',
    given: { entries: [ours, { manager: 'evil', status: { 'f:phase': {} } }] },
    want: ['second-owner status.phase evil'],
  },
  {
    says: 'the manager of another component',
    given: { entries: [{ manager: 'galactic-vpcattachment', status: conditions('Programmed') }] },
    want: ['second-writer status.conditions/Programmed galactic-vpcattachment'],
  },
  {
    says: 'a value that nobody owns',
    given: { entries: [], status: { conditions: [prepared], phase: 'Bound' } },
    want: ['nobody status.phase', 'nobody status.conditions/Prepared'],
  },
  {
    says: 'a seed that nobody owns',
    given: {
      entries: [],
      status: { conditions: [{ ...prepared, status: 'Unknown', lastTransitionTime: '1970-01-01T00:00:00Z' }] },
    },
    want: [],
  },
  {
    says: 'an entry of the original',
    given: { entries: [{ manager: 'manager', operation: 'Update', status: { 'f:phase': {} } }] },
    want: ['former status.phase manager'],
  },
  {
    says: 'the list as one value, of the original: told once',
    given: { entries: [{ manager: 'vpc-controller', operation: 'Update', status: { 'f:conditions': {} } }] },
    want: ['former status.conditions vpc-controller'],
  },
  {
    says: 'an applied entry with a name of the original is not the original’s',
    given: { entries: [{ manager: 'manager', status: { 'f:phase': {} } }] },
    want: ['second-writer status.phase manager'],
  },
  {
    says: 'the holder, under any manager',
    given: { entries: [{ manager: 'compute', status: conditions('HolderAvailable') }] },
    want: [],
  },
  {
    says: 'the holder’s condition by a component',
    given: { entries: [{ manager: 'nso-networkinterface', status: conditions('HolderAvailable') }] },
    want: ['second-writer status.conditions/HolderAvailable nso-networkinterface'],
  },
  { says: 'a condition that nobody documents', given: { entries: [{ manager: 'evil', status: conditions('Mine') }] }, want: [] },
  {
    says: 'a label of the interface that the claim hands on',
    given: {
      entries: [{ manager: 'kubectl-label', operation: 'Update', metadata: { 'f:labels': { 'f:compute.datumapis.com/a': {} } } }],
    },
    want: ['second-writer metadata.labels kubectl-label'],
  },
  {
    says: 'a label of somebody’s own on the interface',
    given: { entries: [{ manager: 'kubectl-label', operation: 'Update', metadata: { 'f:labels': { '.': {}, 'f:a': {} } } }] },
    want: [],
  },
  {
    says: 'an annotation of the interface that nobody documents',
    given: {
      entries: [{ manager: 'kubectl-annotate', operation: 'Update', metadata: { 'f:annotations': { '.': {}, 'f:note': {} } } }],
    },
    want: [],
  },
  {
    says: 'one of two documented writers of an annotation',
    given: {
      entries: [
        {
          manager: 'nso-networkinterface',
          operation: 'Update',
          metadata: { 'f:annotations': { 'f:networking.datumapis.com/data-plane': {} } },
        },
      ],
    },
    want: [],
  },
  {
    says: 'the spec of an interface',
    given: { entries: [{ manager: 'kubectl-edit', operation: 'Update', spec: { 'f:mtu': {} } }] },
    want: ['second-writer spec kubectl-edit'],
  },
  {
    says: 'the spec of a claim: its creator’s, whoever that is',
    given: {
      kind: 'NetworkInterfaceClaim',
      entries: [{ manager: 'kubectl-create', operation: 'Update', spec: { 'f:network': {} } }],
    },
    want: [],
  },
  {
    says: 'a finalizer that came in the body',
    given: {
      kind: 'VPCAttachment',
      entries: [
        {
          manager: 'nso-dataplane',
          operation: 'Update',
          metadata: { 'f:finalizers': { 'v:"cloud.datumapis.com/finalizer"': {} } },
        },
      ],
    },
    want: [],
  },
  {
    says: 'a finalizer that somebody applies, and would take away',
    given: {
      kind: 'VPCAttachment',
      entries: [{ manager: 'kubectl', metadata: { 'f:finalizers': { 'v:"cloud.datumapis.com/finalizer"': {} } } }],
    },
    want: ['second-writer metadata.finalizers/cloud.datumapis.com/finalizer kubectl'],
  },
  {
    says: 'a path that is reserved',
    given: { kind: 'VPCAttachment', entries: [{ manager: 'galactic-vpcattachment', status: { 'f:podName': {} } }] },
    want: ['reserved status.podName galactic-vpcattachment'],
  },
  {
    says: 'a context of a user: shared with NSO',
    given: { kind: 'NetworkContext', entries: [{ manager: 'kubectl', spec: { 'f:location': {} } }] },
    want: [],
  },
  {
    says: 'a definition of somebody’s own',
    given: { kind: 'NetworkAttachmentDefinition', entries: [{ manager: 'kubectl', spec: { 'f:config': {} } }] },
    want: [],
  },
  {
    says: 'a definition of Galactic that somebody changed',
    given: {
      ...{ kind: 'NetworkAttachmentDefinition', labels: { 'cloud.datumapis.com/vpc-attachment': '1' } },
      entries: [{ manager: 'kubectl', spec: { 'f:config': {} } }],
    },
    want: ['second-writer spec kubectl'],
  },
  {
    says: 'a router, under any manager',
    given: { kind: 'BGPAdvertisement', entries: [{ manager: 'frr', status: conditions('Advertised') }] },
    want: [],
  },
]

for (const { says, given, want } of table) {
  test(`a check finds ${want.length === 0 ? 'nothing' : 'it'}: ${says}`, () => {
    assert.deepEqual(found(given), want)
  })
}

test('entries that are malformed tell nothing and break nothing', () => {
  const row = rowOf({ apiVersion: 'networking.datumapis.com/v1', kind: 'NetworkInterface' })
  assert.ok(row)
  for (const fieldsV1 of [
    undefined,
    {},
    { 'f:status': 1 },
    { 'f:status': { 'f:conditions': { 'k:{': {} } } },
    { 'f:metadata': null },
  ]) {
    const managedFields = [{ manager: 'x', operation: 'Update', fieldsV1 }] as ManagedFieldsEntry[]
    const object = { apiVersion: 'x/v1', kind: 'NetworkInterface', metadata: { name: 'a', managedFields }, spec: {} }
    assert.deepEqual(findingsOn(row, object), [])
  }
})
