import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { DataPlane, NetworkContext, NetworkInterface } from '@nso/api'
import { contractView } from './contract-view.ts'
import { compileSpec, createPlane } from './plane.ts'

const cel = (expression: string) => `$\{${expression}}`
const metadata = { name: 'web-0', namespace: 'demo', uid: 'u-nic', generation: 1, labels: { app: 'web' } }
const nic = {
  ...{ apiVersion: 'networking.datumapis.com/v1alpha', kind: 'NetworkInterface', metadata },
  spec: { network: { name: 'default' }, interfaceName: 'eth0', attachmentMode: 'Netns', reclaimPolicy: 'Delete', mtu: 1400 },
} as NetworkInterface
const context = {
  ...{ apiVersion: 'networking.datumapis.com/v1alpha', kind: 'NetworkContext' },
  metadata: { name: 'default-here', namespace: 'demo', uid: 'u-context' },
  spec: { network: { name: 'default' }, location: { name: 'here' } },
} as NetworkContext
const subnets = [{ cidr: '10.0.0.0/24', family: 'IPv4', gateway: '10.0.0.1' }]

function planeOf(change: Partial<DataPlane['spec']> = {}): DataPlane {
  return {
    ...{ apiVersion: 'networking.datumapis.com/v1alpha', kind: 'DataPlane', metadata: { name: 'toy', uid: 'u-toy' } },
    spec: {
      ...{ contract: 'v1', locations: ['*'] },
      network: { apiVersion: 'toy.example.dev/v1', kind: 'Segment', spec: { ranges: cel('subnets.map(s, s.cidr)') } },
      attachment: {
        ...{ apiVersion: 'toy.example.dev/v1', kind: 'Plug' },
        metadata: { labels: cel('interface.metadata.labels'), finalizers: ['toy.example.dev/hold'] },
        spec: { mtu: cel('interface.spec.mtu'), segment: cel('context.metadata.name') },
      },
      report: { prepared: { condition: 'Ready' }, programmed: { condition: 'Flows' }, vpc: cel('attachment.status.id') },
      ...change,
    },
  }
}

/** As the controllers have it, with kinds that are served. */
function controllersView(object: DataPlane) {
  const follow = (ref: { apiVersion: string; kind: string }) => ({ ref, state: 'served', reporterOf: () => undefined }) as never
  return createPlane({ object, compiled: compileSpec(object.spec), kinds: { follow } as never, denied: () => undefined })
}

describe('the view without a server', () => {
  test('makes the objects that the controllers make', () => {
    const [view, plane] = [contractView(planeOf()), controllersView(planeOf())]
    const scope = { context, subnets, interface: nic }
    assert.deepEqual(view.renderAttachment(scope), plane.attachmentRendering(scope))
    assert.deepEqual(view.renderNetwork({ context, subnets })?.body, plane.renderNetwork({ context, subnets }))
    assert.deepEqual([view.attachmentKind, view.networkKind], [plane.attachmentKind, plane.networkKind])
  })

  const said = { type: 'Ready', status: 'True', reason: 'Plugged', message: 'in', lastTransitionTime: '2030-01-01T00:00:00Z' }
  const reports: { says: string; status: unknown; want: string }[] = [
    { says: 'no report', status: undefined, want: 'Unknown Pending' },
    { says: 'a report', status: { conditions: [{ ...said, observedGeneration: 2 }], id: 'n7' }, want: 'True AttachmentReady' },
    { says: 'a report on before', status: { conditions: [{ ...said, observedGeneration: 1 }] }, want: 'Unknown ReportStale' },
    { says: 'no condition at all', status: { conditions: 'Ready' }, want: 'Unknown ContractViolation' },
  ]
  for (const { says, status, want } of reports) {
    test(`reads ${says} as the controllers read it`, () => {
      const [view, plane] = [contractView(planeOf()), controllersView(planeOf())]
      const { body } = view.renderAttachment({ context, subnets, interface: nic })
      const attachment = { ...body, metadata: { ...body.metadata, uid: 'u-plug', generation: 2 }, status }
      const given = { interface: nic, attachment, scope: { context, subnets } }
      assert.deepEqual(view.translate(given), plane.translate(given))
      const { prepared } = view.translate(given)
      assert.equal(`${prepared.status} ${prepared.reason}`, want)
    })
  }

  test('says what keeps the object from being accepted', () => {
    assert.deepEqual(contractView(planeOf()).problems, [])
    const { attachment } = planeOf().spec
    const broken = contractView(planeOf({ attachment: { ...attachment, spec: { mtu: cel('interface.spec.') } } }))
    assert.match(broken.problems.join(), /spec\.attachment\.spec\.mtu/)
    const lent = contractView(planeOf({ attachment: { ...attachment, apiVersion: 'v1', kind: 'Secret' } }))
    assert.match(lent.problems.join(), /kind Secret \(v1\) is not allowed/)
  })
})
