import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  aMinuteAgo,
  condition,
  deleting,
  entry,
  explained,
  lease,
  notPrepared,
  says,
  seed,
  type World,
} from '../../test/example-chain.ts'

const table: { says: string; given: (given: World) => void; want: RegExp; state?: string }[] = [
  { says: 'all is well', given: () => {}, want: /^NetworkInterfaceClaim default\/web-0 is Ready\.$/, state: 'ready' },
  {
    says: 'nobody has said anything of the claim, and NSO leads nowhere',
    given: (w) => {
      delete w.nsoLease
      says(w.claim, ...['Bound', 'Allocated', 'Prepared', 'Programmed', 'Ready'].map(seed))
    },
    want: /^Broken at NetworkInterfaceClaim default\/web-0: NSO has said nothing of it for 60 s; NSO is not running: there is no Lease nso-system\//,
  },
  {
    says: 'a network that is not here',
    given: (w) => {
      for (const name of ['network', 'context', 'nic', 'attachment'] as const) delete w[name]
      says(w.claim, condition('Bound', 'False', 'NetworkNotAvailableInLocation'))
    },
    want: /^Broken at Network default\/net: it does not exist; Bound is False \(Bound=False NetworkNotAvailableInLocation\)\.$/,
  },
  {
    says: 'no subnet to take an address from',
    given: (w) => {
      delete w.subnet
      says(w.claim, condition('Bound', 'False', 'AddressPoolExhausted'))
    },
    want: /^Broken at NetworkContext default\/net-here: it has no Subnet; /,
  },
  {
    says: 'a claim that keeps what it holds and is rejected',
    given: (w) => says(w.claim, condition('Ready', 'False', 'AddressFamilyNotCarried')),
    want: /^Broken at NetworkContext default\/net-here: Ready is False \(Ready=False AddressFamilyNotCarried\)\.$/,
  },
  {
    says: 'the data plane is gone',
    given: (w) => {
      delete w.plane
      delete w.attachment
      notPrepared(w)
    },
    want: /^Broken at DataPlane galactic: the interface was given the one with uid uid-of-DataPlane, which is not there any more\.$/,
  },
  {
    says: 'the data plane is not permitted',
    given: (w) => {
      says(w.plane, condition('Permitted', 'False', 'NotPermitted'))
      delete w.attachment
      notPrepared(w)
    },
    want: /^Broken at DataPlane galactic: Permitted=False NotPermitted: Permitted is False\.$/,
  },
  {
    says: 'NSO has not made the attachment',
    given: (w) => {
      w.nsoLease = lease('nso-system', 'network-services-operator.networking.datumapis.com', { renewTime: aMinuteAgo })
      delete w.attachment
      notPrepared(w)
    },
    want: /^Broken at VPCAttachment default\/web-0: it does not exist; NSO makes it; NSO is not running: its Lease \S+ was last renewed 60 s ago\.$/,
  },
  {
    says: 'the data plane is silent',
    given: (w) => {
      delete w.attachment?.status
      notPrepared(w)
    },
    want: /^Broken at VPCAttachment default\/web-0: Galactic has reported nothing for 60 s \(no status written by galactic-vpcattachment\); NSO waits for its condition Ready\.$/,
  },
  {
    says: 'a seed is no report',
    given: (w) => {
      says(w.attachment, seed('Ready'))
      notPrepared(w)
    },
    want: /^Broken at VPCAttachment default\/web-0: Galactic has reported nothing for 60 s \(no condition Ready written by galactic-vpcattachment\)/,
  },
  {
    says: 'the network object has no identifier',
    given: (w) => {
      delete w.vpc?.status
      says(w.attachment, condition('Ready', 'False', 'AwaitingVPCIdentifier'))
      notPrepared(w, 'AwaitingVPCIdentifier')
    },
    want: /^Broken at VPC default\/net-here: Galactic has reported nothing for 60 s \(no status written by galactic-vpc\); VPCAttachment default\/web-0 waits for it\.$/,
  },
  {
    says: 'the report is of an earlier generation',
    given: (w) => {
      Object.assign(w.attachment?.metadata ?? {}, { generation: 2 })
      notPrepared(w, 'ReportStale')
    },
    want: /^Broken at VPCAttachment default\/web-0: its report is stale: it speaks of generation 1, the object is at 2 \(Ready=True AttachmentDefinitionReady by Galactic\)/,
  },
  {
    says: 'the attachment is another interface’s',
    given: (w) => {
      const [owner] = w.attachment?.metadata.ownerReferences ?? []
      if (owner) owner.uid = 'other'
      notPrepared(w, 'ReportStale')
    },
    want: /^Broken at VPCAttachment default\/web-0: it belongs to NetworkInterface web-0 with uid other, not to this interface\.$/,
  },
  {
    says: 'no node advertises it',
    given: (w) => {
      Object.assign(w.attachment?.status ?? {}, { vpc: '1', vpcAttachment: '1' })
      says(w.attachment, condition('Programmed', 'Unknown', 'AwaitingDataPlane'))
      for (const object of [w.claim, w.nic]) says(object, condition('Programmed', 'Unknown', 'AwaitingDataPlane'))
    },
    want: /^Broken at VPCAttachment default\/web-0: Galactic says Programmed=Unknown AwaitingDataPlane for 60 s: Programmed is Unknown; NSO waits for its condition Programmed\.$/,
  },
  {
    says: 'NSO has not taken the report over',
    given: (w) => notPrepared(w),
    want: /^Broken at NetworkInterfaceClaim default\/web-0: VPCAttachment default\/web-0 says Ready=True for 60 s, and NSO has not taken it over into Prepared\.$/,
  },
  {
    says: 'somebody else wrote a condition, though it says the best',
    given: (w) =>
      w.claim?.metadata.managedFields?.splice(
        0,
        1,
        entry('nso-networkinterfaceclaim', ['Bound', 'Allocated', 'Programmed', 'Ready']),
        entry('vpc-writer', ['Prepared']),
      ),
    want: /^Broken at NetworkInterfaceClaim default\/web-0: condition Prepared: NOT the documented writer: "vpc-writer" \(Apply on status\) wrote it, not nso-networkinterfaceclaim \(NSO\)\.$/,
  },
  {
    says: 'somebody took a condition away',
    given: (w) => {
      if (w.claim?.status)
        w.claim.status.conditions = w.claim.status.conditions?.filter(({ type }) => type !== 'Programmed') ?? []
    },
    want: /^Broken at NetworkInterfaceClaim default\/web-0: condition Programmed is gone, and nothing tells who took it away\.$/,
  },
  {
    says: 'all parts hold and Ready does not',
    given: (w) => says(w.claim, condition('Ready', 'False', 'NotBound')),
    want: /^Broken at NetworkInterfaceClaim default\/web-0: all its parts hold, and NSO has not made it Ready\.$/,
  },
  {
    says: 'deletion waits for the data plane’s finalizer',
    given: (w) => {
      deleting(w.claim, 'networking.datumapis.com/networkinterfaceclaim-release')
      deleting(w.nic, 'networking.datumapis.com/networkinterface-release')
      deleting(w.attachment, 'cloud.datumapis.com/finalizer')
      delete w.definition
    },
    want: /^Deletion waits at VPCAttachment default\/web-0: it is being deleted for 60 s, held by finalizer cloud\.datumapis\.com\/finalizer, which Galactic \(galactic-vpcattachment\) removes; NetworkInterfaceClaim default\/web-0 and NetworkInterface default\/web-0 wait for it\.$/,
    state: 'deleting',
  },
  {
    says: 'deletion waits for a finalizer of somebody else, who is named',
    given: (w) => {
      deleting(w.claim, 'example.com/mine')
      const fieldsV1 = { 'f:metadata': { 'f:finalizers': { 'v:"example.com/mine"': {} } } }
      w.claim?.metadata.managedFields?.push({ manager: 'kubectl-edit', operation: 'Update', fieldsV1 })
    },
    want: /^Deletion waits at NetworkInterfaceClaim default\/web-0: .* held by finalizer example\.com\/mine, which is nobody’s that the tables name, put there by "kubectl-edit": whoever put it there has to remove it\.$/,
    state: 'deleting',
  },
  {
    says: 'deletion that NSO does not carry on',
    given: (w) => deleting(w.claim, 'networking.datumapis.com/networkinterfaceclaim-release'),
    want: /which NSO \(nso-networkinterfaceclaim\) removes; first NetworkInterface default\/web-0 has to go, whose deletion NSO has not asked for yet\.$/,
    state: 'deleting',
  },
]

for (const { says: what, given, want, state = 'broken' } of table) {
  test(`the verdict: ${what}`, () => {
    const { verdict } = explained(given)
    assert.match(verdict.sentence, want)
    assert.equal(verdict.state, state)
  })
}
