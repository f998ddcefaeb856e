/** What is said of a network context. Pure. */
import { type NetworkContext, type NetworkContextStatusIntent, networkContextConditions, type Subnet } from '@nso/api'
import type { RangeRef } from '../range-claim.ts'
import { type Standing, serves } from './standing.ts'

const { IPAMAllocated, Ready } = networkContextConditions

/** `subnets`: those that stand after the pass. `ref`: where an address service holds the range; one on record stays. */
export function contextStatus(
  context: NetworkContext,
  subnets: readonly Subnet[],
  standing: Standing,
  ref: RangeRef | undefined = context.status?.ipam?.ipv6ClaimRef,
): NetworkContextStatusIntent {
  const ipv6 = subnets.find((subnet) => serves(subnet, 'IPv6'))
  const ipam = {
    ...(ipv6 ? { ipv6SubnetRef: { name: ipv6.metadata.name } } : {}),
    ...(ref ? { ipv6ClaimRef: ref } : {}),
  }
  const held = ref ? 'The IPv6 range of the context is held.' : 'Every family of the context has a Subnet.'
  return {
    ...(ipv6 || ref ? { ipam } : {}),
    conditions: conditionsOf(standing, held, context.metadata.generation),
  }
}

function conditionsOf(
  standing: Standing,
  held: string,
  generation: number | undefined,
): NetworkContextStatusIntent['conditions'] {
  switch (standing.state) {
    case 'held':
      return [
        ...(standing.any ? [IPAMAllocated.yes('Allocated', held, generation)] : []),
        Ready.yes('Ready', 'Interfaces may use the context.', generation),
      ]
    case 'waiting': {
      const message = `Waiting for ${standing.on}.`
      return [IPAMAllocated.unknown('Pending', message, generation), Ready.unknown('Pending', message, generation)]
    }
    case 'refused': {
      const { reason, message } = standing
      return [IPAMAllocated.no(reason, message, generation), Ready.no(reason, message, generation)]
    }
  }
}
