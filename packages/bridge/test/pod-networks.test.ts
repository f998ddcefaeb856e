import assert from 'node:assert/strict'
import { test } from 'node:test'
import { networkStatusOf, podAnnotations } from 'kube-multus'
import { statusEntry, wantedNetworks } from '../testing/node/pod-networks.ts'

const pod = (networks?: string) => ({
  metadata: {
    name: 'web',
    namespace: 'here',
    ...(networks === undefined ? {} : { annotations: { [podAnnotations.networks]: networks } }),
  },
})

const table: { says: string; given?: string; want: [definition: string, device: string][] }[] = [
  { says: 'no annotation: none', want: [] },
  { says: 'an empty one: none', given: ' ', want: [] },
  { says: 'a bare name: of the Pod’s namespace, the first device', given: 'one', want: [['here/one', 'net1']] },
  {
    says: 'the short form in full',
    given: 'there/one@eth1, two',
    want: [
      ['there/one', 'eth1'],
      ['here/two', 'net2'],
    ],
  },
  {
    says: 'the long form',
    given: '[{"name":"one","namespace":"there","interface":"eth1"},{"name":"two"}]',
    want: [
      ['there/one', 'eth1'],
      ['here/two', 'net2'],
    ],
  },
]
for (const { says, given, want } of table) {
  test(`what a Pod asks for: ${says}`, () => {
    assert.deepEqual(
      wantedNetworks(pod(given)).map(({ definition, device }) => [definition, device]),
      want,
    )
  })
}

for (const given of ['a b', '[{"name"', '/', 'one@']) {
  test(`an annotation that makes no sense is refused: ${given}`, () => {
    assert.throws(() => wantedNetworks(pod(given)))
  })
}

test('what the plugins answer is reported as Multus does, and read again by what reads Multus', () => {
  const result = {
    cniVersion: '1.0.0',
    interfaces: [
      { name: 'br-1', mac: 'aa' },
      { name: 'net1', mac: 'bb', sandbox: '/proc/1/ns/net' },
    ],
    ips: [
      { address: '192.0.2.7/32', interface: 1 },
      { address: '2001:db8::7/96', interface: 1 },
      { address: '192.0.2.1/24', interface: 0 },
    ],
  }
  const entry = statusEntry({ definition: 'here/one', device: 'net1' }, result)
  assert.deepEqual(entry, { name: 'here/one', interface: 'net1', ips: ['192.0.2.7', '2001:db8::7'], mac: 'bb', dns: {} })
  const annotations = { [podAnnotations.networkStatus]: JSON.stringify([entry]) }
  const { name, interface: device, ips } = entry
  assert.deepEqual(networkStatusOf({ metadata: { annotations } }), { is: 'read', attached: [{ name, interface: device, ips }] })
})
