/** What is said of a network. Pure. */
import { finalizers, type Network, type NetworkStatusIntent, networkConditions } from '@nso/api'
import { formatCidr } from '../../addresses/cidr.ts'
import { advice, few } from '../../messages.ts'
import type { Ranges } from './decide.ts'

const { IPAMAllocated, Ready } = networkConditions

/** What is known of the ranges at the end of a pass. */
export type RangesKnown = Exclude<Ranges, { kind: 'ask' }>

export function networkStatus(network: Network, ranges: RangesKnown, tooLong: readonly string[]): NetworkStatusIntent {
  const generation = network.metadata.generation
  if (ranges.kind === 'refused') {
    const { reason, message } = ranges
    const kept = network.status?.ipam
    return {
      ...(kept === undefined ? {} : { ipam: kept }),
      conditions: [IPAMAllocated.no(reason, message, generation), Ready.no(reason, message, generation)],
    }
  }
  const held = ranges.kind === 'held'
  const ipam = ipamOf(network, ranges)
  return {
    ...(ipam ? { ipam } : {}),
    conditions: [
      ...(held ? [IPAMAllocated.yes('Allocated', 'The ranges of the network are held.', generation)] : []),
      tooLong.length === 0
        ? Ready.yes('Ready', 'Interfaces may use the network.', generation)
        : Ready.no('AllocationFailed', unnameable(tooLong), generation),
    ],
  }
}

/** What an address service holds stays on record until it is given back, also where the network does not ask for it any more. */
function ipamOf({ metadata, status }: Network, ranges: RangesKnown): NetworkStatusIntent['ipam'] {
  if (ranges.kind === 'held' && ranges.prefix) {
    return { ipv6Prefix: formatCidr(ranges.prefix), ...(ranges.ref ? { ipv6PrefixRef: ranges.ref } : {}) }
  }
  return metadata.finalizers?.includes(finalizers.networkPrefix) ? status?.ipam : undefined
}

const unnameable = (names: readonly string[]): string =>
  advice(`No NetworkContext can be named ${few(names)}, longer than 253 characters`, 'make a network with a shorter name')
