import assert from 'node:assert/strict'
import test from 'node:test'
import { annotations, type DataPlane, labels } from '@nso/api'
import { aClaim, aContext, aFreeInterface, anInterface, aSubnet } from '../../test/objects.ts'
import type { CompiledPlane } from '../dataplane/types.ts'
import { type Decision, decide } from './decide.ts'
import type { Seen } from './observe.ts'

const here = { kind: 'known', name: 'here' } as const
const retaining = aClaim({ spec: { reclaimPolicy: 'Retain' } })
/** A plane that would begin to serve. */
const offering = (capabilities: DataPlane['spec']['capabilities']) =>
  ({ ref: { name: 'toy', uid: 'p-1' }, object: { spec: { capabilities } } }) as unknown as CompiledPlane
const published = { 'networking.datumapis.com/network-interface-projection': 'true' }
const deleting = { deletionTimestamp: '2026-01-01T00:00:00Z' }

function seen(given: Partial<Seen> = {}): Seen {
  return {
    claim: aClaim(),
    location: here,
    context: aContext(),
    subnets: [aSubnet()],
    nic: undefined,
    plane: undefined,
    candidate: undefined,
    attached: false,
    ...given,
  }
}

/** What a row says of a decision: what is done, and the reason or what is waited for. */
function brief(decision: Decision): string {
  switch (decision.do) {
    case 'reject':
      return `reject ${decision.rejection.reason}${decision.holds ? ', holding on' : ''}`
    case 'reap':
      return `reap, ${decision.rejection.reason}`
    case 'wait':
      return `wait for ${decision.on}`
    case 'create':
      return `create with ${decision.wants.map((one) => one.class ?? one.family).join(', ')}`
    default:
      return `${decision.do} with ${decision.changes.length} operations`
  }
}

