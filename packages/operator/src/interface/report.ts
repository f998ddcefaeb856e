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
import { needsOf, shortfall } from '../dataplane/capabilities.ts'
import { reportWithoutPlane } from '../dataplane/report.ts'
import { subnetScope } from '../dataplane/scope.ts'
import { isGoing, isServing } from '../dataplane/serving.ts'
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
  around: Surroundings & { location: string | undefined; speaker?: NetworkInterfaceClaim },
): PlaneReport {
  const plane = planeOf(nic, sources.planes)
  if (!plane || (isGoing(plane) && !isServing(plane, nic))) {
    return reportWithoutPlane(around.location ?? 'unknown', whyNone(sources.planes, nic, plane, around.location))
  }
  const scope = scopeOf(sources.caches, plane, nic, around)
  const { speaker } = around
  return plane.translate({ interface: nic, attachment: scope.attachment, scope, ...(speaker ? { speaker } : {}) })
}

/** Why no plane was given to an interface where one seems to be at hand. */
function whyNone(
  planes: DataPlanes,
  nic: NetworkInterface,
  going: CompiledPlane | undefined,
  location: string | undefined,
): string | undefined {
  const prospect = location === undefined ? undefined : planes.prospect(location)
  const lacking = prospect && !nic.status?.attachmentRef ? shortfall(prospect, needsOf(nic)) : undefined
  if (lacking) return lacking.message
  const unfit = going ?? (location === undefined ? undefined : planes.contender(location))
  if (!unfit) return undefined
  const { name } = unfit.ref
  return isGoing(unfit)
    ? `DataPlane ${name} is being deleted and takes no new interface: install another for the location`
    : `DataPlane ${name} is not accepted: see its condition Accepted`
}
