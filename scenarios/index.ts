/** All scenarios, in the order in which they are told. */
import { boundInterfaceDelete } from './bound-interface-delete.ts'
import { dualStack } from './dual-stack.ts'
import { externalAddress } from './external-address.ts'
import { familyNotCarried } from './family-not-carried.ts'
import { interfaceRelease } from './interface-release.ts'
import { interfaceThenClaimDelete } from './interface-then-claim-delete.ts'
import { missingAllocation } from './missing-allocation.ts'
import { networkContextIpv6Subnet } from './networkcontext-ipv6-subnet.ts'
import { reclaimDelete } from './reclaim-delete.ts'
import { reclaimRetain } from './reclaim-retain.ts'
import type { Scenario } from './scenario.ts'
import { serviceNamespaces } from './service-namespaces.ts'
import { unlabeledNamespace } from './unlabeled-namespace.ts'

export const scenarios: readonly Scenario[] = [
  dualStack,
  externalAddress,
  familyNotCarried,
  unlabeledNamespace,
  serviceNamespaces,
  reclaimDelete,
  reclaimRetain,
  interfaceRelease,
  boundInterfaceDelete,
  interfaceThenClaimDelete,
  missingAllocation,
  networkContextIpv6Subnet,
]
