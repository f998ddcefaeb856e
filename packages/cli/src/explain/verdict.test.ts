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
  stored,
  type World,
} from '../../test/example-chain.ts'

/** An interface that was never given to a data plane. */
function unchosen(w: World): void {
  delete w.nic?.metadata.annotations?.['networking.datumapis.com/data-plane']
  delete w.attachment
  notPrepared(w, 'NoDataPlane')
}

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
    says: 'of several subnets the one that the message names',
    given: (w) => {
      w.extra = stored({ kind: 'Subnet', name: 'tiny', spec: { networkContext: { name: 'net-here' } } })
      says(w.claim, { ...condition('Bound', 'False', 'AddressPoolExhausted'), message: 'no room in Subnet tiny (10.0.0.0/30).' })
    },
    want: /^Broken at Subnet default\/tiny: no room in Subnet tiny \(10\.0\.0\.0\/30\) \(/,
  },
  {
    says: 'a class of addresses that no subnet has: none of those there are is to blame',
    given: (w) => says(w.claim, condition('Bound', 'False', 'AddressAllocationRejected')),
    want: /^Broken at NetworkContext default\/net-here: Bound is False \(/,
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
    want: /^Broken at VPCAttachment default\/web-0: it does not exist; NSO says Prepared=Unknown Pending: Prepared is Unknown; NSO is not running: its Lease \S+ was last renewed 60 s ago\.$/,
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
    says: 'no network object, since a family of the context has no subnet',
    given: (w) => {
      delete w.vpc
      Object.assign(w.context ?? {}, { spec: { ipFamilies: ['IPv6', 'IPv4'] } })
      Object.assign(w.subnet?.spec ?? {}, { ipFamily: 'IPv6' })
      says(w.attachment, condition('Ready', 'False', 'AwaitingVPC'))
      notPrepared(w, 'AwaitingVPC')
    },
    want: /^Broken at VPC default\/net-here: it does not exist; NSO makes it when NetworkContext default\/net-here has a Subnet of IPv4; VPCAttachment default\/web-0 waits for it\.$/,
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
    want: /^Broken at VPCAttachment default\/web-0: it belongs to NetworkInterface web-0 with uid other, not to this interface; NSO makes its own when this one is gone\.$/,
  },
  {
    says: 'the attachment was made by somebody else',
    given: (w) => Object.assign(w.attachment?.metadata ?? {}, { ownerReferences: [] }),
    want: /^Broken at VPCAttachment default\/web-0: it has no controlling owner, so it is not this interface’s; NSO makes its own when this one is gone\.$/,
  },
  {
    says: 'the attachment is gone, and the claim still says that all is well',
    given: (w) => {
      delete w.nsoLease
      delete w.attachment
    },
    want: /^Broken at VPCAttachment default\/web-0: it does not exist, although NetworkInterface default\/web-0 says Prepared=True; NSO makes it anew; NSO is not running: /,
  },
  {
    says: 'the attachment goes, and who has to let go of it does not run',
    given: (w) => {
      delete w.galacticLease
      deleting(w.attachment, 'cloud.datumapis.com/finalizer')
    },
    want: /^Broken at VPCAttachment default\/web-0: it is being deleted for 60 s, held by finalizer cloud\.datumapis\.com\/finalizer, which Galactic \(galactic-vpcattachment\) removes; Galactic is not running: .*; NSO makes another when it is gone\.$/,
  },
  {
    says: 'the data plane takes back what the claim still says',
    given: (w) => {
      delete w.nsoLease
      says(w.attachment, condition('Ready', 'False', 'AwaitingVPC'))
    },
    want: /^Broken at VPCAttachment default\/web-0: Galactic says Ready=False AwaitingVPC for 60 s: Ready is False; NetworkInterfaceClaim default\/web-0 still says Prepared=True; NSO is not running: /,
  },
  {
    says: 'the interface goes under its claim',
    given: (w) => {
      delete w.nsoLease
      deleting(w.nic, 'networking.datumapis.com/networkinterface-release')
      Object.assign(w.nic?.metadata ?? {}, { generation: 2 })
    },
    want: /^Broken at NetworkInterface default\/web-0: it is being deleted for 60 s, held by finalizer \S+, which NSO \(nso-networkinterface\) removes; NSO is not running: .*, although its claim stands; NSO makes another when it is gone\.$/,
  },
  {
    says: 'a change that NSO has not looked at',
    given: (w) => {
      delete w.nsoLease
      Object.assign(w.claim?.metadata ?? {}, { generation: 2 })
    },
    want: /^Broken at NetworkInterfaceClaim default\/web-0: Bound speaks of generation 1, and it is at 2: NSO has not looked at the change yet; NSO is not running: /,
  },
  {
    says: 'the interface that the claim says it holds is another’s by now',
    given: (w) => Object.assign(w.nic?.spec ?? {}, { claimRef: { name: 'web-1' } }),
    want: /^Broken at NetworkInterface default\/web-0: it is held by claim web-1, although NetworkInterfaceClaim default\/web-0 says Bound=True\.$/,
  },
  {
    says: 'the claim asks for another network than that of the interface it wants',
    given: (w) => {
      Object.assign(w.claim?.spec ?? {}, { network: { name: 'other' } })
      says(w.claim, condition('Bound', 'False', 'NetworkNotAvailableInLocation'))
    },
    want: /^Broken at Network default\/other: it does not exist; /,
  },
  {
    says: 'the network goes',
    given: (w) => {
      deleting(w.network, 'networking.datumapis.com/network-controller')
      says(w.claim, condition('Bound', 'False', 'NetworkNotAvailableInLocation'))
    },
    want: /^Broken at Network default\/net: it is being deleted for 60 s, held by finalizer networking\.datumapis\.com\/network-controller, which NSO \(nso-network\) removes; /,
  },
  {
    says: 'the network object goes, and the attachment waits for it',
    given: (w) => {
      deleting(w.vpc, 'cloud.datumapis.com/finalizer')
      says(w.attachment, condition('Ready', 'False', 'AwaitingVPC'))
      notPrepared(w, 'AwaitingVPC')
    },
    want: /^Broken at VPC default\/net-here: it is being deleted for 60 s, held by finalizer \S+, which Galactic \(galactic-vpc\) removes; VPCAttachment default\/web-0 waits for it\.$/,
  },
  {
    says: 'no data plane is for this location: one of another location is not blamed, whatever is wrong with it',
    given: (w) => {
      Object.assign(w.plane?.spec ?? {}, { locations: ['elsewhere'] })
      says(w.plane, condition('Installed', 'False', 'KindNotServed'))
      unchosen(w)
    },
    want: /^Broken at DataPlane \(none\): none of galactic serves location here\.$/,
  },
  {
    says: 'a data plane serves the location, and the interface was not given to it yet',
    given: unchosen,
    want: /^Broken at NetworkInterface default\/web-0: DataPlane galactic serves its location, and NSO has not given it to the interface yet\.$/,
  },
  {
    says: 'of two data planes for the location NSO offers the accepted one, whatever is wrong with the more specific',
    given: (w) => {
      w.extra = stored({
        ...{ kind: 'DataPlane', name: 'exact', namespace: undefined, spec: { locations: ['here'] } },
        status: { conditions: [condition('Accepted', 'False', 'InvalidTemplate')] },
      })
      unchosen(w)
    },
    want: /^Broken at NetworkInterface default\/web-0: DataPlane galactic serves its location, /,
  },
  {
    says: 'the API server refuses the attachment, as NSO says',
    given: (w) => {
      delete w.attachment
      const refused = { ...condition('Prepared', 'Unknown', 'Pending'), message: 'it is refused: spec.mtu is too small.' }
      for (const object of [w.claim, w.nic]) says(object, refused)
    },
    want: /^Broken at VPCAttachment default\/web-0: it does not exist; NSO says Prepared=Unknown Pending: it is refused: spec\.mtu is too small\.$/,
  },
  {
    says: 'a message of any length is a sentence',
    given: (w) => {
      const message = `first line ${'x'.repeat(20_000)}\nsecond line`
      says(w.claim, { ...condition('Bound', 'False', 'AddressPoolExhausted'), message })
    },
    want: /^Broken at Subnet default\/net-here-0: first line x{289}… \(Bound=False AddressPoolExhausted\)\.$/,
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
    says: 'somebody else wrote a condition, and who would put it right does not run',
    given: (w) => {
      delete w.galacticLease
      w.attachment?.metadata.managedFields?.splice(0, 1, entry('galactic-vpcattachment', ['Programmed']), entry('x', ['Ready']))
    },
    want: /^Broken at VPCAttachment default\/web-0: condition Ready: NOT the documented writer: "x" .* wrote it, not galactic-vpcattachment \(Galactic\); Galactic is not running: /,
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
    says: 'somebody took a condition of the interface away',
    given: (w) => {
      if (w.nic?.status) w.nic.status.conditions = w.nic.status.conditions?.filter(({ type }) => type !== 'Prepared') ?? []
    },
    want: /^Broken at NetworkInterface default\/web-0: condition Prepared is gone, and nothing tells who took it away\.$/,
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

test('what goes with the attachment is waited for by whom it is up to', () => {
  const going = (change: (w: World) => void) =>
    explained((w) => {
      deleting(w.claim, 'networking.datumapis.com/networkinterfaceclaim-release')
      deleting(w.nic, 'networking.datumapis.com/networkinterface-release')
      deleting(w.attachment, 'cloud.datumapis.com/finalizer')
      change(w)
    }).verdict.sentence
  const asked = /; first NetworkAttachmentDefinition default\/web-0 has to go, whose deletion Galactic has not asked for yet\.$/
  assert.match(
    going(() => {}),
    asked,
  )
  assert.doesNotMatch(
    going((w) => delete w.galacticLease),
    asked,
  )
})

test('without a look at the data planes none is said to be missing', () => {
  const gap = { group: 'networking.datumapis.com', kind: 'DataPlane', why: 'forbidden', message: 'forbidden' } as const
  const { verdict } = explained(
    (w) => {
      unchosen(w)
      delete w.plane
    },
    [gap],
  )
  assert.doesNotMatch(verdict.sentence, /there is none/)
})
