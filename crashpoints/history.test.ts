import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AddressLease, NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import { VPCAttachment } from 'galactic/api'
import { apiVersionOf, type Kind, type KubeObject, keyOf } from 'kube-control-loop'
import { IPClaim } from 'kube-ipam'
import type { Seen } from './follow.ts'
import { faultsInHistory } from './history.ts'

type Given = { spec?: unknown; status?: unknown; uid?: string }

function object(kind: Kind, name: string, { spec = {}, status, uid = `${name}-uid` }: Given): KubeObject {
  const metadata = { name, namespace: 'a', uid }
  return { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata, spec, ...(status ? { status } : {}) }
}

const nic = (name: string, addresses: string[]) =>
  object(NetworkInterface, name, {
    spec: { network: { name: 'net' }, claimRef: { name }, addresses: addresses.map((address) => ({ address })) },
  })
const attachment = (name: string, addresses: string[]) =>
  object(VPCAttachment, name, { spec: { vpc: { name: 'net-here' }, interface: { addresses } } })
const lease = (claimName: string, address: string, more: Given = {}) =>
  object(AddressLease, `lease-${claimName}`, {
    spec: { networkContext: { name: 'net-here' }, address, holder: { claimName, claimUID: `${claimName}-uid` } },
    ...more,
  })
const claim = (addresses: string[], { nicName = 'web', bound = 'True' } = {}) =>
  object(NetworkInterfaceClaim, 'web', {
    status: {
      networkInterfaceRef: { name: nicName },
      addresses: addresses.map((address) => ({ address })),
      conditions: [{ type: 'Bound', status: bound }],
    },
  })
const block = (name: string, allocatedCIDR: string) => object(IPClaim, name, { status: { allocatedCIDR } })

const kinds: readonly Kind[] = [AddressLease, NetworkInterface, NetworkInterfaceClaim, VPCAttachment, IPClaim]

/** In this order, as versions of one store; `gone` marks a delete. */
function history(...steps: (KubeObject | { gone: KubeObject })[]): Seen[] {
  return steps.map((step, at) => {
    const of = 'gone' in step ? step.gone : step
    const kind = kinds.find((each) => each.kind === of.kind)
    assert.ok(kind)
    return { version: BigInt(at + 1), kind, key: keyOf(of), object: 'gone' in step ? undefined : of }
  })
}

const table: { says: string; given: Seen[]; want: RegExp | undefined }[] = [
  {
    says: 'interfaces with addresses of their own',
    given: history(nic('a', ['10.0.0.1/32']), nic('b', ['10.0.0.2/32'])),
    want: undefined,
  },
  {
    says: 'an address on a second interface while the first stands',
    given: history(nic('a', ['10.0.0.1/32']), nic('b', ['10.0.0.1/32'])),
    want: /10\.0\.0\.1\/32 is held by NetworkInterface b .* and by NetworkInterface a/,
  },
  {
    says: 'an address on another interface when the first is gone',
    given: history(nic('a', ['10.0.0.1/32']), { gone: nic('a', ['10.0.0.1/32']) }, nic('b', ['10.0.0.1/32'])),
    want: undefined,
  },
  {
    says: 'an address on two attachments of one network',
    given: history(attachment('a', ['10.0.0.1/32']), attachment('b', ['10.0.0.1/32'])),
    want: /held by VPCAttachment b/,
  },
  {
    says: 'a lease given back while its attachment stands',
    given: history(lease('a', '10.0.0.1/32'), attachment('a', ['10.0.0.1/32']), { gone: lease('a', '10.0.0.1/32') }),
    want: /was given back while VPCAttachment a/,
  },
  {
    says: 'a lease given back after its attachment went',
    given: history(
      lease('a', '10.0.0.1/32'),
      attachment('a', ['10.0.0.1/32']),
      { gone: attachment('a', []) },
      { gone: lease('a', '10.0.0.1/32') },
    ),
    want: undefined,
  },
  {
    says: 'a lease that somebody else took away by hand',
    given: history(lease('a', '10.0.0.1/32', { uid: 'by-hand' }), attachment('a', ['10.0.0.1/32']), {
      gone: lease('a', '10.0.0.1/32', { uid: 'by-hand' }),
    }),
    want: undefined,
  },
  {
    says: 'a lease taken for another while an attachment carries the address',
    given: history(nic('a', ['10.0.0.1/32']), attachment('a', ['10.0.0.1/32']), lease('b', '10.0.0.1/32')),
    want: /was taken while VPCAttachment a/,
  },
  {
    says: 'a lease that somebody else made for another by hand',
    given: history(nic('a', ['10.0.0.1/32']), attachment('a', ['10.0.0.1/32']), lease('b', '10.0.0.1/32', { uid: 'by-hand' })),
    want: undefined,
  },
  {
    says: 'a bound claim whose addresses change',
    given: history(claim(['10.0.0.1/32']), claim(['10.0.0.2/32'])),
    want: /went from 10\.0\.0\.1\/32 to 10\.0\.0\.2\/32/,
  },
  { says: 'a bound claim that loses its addresses', given: history(claim(['10.0.0.1/32']), claim([])), want: /to no address/ },
  {
    says: 'a claim that was not bound yet',
    given: history(claim(['10.0.0.1/32'], { bound: 'False' }), claim(['10.0.0.2/32'])),
    want: undefined,
  },
  { says: 'a bound claim that moves', given: history(claim([]), claim([], { nicName: 'db' })), want: /from interface web to db/ },
  {
    says: 'one block for two requests',
    given: history(block('a', 'fd20::/96'), block('b', 'fd20::/96')),
    want: /held by IPClaim b/,
  },
]

const own = new Set(['lease-a-uid', 'lease-b-uid'])

for (const { says, given, want } of table)
  test(says, () => {
    const found = faultsInHistory(given, { created: own, deleted: own }).join('\n')
    if (want) assert.match(found, want)
    else assert.equal(found, '')
  })
