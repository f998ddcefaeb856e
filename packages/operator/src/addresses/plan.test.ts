import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AddressLease, NetworkContext, NetworkInterfaceClaim, Subnet } from '@nso/api'
import fc from 'fast-check'
import { type Block, blockAt, formatCidr, overlaps } from './cidr.ts'
import { createOccupancy } from './occupancy.ts'
import { choose, type Wish } from './plan.ts'
import type { AddressRequest } from './port.ts'
import { subnetsFor } from './subnet-range.ts'

const apiVersion = 'networking.datumapis.com/v1alpha'

function aSubnet(
  name: string,
  range: string,
  given: { subnetClass?: string; context?: string; created?: string; status?: string } = {},
): Subnet {
  const { subnetClass = 'private', context = 'net-dfw', created = '2026-01-01T00:00:00Z', status } = given
  const stated = (text: string) => ({ startAddress: text.split('/')[0] ?? '', prefixLength: Number(text.split('/')[1]) })
  return {
    apiVersion,
    kind: 'Subnet',
    metadata: { name, namespace: 'default', creationTimestamp: created },
    spec: {
      subnetClass,
      networkContext: { name: context },
      location: { name: 'dfw' },
      ipFamily: range.includes(':') ? 'IPv6' : 'IPv4',
      ...stated(range),
    },
    ...(status ? { status: stated(status) } : {}),
  }
}

function aLease(
  name: string,
  address: string,
  given: { claimUID?: string; family?: 'IPv4' | 'IPv6'; context?: string; deleting?: boolean } = {},
): AddressLease {
  const { claimUID = 'uid', family = 'IPv4', context = 'net-dfw', deleting } = given
  return {
    apiVersion,
    kind: 'AddressLease',
    metadata: { name, namespace: 'default', ...(deleting ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}) },
    spec: {
      network: { name: 'net' },
      networkContext: { name: context },
      family,
      address,
      holder: { claimName: 'web', claimUID, family },
    },
  }
}

const context = { metadata: { name: 'net-dfw', namespace: 'default' } } as NetworkContext
const claim = {
  metadata: { name: 'web', namespace: 'default', uid: 'uid' },
  spec: { ipFamilies: ['IPv6', 'IPv4'] },
} as NetworkInterfaceClaim & {
  metadata: { uid: string }
}
const ipv4: AddressRequest = { family: 'IPv4' }

function outcome(wish: Partial<Wish>, own: readonly AddressLease[] = [], held: readonly Block[] = []): string {
  const occupancy = createOccupancy()
  for (const [n, block] of held.entries()) occupancy.add(`${n}`, [block])
  const choice = choose({ claim, context, subnets: [], request: ipv4, ...wish }, own, occupancy)
  if (choice.kind === 'refused') return choice.reason
  return choice.kind === 'held' ? `held ${formatCidr(choice.unit)}` : `${choice.subnet} ${formatCidr(choice.unit)}`
}

