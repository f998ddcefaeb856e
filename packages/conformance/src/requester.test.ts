import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { DataPlane } from '@nso/api'
import { contractView } from '@nso/operator'
import fc from 'fast-check'
import { attachmentFor, capabilitiesOf, networkFor, scopeOf } from './requester.ts'

const owner = { namespace: 'trial', name: 'requester', uid: 'u-1' }
const cel = (expression: string) => `$\{${expression}}`

const dataPlane = (capabilities?: DataPlane['spec']['capabilities']): DataPlane => ({
  apiVersion: 'networking.datumapis.com/v1alpha',
  kind: 'DataPlane',
  metadata: { name: 'toy' },
  spec: {
    contract: 'v1',
    locations: ['*'],
    ...(capabilities ? { capabilities } : {}),
    network: { apiVersion: 'toy.example.dev/v1', kind: 'Segment', spec: { ranges: cel('subnets.map(s, s.cidr)') } },
    attachment: {
      apiVersion: 'toy.example.dev/v1',
      kind: 'Plug',
      metadata: { labels: cel('interface.metadata.labels') },
      spec: {
        segment: cel('context.metadata.name'),
        mtu: cel('interface.spec.mtu'),
        mode: cel('interface.spec.attachmentMode'),
        addresses: cel('interface.spec.addresses.map(a, a.address)'),
        wanted: cel('claim.spec.ipFamilies'),
        of: cel('network.metadata.name'),
      },
    },
    report: { prepared: { condition: 'Ready' } },
  },
})

describe('what is asked for', () => {
  test('is what the templates make, owned by an object that exists', () => {
    const plane = dataPlane({ attachmentModes: ['Hypervisor'], addressFamilies: ['IPv4'] })
    const view = contractView(plane)
    const scope = scopeOf({ name: 'a', number: 258, mtu: 1300 }, owner, plane)
    assert.deepEqual(attachmentFor(view, scope, owner).body, {
      apiVersion: 'toy.example.dev/v1',
      kind: 'Plug',
      metadata: {
        name: 'a',
        namespace: 'trial',
        labels: { 'conformance.example.com/interface': 'a' },
        ownerReferences: [
          { apiVersion: 'v1', kind: 'ConfigMap', name: 'requester', uid: 'u-1', controller: true, blockOwnerDeletion: false },
        ],
      },
      spec: { segment: 'net-a', mtu: 1300, mode: 'Hypervisor', addresses: ['10.128.1.2/32'], wanted: ['IPv4'], of: 'net-a' },
    })
    assert.deepEqual(networkFor(view, scope, owner)?.spec, { ranges: ['10.128.0.0/16'] })
  })

  test('is everything where nothing is declared', () => {
    assert.deepEqual(capabilitiesOf(dataPlane()), {
      modes: ['Netns', 'Hypervisor', 'HypervisorDeclared'],
      families: ['IPv4', 'IPv6'],
    })
  })

  test('has addresses of its own for each number', () => {
    const number = fc.integer({ min: 2, max: 60_000 })
    fc.assert(
      fc.property(number, number, (one, other) => {
        const addresses = [one, other].map(
          (at) => scopeOf({ name: 'a', number: at }, owner, dataPlane()).interface.spec.addresses,
        )
        assert.equal(JSON.stringify(addresses[0]) === JSON.stringify(addresses[1]), one === other)
      }),
    )
  })

  test('a report about it is read as the requester reads it', () => {
    const plane = dataPlane()
    const view = contractView(plane)
    const scope = scopeOf({ name: 'a' }, owner, plane)
    const { body } = attachmentFor(view, scope, owner)
    const said = { type: 'Ready', status: 'True', reason: 'Plugged', message: '', lastTransitionTime: '2030-01-01T00:00:00Z' }
    const stored = { ...body, metadata: { ...body.metadata, uid: 'u-2', generation: 2 }, status: { conditions: [said] } }
    const read = (attachment: typeof stored) => view.translate({ interface: scope.interface, attachment, scope }).prepared
    assert.equal(read(stored).reason, 'ReportStale')
    const current = { ...stored, status: { conditions: [{ ...said, observedGeneration: 2 }] } }
    assert.deepEqual([read(current).status, read(current).reason], ['True', 'AttachmentReady'])
    const foreign = { ...current, metadata: { ...current.metadata, ownerReferences: [] } }
    assert.equal(read(foreign).reason, 'ReportStale')
  })
})
