/** Reads what a pass over a network decides on. Caches only. */
import type { Network, NetworkContext, ServingLocation } from '@nso/api'
import { keyOf } from 'kube-control-loop'
import type { ProjectAnswer } from '../../addresses/ipam/project.ts'
import { isDeleting } from '../objects.ts'
import type { NetworkCaches } from '../parts.ts'
import { projectOfRange, type RangeService } from '../range-claim.ts'
import type { HeldBlocks } from '../ranges.ts'

export type Seen = {
  network: Network
  /** All contexts of the network's name, whoever made them. */
  contexts: readonly NetworkContext[]
  /** Names of the locations that are served. */
  locations: readonly string[]
  ranges: RangesSeen
}

export type RangesSeen =
  /** Ranges are chosen here: what all networks hold by status, by spec, and as passes that run now are about to write. */
  | { readonly kind: 'chosen'; readonly held: HeldBlocks }
  /** An address service gives them, where it has a class for them. */
  | { readonly kind: 'service'; readonly className: string | undefined; readonly project: ProjectAnswer }

export function observe(caches: NetworkCaches, network: Network, from: HeldBlocks | RangeService): Seen {
  return {
    network,
    contexts: caches.contexts.by('network', keyOf(network)),
    locations: [...caches.servingLocations.values()]
      .filter((location: ServingLocation) => !isDeleting(location))
      .map((location) => location.metadata.name)
      .sort(),
    ranges:
      'classes' in from
        ? { kind: 'service', className: from.classes.network, project: projectOf(from, network) }
        : { kind: 'chosen', held: from },
  }
}

const projectOf = (service: RangeService, { metadata, status }: Network): ProjectAnswer =>
  projectOfRange(service, metadata.namespace ?? '', status?.ipam?.ipv6PrefixRef)
