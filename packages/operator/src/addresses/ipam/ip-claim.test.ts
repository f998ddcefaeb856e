import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { IPClaim } from 'kube-ipam'
import { aClaim } from '../../../test/objects.ts'
import { blockOf, ipClaimFor, isScoped, pruned, sourceOf, type Wish } from './ip-claim.ts'

const wish: Wish = {
  claim: aClaim({ metadata: { namespace: 'apps', uid: 'claim-uid' }, spec: { reclaimPolicy: 'Retain' } }),
  place: { network: { name: 'net' }, location: { name: 'here' } },
  project: { name: 'alpha', namespace: 'inside' },
  namespaceUid: 'namespace-uid',
}
const made: IPClaim = {
  ...ipClaimFor(wish, { family: 'IPv6' }),
  status: {
    phase: 'Bound',
    allocatedCIDR: 'FD20::1:0:0/96',
    poolRef: { name: 'pool' },
    boundAllocationRef: { name: 'block' },
    conditions: [],
  },
}

test('an IPClaim is made in the project’s namespace, for the network and location, with the claim’s policy', () => {
  assert.equal(made.metadata.namespace, 'inside')
  assert.deepEqual(made.spec, {
    ipFamily: 'IPv6',
    reclaimPolicy: 'Retain',
    scope: {
      network: { apiGroup: 'networking.datumapis.com', kind: 'Network', name: 'net' },
      location: { apiGroup: 'networking.datumapis.com', kind: 'Location', name: 'here' },
    },
  })
})

test('it says for which claim it was made; one of earlier software does not', () => {
  const source = { namespace: 'apps', namespaceUid: 'namespace-uid', claim: 'web-0', uid: 'claim-uid' }
  assert.deepEqual(sourceOf(made), source)
  assert.equal(sourceOf({ metadata: { name: 'web-0-f-ipv6' } }), undefined)
})

test('what is kept in memory is all that is asked of it', () => {
  const { metadata } = made
  const stored = pruned({
    ...made,
    metadata: {
      ...metadata,
      uid: 'uid',
      resourceVersion: '7',
      labels: { more: 'text' },
      annotations: { ...metadata.annotations, note: 'x'.repeat(10_000) },
    },
  })
  assert.deepEqual(sourceOf(stored), sourceOf(made))
  assert.deepEqual(blockOf(stored), blockOf(made))
  assert.equal(isScoped(stored, wish.place), true)
  assert.deepEqual([stored.metadata.uid, stored.metadata.resourceVersion], ['uid', '7'])
  assert.deepEqual(stored.status?.boundAllocationRef, { name: 'block' })
  assert.ok(JSON.stringify(stored).length < 1_200)
  assert.equal('status' in pruned({ ...ipClaimFor(wish, { family: 'IPv4' }) }), false)
})
