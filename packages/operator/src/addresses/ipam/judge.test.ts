import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { IPClaim } from 'kube-ipam'
import { aClaim, anInterface } from '../../../test/objects.ts'
import type { AddressRequest } from '../port.ts'
import { ipClaimFor, type Wish } from './ip-claim.ts'
import { judge, type Others } from './judge.ts'

const wish: Wish = {
  claim: aClaim(),
  place: { network: { name: 'net' }, location: { name: 'here' } },
  project: { name: 'alpha', namespace: 'inside' },
  namespaceUid: 'namespace-uid',
}
const ipv6: AddressRequest = { family: 'IPv6' }

type Change = (made: IPClaim) => IPClaim

function standing(change: Change = (made) => made): IPClaim {
  const made = ipClaimFor(wish, ipv6)
  return change({
    ...made,
    metadata: { ...made.metadata, uid: 'uid' },
    status: { phase: 'Bound', allocatedCIDR: 'FD20::1:0:0/96' },
  })
}

const annotated =
  (key: string, value: string): Change =>
  (made) => ({
    ...made,
    metadata: { ...made.metadata, annotations: { ...made.metadata.annotations, [`networking.datumapis.com/${key}`]: value } },
  })
const specified =
  (spec: Partial<IPClaim['spec']>): Change =>
  (made) => ({ ...made, spec: { ...made.spec, ...spec } })
const scoped =
  (role: 'network' | 'location', name: string): Change =>
  (made) =>
    specified({ scope: { ...made.spec.scope, [role]: { apiGroup: 'g', kind: 'k', name } } })(made)
const unmarked: Change = ({ metadata: { annotations: _, ...metadata }, ...made }) => ({ ...made, metadata })

const nobody: Others = { holder: undefined, lister: () => undefined }

const table: { says: string; change?: Change; holder?: boolean; listed?: boolean; want: string; message?: RegExp }[] = [
  { says: 'made for this claim', want: 'ours, own' },
  { says: 'made for an earlier claim of the name', change: annotated('claim-uid', 'earlier'), want: 'ours' },
  { says: 'made by earlier software', change: unmarked, want: 'ours' },
  { says: 'whose class the service filled in', change: specified({ className: 'datum-endpoint-v6' }), want: 'ours, own' },
  {
    says: 'for another network',
    change: scoped('network', 'other'),
    want: 'foreign RetainedAddressConflict',
    message: /network net/,
  },
  { says: 'for another location', change: scoped('location', 'there'), want: 'foreign RetainedAddressConflict' },
  { says: 'of another family', change: specified({ ipFamily: 'IPv4' }), want: 'foreign RetainedAddressConflict' },
  { says: 'on a whole range', change: specified({ target: 'ScopeRange' }), want: 'foreign RetainedAddressConflict' },
  {
    says: 'of a claim in another namespace',
    change: annotated('source-namespace', 'elsewhere'),
    want: 'foreign RetainedAddressConflict',
    message: /claim elsewhere\/web-0.*delete it/,
  },
  {
    says: 'of a claim whose name begins alike',
    change: annotated('allocation-claim', 'web'),
    want: 'foreign RetainedAddressConflict',
  },
  {
    says: 'of a claim of the same name in another cluster',
    change: annotated('source-namespace-uid', 'another'),
    want: 'foreign RetainedAddressConflict',
    message: /of another cluster/,
  },
  {
    says: 'held for another interface',
    holder: true,
    want: 'foreign RetainedAddressConflict',
    message: /interface kept.*networkInterfaceName/,
  },
  {
    says: 'that is being deleted',
    change: (made) => ({ ...made, metadata: { ...made.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }),
    want: 'going AllocationFailed',
    message: /continues by itself/,
  },
  {
    says: 'that holds nothing',
    change: (made) => ({ ...made, status: {} }),
    want: 'foreign AllocationFailed',
    message: /no address/,
  },
  {
    says: 'whose block is of another family',
    change: (made) => ({ ...made, status: { allocatedCIDR: '10.0.0.1/32' } }),
    want: 'foreign AllocationFailed',
    message: /10\.0\.0\.1\/32/,
  },
  {
    says: 'that says an address inside of a block',
    change: (made) => ({ ...made, status: { allocatedCIDR: 'fd20::1:0:7/96' } }),
    want: 'foreign AllocationFailed',
    message: /fd20::1:0:7\/96, which is no block/,
  },
  {
    says: 'that says no block at all',
    change: (made) => ({ ...made, status: { allocatedCIDR: '<html>' } }),
    want: 'foreign AllocationFailed',
    message: /<html>, which is no block/,
  },
  {
    says: 'of what another interface lists',
    listed: true,
    want: 'taken AllocationFailed',
    message: /fd20::1:0:0\/96, which network interface other lists and does not hold.*delete/,
  },
]
for (const { says, change, holder, listed, want, message } of table) {
  test(`an IPClaim ${says} is ${want}`, () => {
    const taker = listed ? anInterface({ metadata: { name: 'other' } }) : undefined
    const kept = holder ? anInterface({ metadata: { name: 'kept' } }) : undefined
    const answer = judge(standing(change), { wish, request: ipv6, others: { holder: kept, lister: () => taker } })
    if (answer.kind === 'ours') {
      assert.equal(answer.isOwn ? 'ours, own' : 'ours', want)
      return
    }
    assert.equal(`${answer.kind} ${answer.reason}`, want)
    assert.match(answer.message, message ?? /IPClaim inside\/web-0-f-ipv6 in project alpha/)
  })
}

test('a class is asked for by name, and a claim on it says nothing of a family', () => {
  const asked = ipClaimFor(wish, { class: 'datum-public-v4' })
  assert.deepEqual(asked.spec.className, 'datum-public-v4')
  assert.equal(asked.spec.ipFamily, undefined)
  const stands = { ...asked, status: { allocatedCIDR: '198.51.100.3/32' } }
  assert.equal(judge(stands, { wish, request: { class: 'datum-public-v4' }, others: nobody }).kind, 'ours')
  assert.equal(judge(stands, { wish, request: { class: 'other' }, others: nobody }).kind, 'foreign')
})