const table: { says: string; given: Partial<Seen>; want: string }[] = [
  { says: 'a new claim gets an interface with one address of each family', given: {}, want: 'create with IPv6' },
  {
    says: 'families come first and in the claim’s order, then classes',
    given: {
      claim: aClaim({ spec: { ipFamilies: ['IPv4', 'IPv6'], addresses: [{ class: 'public' }] } }),
      context: aContext({ spec: { ipFamilies: ['IPv6', 'IPv4'] } }),
    },
    want: 'create with IPv4, IPv6, public',
  },
  {
    says: 'without a location nothing can be placed',
    given: { location: { kind: 'rejected', reason: 'NoLocationIdentity', message: '' }, context: undefined },
    want: 'reject NoLocationIdentity',
  },
  {
    says: 'a network that is not here is refused',
    given: { context: undefined },
    want: 'reject NetworkNotAvailableInLocation',
  },
  {
    says: 'a context of another network that happens to have the name is not this network',
    given: { context: aContext({ spec: { network: { name: 'other' } } }) },
    want: 'reject NetworkNotAvailableInLocation',
  },
  {
    says: 'a context that is being deleted takes no new interface',
    given: { context: aContext({ metadata: deleting }) },
    want: 'reject NetworkNotAvailableInLocation',
  },
  {
    says: 'a context that is being deleted keeps the interface it has',
    given: { context: aContext({ metadata: deleting }), nic: anInterface() },
    want: 'keep with 0 operations',
  },
  {
    says: 'a context that vanished under a bound interface is told on Ready alone',
    given: { context: undefined, nic: anInterface() },
    want: 'reject NetworkNotAvailableInLocation, holding on',
  },
  {
    says: 'unknown families are not guessed',
    given: { context: { ...aContext(), spec: { network: { name: 'net' }, location: { name: 'here' } } } },
    want: 'reject AddressFamiliesUnknown',
  },
  {
    says: 'a family that the network does not carry is refused',
    given: { context: aContext({ spec: { ipFamilies: ['IPv4'] } }) },
    want: 'reject AddressFamilyNotCarried',
  },
  {
    says: 'an unusable gateway is refused before anything is allocated',
    given: { subnets: [aSubnet({ spec: { startAddress: 'nonsense' } })] },
    want: 'reject SubnetGatewayUnusable',
  },
  {
    says: 'an unusable gateway of a family that is not asked for does not matter',
    given: { subnets: [aSubnet(), aSubnet({ metadata: { name: 'v4' }, spec: { ipFamily: 'IPv4', startAddress: 'nonsense' } })] },
    want: 'create with IPv6',
  },
  {
    says: 'an unusable gateway of a class that is not asked for does not matter',
    given: {
      subnets: [aSubnet(), aSubnet({ metadata: { name: 'p' }, spec: { subnetClass: 'public', startAddress: 'nonsense' } })],
    },
    want: 'create with IPv6',
  },
  {
    says: 'an unusable gateway of a class that is asked for does',
    given: {
      claim: aClaim({ spec: { addresses: [{ class: 'public' }] } }),
      subnets: [aSubnet(), aSubnet({ metadata: { name: 'p' }, spec: { subnetClass: 'public', startAddress: 'nonsense' } })],
    },
    want: 'reject SubnetGatewayUnusable',
  },
  ...['Upper', 'under_score', '-begins', 'ends-', 'two..dots'].map((name) => ({
    says: `no interface can be named ${name}, so nothing is allocated for one`,
    given: { claim: aClaim({ spec: { networkInterfaceName: name } }) },
    want: 'reject InterfaceRefused',
  })),
  {
    says: 'a published copy of an interface of another cluster is not taken, however free it looks',
    given: { claim: retaining, nic: { ...aFreeInterface(), metadata: { ...aFreeInterface().metadata, labels: published } } },
    want: 'reject InterfaceHeldByAnotherClaim',
  },
  {
    says: 'nor waited for while it goes',
    given: { claim: retaining, nic: { ...aFreeInterface(), metadata: { ...deleting, name: 'web-0', labels: published } } },
    want: 'reject InterfaceHeldByAnotherClaim',
  },
  ...(
    [
      ['another network', { network: { name: 'other' } }, 'NetworkMismatch'],
      ['another device name', { interfaceName: 'net1' }, 'InterfaceNameMismatch'],
      ['no address of a wanted family', { addresses: [] }, 'AddressFamilyMissing'],
      ['another policy', { reclaimPolicy: 'Retain' }, 'ReclaimPolicyMismatch'],
    ] as const
  ).map(([what, spec, reason]) => ({
    says: `a bound interface that has ${what} by now is kept, and its claim told`,
    given: { nic: anInterface({ spec: spec as object }) },
    want: `reject ${reason}, holding on`,
  })),
  {
    says: 'a bound interface that lacks a wanted class by now is kept, and its claim told',
    given: { claim: aClaim({ spec: { addresses: [{ class: 'public' }] } }), nic: anInterface() },
    want: 'reject AddressClassMissing, holding on',
  },
  {
    says: 'without a location a bound interface that does not say where it is is kept',
    given: { location: { kind: 'rejected', reason: 'AmbiguousLocationIdentity', message: '' }, nic: anInterface() },
    want: 'reject AmbiguousLocationIdentity, holding on',
  },
  {
    says: 'a plane that lacks the attachment mode is asked for nothing',
    given: { candidate: offering({ attachmentModes: ['Hypervisor'] }) },
    want: 'reject AttachmentModeNotSupported',
  },
  {
    says: 'a plane that lacks a family is asked for nothing',
    given: {
      claim: aClaim({ spec: { ipFamilies: ['IPv6', 'IPv4'] } }),
      context: aContext({ spec: { ipFamilies: ['IPv6', 'IPv4'] } }),
      candidate: offering({ addressFamilies: ['IPv6'] }),
    },
    want: 'reject AddressFamilyNotSupported',
  },
  {
    says: 'a plane that offers what is asked for serves',
    given: { candidate: offering({ attachmentModes: ['Netns'], addressFamilies: ['IPv6'] }) },
    want: 'create with IPv6',
  },
  {
    says: 'a free interface is not bound for a mode that its plane lacks',
    given: { claim: retaining, nic: aFreeInterface(), candidate: offering({ attachmentModes: ['Hypervisor'] }) },
    want: 'reject AttachmentModeNotSupported',
  },
  {
    says: 'the addresses that an interface has count too, also those that this claim does not ask for',
    given: {
      claim: retaining,
      nic: aFreeInterface({
        spec: {
          addresses: [
            { family: 'IPv6', address: 'fd20:0:0:1::1:0:0/96', primary: true },
            { family: 'IPv4', address: '10.128.0.2/32', primary: false },
          ],
        },
      }),
      candidate: offering({ addressFamilies: ['IPv6'] }),
    },
    want: 'reject AddressFamilyNotSupported',
  },
  {
    says: 'an interface that no plane serves yet is kept, and its claim told that none can',
    given: { nic: anInterface(), candidate: offering({ attachmentModes: ['Hypervisor'] }) },
    want: 'reject AttachmentModeNotSupported, holding on',
  },
  {
    says: 'an interface that is being deleted is waited for, whoever held it',
    given: { nic: anInterface({ metadata: deleting }) },
    want: 'wait for deletion of interface web-0',
  },
  {
    says: 'an interface of another claim is left alone',
    given: { nic: anInterface({ spec: { claimRef: { name: 'web-1' } } }) },
    want: 'reject InterfaceHeldByAnotherClaim',
  },
  {
    says: 'an interface of an earlier claim of the same name is not this claim’s',
    given: { claim: aClaim({ metadata: { uid: 'second' } }), nic: anInterface() },
    want: 'reap, InterfaceHeldByAnotherClaim',
  },
  {
    says: 'an interface that the original system bound gets the uid recorded',
    given: { nic: anInterface({ metadata: { annotations: {} } }) },
    want: 'keep with 2 operations',
  },
  { says: 'a bound interface in step is left as it is', given: { nic: anInterface() }, want: 'keep with 0 operations' },
  {
    says: 'a retained interface is taken over: claimRef and uid together',
    given: { claim: aClaim({ spec: { reclaimPolicy: 'Retain' } }), nic: aFreeInterface() },
    want: 'bind with 4 operations',
  },
  {
    says: 'a retained interface whose status is not Available yet is waited for',
    given: { claim: aClaim({ spec: { reclaimPolicy: 'Retain' } }), nic: aFreeInterface({ phase: 'Bound' }) },
    want: 'wait for release of interface web-0',
  },
  {
    says: 'a retained interface whose attachment still stands is waited for, whatever its phase says',
    given: { claim: aClaim({ spec: { reclaimPolicy: 'Retain' } }), nic: aFreeInterface(), attached: true },
    want: 'wait for release of interface web-0',
  },
  {
    says: 'a retained interface on another network does not fit',
    given: {
      claim: aClaim({ spec: { reclaimPolicy: 'Retain' } }),
      nic: aFreeInterface({ spec: { network: { name: 'other' } } }),
    },
    want: 'reject NetworkMismatch',
  },
  {
    says: 'a retained interface with another device name does not fit',
    given: { claim: aClaim({ spec: { reclaimPolicy: 'Retain', interfaceName: 'net1' } }), nic: aFreeInterface() },
    want: 'reject InterfaceNameMismatch',
  },
  {
    says: 'a retained interface without a wanted family does not fit',
    given: {
      claim: aClaim({ spec: { reclaimPolicy: 'Retain', ipFamilies: ['IPv6', 'IPv4'] } }),
      context: aContext({ spec: { ipFamilies: ['IPv4', 'IPv6'] } }),
      nic: aFreeInterface(),
    },
    want: 'reject AddressFamilyMissing',
  },
  {
    says: 'a retained interface without a wanted class does not fit',
    given: { claim: aClaim({ spec: { reclaimPolicy: 'Retain', addresses: [{ class: 'public' }] } }), nic: aFreeInterface() },
    want: 'reject AddressClassMissing',
  },
  {
    says: 'a Delete claim does not take a retained interface',
    given: { nic: aFreeInterface() },
    want: 'reject ReclaimPolicyMismatch',
  },
]

