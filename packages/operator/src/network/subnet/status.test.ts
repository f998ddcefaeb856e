import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Subnet } from '@nso/api'
import { subnetStatus } from './status.ts'

function aSubnet(spec: Partial<Subnet['spec']>, programmed?: 'True' | 'False'): Subnet {
  const condition = { type: 'Programmed', reason: 'Programmed', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' }
  return {
    apiVersion: 'networking.datumapis.com/v1alpha',
    kind: 'Subnet',
    metadata: { name: 's', namespace: 'default', generation: 2 },
    spec: {
      subnetClass: 'private',
      networkContext: { name: 'c' },
      location: { name: 'l' },
      ipFamily: 'IPv4',
      startAddress: '10.0.0.0',
      prefixLength: 24,
      ...spec,
    },
    ...(programmed ? { status: { conditions: [{ ...condition, status: programmed }] } } : {}),
  }
}

const allocated = 'Allocated True PrefixAllocated 2'
const refused = ['Allocated False RangeUnsupported 2', 'Ready False NotAllocated 2']
const table: { says: string; subnet: Subnet; range: string; conditions: string[] }[] = [
  {
    says: 'holds the range it asks for',
    subnet: aSubnet({}),
    range: '10.0.0.0/24',
    conditions: [allocated, 'Ready False NotProgrammed 2'],
  },
  {
    says: 'is ready when it is programmed',
    subnet: aSubnet({}, 'True'),
    range: '10.0.0.0/24',
    conditions: [allocated, 'Ready True Ready 2'],
  },
  {
    says: 'is not ready when programming failed',
    subnet: aSubnet({}, 'False'),
    range: '10.0.0.0/24',
    conditions: [allocated, 'Ready False NotProgrammed 2'],
  },
  {
    says: 'is published in canonical form',
    subnet: aSubnet({ ipFamily: 'IPv6', startAddress: 'FD20:0::', prefixLength: 64 }),
    range: 'fd20::/64',
    conditions: [allocated, 'Ready False NotProgrammed 2'],
  },
  {
    says: 'is published as IPv4 when it is written as a mapped address',
    subnet: aSubnet({ startAddress: '::ffff:10.0.0.0', prefixLength: 120 }),
    range: '10.0.0.0/24',
    conditions: [allocated, 'Ready False NotProgrammed 2'],
  },
  {
    says: 'says that its text is no address',
    subnet: aSubnet({ startAddress: 'ten' }),
    range: 'undefined/undefined',
    conditions: refused,
  },
  {
    says: 'says that its prefix is too long',
    subnet: aSubnet({ prefixLength: 33 }),
    range: 'undefined/undefined',
    conditions: refused,
  },
  {
    says: 'says that its range is of the other family',
    subnet: aSubnet({ ipFamily: 'IPv6' }),
    range: 'undefined/undefined',
    conditions: refused,
  },
]
for (const { says, subnet, range, conditions } of table) {
  test(`a Subnet ${says}`, () => {
    const status = subnetStatus(subnet)
    assert.equal(`${status.startAddress}/${status.prefixLength}`, range)
    assert.deepEqual(
      status.conditions.map((each) => `${each.type} ${each.status} ${each.reason} ${each.observedGeneration}`),
      conditions,
    )
  })
}
