/** What the data plane says of one interface, read from its attachment itself: claim and interface status say the same. */
import {
  annotations,
  type NetworkContext,
  type NetworkInterface,
  type NetworkInterfaceClaim,
  parseDataPlaneChoice,
  type Subnet,
} from '@nso/api'
import { keyFor, keyOf } from 'kube-control-loop'
import type { Caches } from '../caches.ts'
import { reportWithoutPlane } from '../dataplane/report.ts'
import { subnetScope } from '../dataplane/scope.ts'
import type { CompiledPlane, DataPlanes, PlaneReport, TemplateScope } from '../dataplane/types.ts'

/** The plane that the interface was given; undefined when none was, or when that DataPlane is gone or made again. */
export function planeOf(nic: NetworkInterface, planes: DataPlanes): CompiledPlane | undefined {
  const choice = parseDataPlaneChoice(nic.metadata.annotations?.[annotations.dataPlane])
  return choice && planes.find(choice)
}

export type Surroundings = {
  context: NetworkContext | undefined
  subnets: readonly Subnet[]
  claim: NetworkInterfaceClaim | undefined
}

/** Everything that templates may read about an interface. */
export function scopeOf(caches: Caches, plane: CompiledPlane, nic: NetworkInterface, around: Surroundings) {
  const { context, claim } = around
  const namespace = nic.metadata.namespace
  return {
    interface: nic,
    subnets: context ? subnetScope(context, around.subnets) : [],
    context,
    claim,
    network: caches.networks.get(keyFor(nic.spec.network.name, namespace)),
    networkObject: context && plane.networks?.get(keyOf(context)),
    attachment: plane.attachments?.get(keyOf(nic)),
  } satisfies TemplateScope
}

/** The plane's report as it stands in the caches. Pure given those. */
export function reportOn(
  sources: { caches: Caches; planes: DataPlanes },
  nic: NetworkInterface,
  around: Surroundings & { location: string | undefined },
): PlaneReport {
  const plane = planeOf(nic, sources.planes)
  if (!plane) return reportWithoutPlane(around.location ?? 'unknown')
  const scope = scopeOf(sources.caches, plane, nic, around)
  return plane.translate({ interface: nic, attachment: scope.attachment, scope })
}
