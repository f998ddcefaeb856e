/** What is said of a network context. Pure. */
import { type NetworkContext, type NetworkContextStatusIntent, networkContextConditions, type Subnet } from '@nso/api'
import { type Standing, serves } from './decide.ts'

const { IPAMAllocated, Ready } = networkContextConditions

/** `subnets`: those that stand after the pass. */
export function contextStatus(
  context: NetworkContext,
  subnets: readonly Subnet[],
  standing: Standing,
): NetworkContextStatusIntent {
  const ipv6 = subnets.find((subnet) => serves(subnet, 'IPv6'))
  const ipam = ipv6 ? { ipam: { ipv6SubnetRef: { name: ipv6.metadata.name } } } : {}
  return { ...ipam, conditions: conditionsOf(standing, context.metadata.generation) }
}

function conditionsOf(standing: Standing, generation: number | undefined): NetworkContextStatusIntent['conditions'] {
  switch (standing.state) {
    case 'held':
      return [
        ...(standing.any ? [IPAMAllocated.yes('Allocated', 'Every family of the context has a Subnet.', generation)] : []),
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