for (const { says, given, want } of table) {
  test(says, () => assert.equal(brief(decide(seen(given))), want))
}

test('a bound interface follows its network’s MTU, its subnet’s gateway and its claim’s labels, each with a test on the old value', () => {
  const claim = aClaim({ metadata: { labels: { 'compute.datumapis.com/workload-name': 'web', other: 'x' } } })
  const nic = anInterface({
    metadata: { labels: { [labels.location]: 'here', 'compute.datumapis.com/old': 'y', foreign: 'z' } },
  })
  const decision = decide(
    seen({
      claim,
      nic,
      context: aContext({ spec: { mtu: 1500 } }),
      subnets: [aSubnet({ spec: { startAddress: 'fd20:0:0:1::10' } })],
    }),
  )
  assert.ok(decision.do === 'keep')
  assert.deepEqual(decision.changes, [
    { op: 'test', path: '/metadata/labels/compute.datumapis.com~1old', value: 'y' },
    { op: 'remove', path: '/metadata/labels/compute.datumapis.com~1old' },
    { op: 'test', path: '/metadata/labels/compute.datumapis.com~1workload-name', value: null },
    { op: 'add', path: '/metadata/labels/compute.datumapis.com~1workload-name', value: 'web' },
    { op: 'test', path: '/spec/mtu', value: 1460 },
    { op: 'add', path: '/spec/mtu', value: 1500 },
    { op: 'test', path: '/spec/addresses', value: nic.spec.addresses },
    {
      op: 'add',
      path: '/spec/addresses',
      value: [{ family: 'IPv6', address: 'fd20:0:0:1::1:0:0/96', gateway: 'fd20:0:0:1::11', primary: true }],
    },
  ])
})