const one = aSubnet('one', '10.0.0.0/30')
const table: { says: string; given: Parameters<typeof outcome>; want: string }[] = [
  {
    says: 'comes from a private Subnet of the family',
    given: [{ subnets: [aSubnet('p', '198.51.100.0/30', { subnetClass: 'public' }), one] }],
    want: 'one 10.0.0.2/32',
  },
  {
    says: 'comes from the range of the status before that of the spec',
    given: [{ subnets: [aSubnet('s', '10.0.0.0/30', { status: '10.9.0.0/30' })] }],
    want: 's 10.9.0.2/32',
  },
  {
    says: 'does not come from the Subnet of another context',
    given: [{ subnets: [aSubnet('x', '10.0.0.0/30', { context: 'net-lhr' })] }],
    want: 'AddressAllocationRejected',
  },
  {
    says: 'comes from the older Subnet first',
    given: [{ subnets: [one, aSubnet('two', '10.0.1.0/30', { created: '2025-01-01T00:00:00Z' })] }],
    want: 'two 10.0.1.2/32',
  },
  {
    says: 'comes from the next Subnet when the first is full',
    given: [{ subnets: [one, aSubnet('two', '10.0.1.0/30')] }, [], [blockAt('IPv4', 0x0a000002n, 32)]],
    want: 'two 10.0.1.2/32',
  },
  {
    says: 'is refused when all are full',
    given: [{ subnets: [one] }, [], [blockAt('IPv4', 0x0a000000n, 29)]],
    want: 'AddressPoolExhausted',
  },
  {
    says: 'is refused when the range cannot be read',
    given: [{ subnets: [aSubnet('bad', 'ten/8')] }],
    want: 'AddressAllocationRejected',
  },
  {
    says: 'is the one that a lease of the holder names',
    given: [{ subnets: [one] }, [aLease('l', '10.0.0.9/32')]],
    want: 'held 10.0.0.9/32',
  },
  {
    says: 'is not one of another family',
    given: [{ subnets: [one] }, [aLease('l', 'fd00::/96', { family: 'IPv6' })]],
    want: 'one 10.0.0.2/32',
  },
  {
    says: 'is not one in another context',
    given: [{ subnets: [one] }, [aLease('l', '10.0.0.9/32', { context: 'net-lhr' })]],
    want: 'one 10.0.0.2/32',
  },
  {
    says: 'is not one that is going',
    given: [{ subnets: [one] }, [aLease('l', '10.0.0.9/32', { deleting: true })]],
    want: 'one 10.0.0.2/32',
  },
  {
    says: 'is the first by name of two',
    given: [{ subnets: [one] }, [aLease('m', '10.0.0.9/32'), aLease('l', '10.0.0.8/32')]],
    want: 'held 10.0.0.8/32',
  },
  {
    says: 'of a class comes from a Subnet of the class',
    given: [{ subnets: [one, aSubnet('p', '198.51.100.0/30', { subnetClass: 'public' })], request: { class: 'public' } }],
    want: 'p 198.51.100.2/32',
  },
]
for (const { says, given, want } of table) {
  test(`an address ${says}`, () => assert.equal(outcome(...given), want))
}

test('two Subnets that overlap with different unit sizes do not both hand out: the older one does', () => {
  const wide = aSubnet('wide', 'fd00::/64', { created: '2026-01-02T00:00:00Z' })
  const narrow = aSubnet('narrow', 'fd00::1:0:0/112', { created: '2026-01-01T00:00:00Z' })
  const usable = subnetsFor('net-dfw', { family: 'IPv6' }, [wide, narrow])
  assert.deepEqual(
    usable.map(({ metadata }) => metadata.name),
    ['narrow'],
  )
})

test('nor do two of different contexts of the network, since an address is held once in all of it', () => {
  const there = aSubnet('there', 'fd00::/64', { context: 'net-lhr', created: '2026-01-01T00:00:00Z' })
  const here = aSubnet('here', 'fd00::1:0:0/112', { created: '2026-01-02T00:00:00Z' })
  const equal = aSubnet('equal', 'fd00::/60', { created: '2026-01-03T00:00:00Z' })
  const usable = subnetsFor('net-dfw', { family: 'IPv6' }, [here, there, equal])
  assert.deepEqual(
    usable.map(({ metadata }) => metadata.name),
    ['equal'],
  )
})

test('whatever the Subnets and the holders, no two units that are handed out have an address in common', () => {
  const range = fc.oneof(
    fc.tuple(fc.constantFrom('10.0.0.0', '10.0.0.8', '10.0.0.16'), fc.integer({ min: 26, max: 32 })),
    fc.tuple(fc.constantFrom('fd00::', 'fd00::1:0:0', 'fd00::1:0:8'), fc.constantFrom(92, 94, 95, 96, 112, 124, 126, 127, 128)),
  )
  const subnets = fc
    .array(range, { minLength: 1, maxLength: 4 })
    .map((ranges) => ranges.map(([start, length], n) => aSubnet(`s${n}`, `${start}/${length}`)))
  fc.assert(
    fc.property(subnets, fc.constantFrom('IPv4' as const, 'IPv6' as const), (given, family) => {
      const occupancy = createOccupancy()
      const units: Block[] = []
      for (let n = 0; n < 24; n += 1) {
        const holder = { ...claim, metadata: { ...claim.metadata, uid: `uid-${n}` } }
        const choice = choose({ claim: holder, context, subnets: given, request: { family } }, [], occupancy)
        if (choice.kind !== 'free') break
        assert.ok(!units.some((unit) => overlaps(unit, choice.unit)), formatCidr(choice.unit))
        occupancy.add(`${n}`, [choice.unit])
        units.push(choice.unit)
      }
    }),
  )
})
