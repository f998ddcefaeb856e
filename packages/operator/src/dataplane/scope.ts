/** What templates read, from objects as they are stored. */
import type { NetworkContext, Subnet } from '@nso/api'
import { formatCidr } from '../addresses/cidr.ts'
import { gatewayOf, rangeOf } from '../addresses/subnet-range.ts'
import type { TemplateScope } from './types.ts'

/**
 * The ranges of one context, sorted by text as in the VPCs of the original system. A Subnet that is going, belongs to
 * another context or cannot be read is left out.
 */
export function subnetScope(context: NetworkContext, subnets: Iterable<Subnet>): TemplateScope['subnets'] {
  const ranges = []
  for (const subnet of subnets) {
    const range = isOf(context, subnet) ? rangeOf(subnet) : undefined
    if (!range) continue
    const gateway = gatewayOf(subnet)
    ranges.push({
      cidr: formatCidr(range),
      family: range.family,
      gateway: gateway.kind === 'address' ? gateway.address : undefined,
    })
  }
  return ranges.sort((a, b) => (a.cidr < b.cidr ? -1 : a.cidr > b.cidr ? 1 : 0))
}

/** Families of the context that no Subnet carries; none while its families are unknown. */
export function familiesWithoutSubnet({ spec }: NetworkContext, subnets: TemplateScope['subnets']): readonly string[] {
  return (spec.ipFamilies ?? []).filter((family) => !subnets.some((subnet) => subnet.family === family))
}

function isOf({ metadata }: NetworkContext, subnet: Subnet): boolean {
  return (
    subnet.spec.networkContext.name === metadata.name &&
    subnet.metadata.namespace === metadata.namespace &&
    subnet.metadata.deletionTimestamp === undefined
  )
}
