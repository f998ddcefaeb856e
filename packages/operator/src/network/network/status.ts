/** What is said of a network. Pure. */
import { type Network, type NetworkStatusIntent, networkConditions } from '@nso/api'
import { formatCidr } from '../../addresses/cidr.ts'
import type { Ranges } from './decide.ts'

const { IPAMAllocated, Ready } = networkConditions

export function networkStatus(network: Network, ranges: Ranges, tooLong: readonly string[]): NetworkStatusIntent {
  const generation = network.metadata.generation
  if (ranges.kind === 'refused') {
    const { reason, message } = ranges
    const kept = network.status?.ipam?.ipv6Prefix
    return {
      ...(kept === undefined ? {} : { ipam: { ipv6Prefix: kept } }),
      conditions: [IPAMAllocated.no(reason, message, generation), Ready.no(reason, message, generation)],
    }
  }
  const held = ranges.kind === 'held'
  return {
    ...(held && ranges.prefix ? { ipam: { ipv6Prefix: formatCidr(ranges.prefix) } } : {}),
    conditions: [
      ...(held ? [IPAMAllocated.yes('Allocated', 'The ranges of the network are held.', generation)] : []),
      tooLong.length === 0
        ? Ready.yes('Ready', 'Interfaces may use the network.', generation)
        : Ready.no('AllocationFailed', unnameable(tooLong), generation),
    ],
  }
}

/** Names a few only: a message has a greatest length too, and a status that is refused for it would be tried for ever. */
function unnameable(names: readonly string[]): string {
  const others = names.length > told ? ` and ${names.length - told} others` : ''
  return `No NetworkContext can be named ${names.slice(0, told).join(', ')}${others}: longer than 253 characters.`
}

const told = 3