test('an address outside the present ranges has the gateway of a private Subnet, whatever other classes there are', () => {
  const nic = anInterface()
  const away = { startAddress: 'fd20:0:0:7::' }
  const subnets = [
    aSubnet({ metadata: { name: 'a' }, spec: { subnetClass: 'public', startAddress: 'fd20:0:0:9::' } }),
    aSubnet({ metadata: { name: 'b' }, spec: away }),
  ]
  const decision = decide(seen({ nic, subnets }))
  assert.ok(decision.do === 'keep')
  const [gateway] = decision.changes.flatMap((one) => ('value' in one && one.op === 'add' ? [one.value] : []))
  assert.match(JSON.stringify(gateway), /"gateway":"fd20:0:0:7::1"/)
})

test('a subnet that is gone leaves the gateway that was published', () => {
  const decision = decide(seen({ nic: anInterface(), subnets: [] }))
  assert.equal(brief(decision), 'keep with 0 operations')
})

test('a take-over tests that no claim holds the interface and records name and uid together', () => {
  const claim = aClaim({ metadata: { uid: 'second' }, spec: { reclaimPolicy: 'Retain' } })
  const decision = decide(seen({ claim, nic: aFreeInterface() }))
  assert.ok(decision.do === 'bind')
  const uidPath = `/metadata/annotations/${annotations.claimUid.replace('/', '~1')}`
  assert.deepEqual(decision.changes, [
    { op: 'test', path: '/spec/claimRef', value: null },
    { op: 'add', path: '/spec/claimRef', value: { name: 'web-0' } },
    { op: 'test', path: uidPath, value: null },
    { op: 'add', path: uidPath, value: 'second' },
  ])
})
