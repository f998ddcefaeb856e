import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failuresIn, packetLines } from './packets.ts'
import type { Proof, Trial } from './planes/data-plane.ts'
import { complaintsAbout } from './report.ts'

const workload = { name: 'web-0', network: 'default', device: 'net1', mtu: 1460, addresses: ['192.0.2.7/32'], asClaimed: true }
const trial: Trial = {
  ...{ from: 'web-0', to: 'db-0', family: 'IPv4', address: '192.0.2.8', wanted: true, packetBytes: 1460 },
  ...{ tcp: 'reached, seen as 192.0.2.7', udp: 'reached', asWanted: true },
}

const table: { says: string; given: Proof; want: RegExp[] }[] = [
  { says: 'all as it should be: nothing', given: { workloads: [workload], trials: [trial] }, want: [] },
  {
    says: 'a device with other addresses than the claim',
    given: { workloads: [{ ...workload, addresses: [], asClaimed: false }], trials: [] },
    want: [/^web-0: net1 has MTU 1460 and no address, which is not what the claim says$/],
  },
  {
    says: 'two of one network that do not reach each other',
    given: { workloads: [], trials: [{ ...trial, tcp: 'timeout', udp: 'timeout', asWanted: false }] },
    want: [/^web-0 → db-0 192\.0\.2\.8 \(IPv4; one network\): TCP timeout; UDP, 1460 bytes in one packet: timeout .*WRONG$/],
  },
  {
    says: 'two networks that reach each other',
    given: { workloads: [], trials: [{ ...trial, wanted: false, asWanted: false }] },
    want: [/two networks, a route added by hand: nothing is to come through\): TCP reached, seen as 192\.0\.2\.7.*WRONG$/],
  },
]
for (const { says, given, want } of table) {
  test(`packets fail a run by sentences: ${says}`, () => {
    const found = failuresIn(given)
    assert.equal(found.length, want.length, found.join('\n'))
    for (const [index, pattern] of want.entries()) assert.match(found[index] ?? '', pattern)
    const counted = { claims: [], writes: { total: 0, perClaim: 0, byWriter: [] }, conflicts: 0, ownershipConflicts: 0 }
    assert.deepEqual(complaintsAbout({ ...counted, reconcileErrors: 0, countedFrom: 'audit', packets: given }), found)
  })
}

test('each workload and each pair that was tried is shown', () => {
  const [first, second, ...others] = packetLines({ workloads: [workload], trials: [trial] })
  assert.equal(first, '  web-0 (network default): net1, MTU 1460, 192.0.2.7/32')
  assert.match(second ?? '', /^ {2}web-0 → db-0 192\.0\.2\.8 .*: reached$/)
  assert.deepEqual(others, [])
})
