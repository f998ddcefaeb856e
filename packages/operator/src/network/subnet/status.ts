/** What is said of a Subnet: the range it asks for is the range it holds, if it can be read. Pure. */
import { type Subnet, type SubnetStatusIntent, subnetConditions } from '@nso/api'
import { bitsOf, formatAddress, readAddress, readRange } from '../../addresses/cidr.ts'
import { advice } from '../../messages.ts'

const { Allocated, Ready } = subnetConditions

const notReported = advice('No router has reported that it carries the range', 'nothing to do, claims do not wait for it')

export function subnetStatus(subnet: Subnet): SubnetStatusIntent {
  const { startAddress, prefixLength, ipFamily } = subnet.spec
  const { generation } = subnet.metadata
  const range = readRange(startAddress, prefixLength)
  const start = readAddress(startAddress)
  if (!start || range?.family !== ipFamily) {
    const message = advice(
      `${startAddress}/${prefixLength} is no ${ipFamily} range (prefix length 0 to ${bitsOf(ipFamily)})`,
      'correct spec.startAddress and spec.prefixLength',
    )
    return {
      conditions: [Allocated.no('RangeUnsupported', message, generation), Ready.no('NotAllocated', message, generation)],
    }
  }
  return {
    startAddress: formatAddress(range.family, start.address),
    prefixLength: range.prefixLength,
    conditions: [Allocated.yes('PrefixAllocated', 'The range is held.', generation), readiness(subnet)],
  }
}

function readiness({ status, metadata: { generation } }: Subnet) {
  const programmed = status?.conditions?.find(({ type }) => type === 'Programmed')?.status === 'True'
  return programmed
    ? Ready.yes('Ready', 'Routers carry the range.', generation)
    : Ready.no('NotProgrammed', notReported, generation)
}
