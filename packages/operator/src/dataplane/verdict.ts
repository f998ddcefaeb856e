/** What the status of a DataPlane says, as a pure function of what was seen of it. */
import { type DataPlane, type DataPlaneStatusIntent, dataPlaneConditions as says } from '@nso/api'
import type { LostTie } from './choose.ts'
import type { FollowedKind } from './kinds.ts'
import { explain, type Missing } from './permissions.ts'
import type { CompiledSpec } from './plane.ts'

export type Reviewed = { is: 'done'; missing: readonly Missing[] } | { is: 'failed'; message: string } | { is: 'not asked' }

export type SeenPlane = {
  readonly object: DataPlane
  readonly compiled: CompiledSpec
  readonly lost: readonly LostTie[]
  /** The kinds of the templates, as far as they may be followed. */
  readonly kinds: readonly Pick<FollowedKind, 'ref' | 'state'>[]
  readonly reviewed: Reviewed
}

export function intentFor(seen: SeenPlane): DataPlaneStatusIntent {
  return { conditions: [accepted(seen), installed(seen), permitted(seen)] }
}

/** Errors shown at once; the rest are counted. */
const shownErrors = 3

function accepted({ object, compiled, lost }: SeenPlane) {
  const generation = object.metadata.generation
  const { refusedKinds, errors } = compiled
  if (refusedKinds.length > 0) {
    return says.Accepted.no('KindNotAllowed', `Kind ${refusedKinds.join(', ')} cannot be made from templates`, generation)
  }
  if (errors.length > 0) {
    const shown = errors.slice(0, shownErrors).map((error) => error.message)
    const more = errors.length > shownErrors ? [`and ${errors.length - shownErrors} more`] : []
    return says.Accepted.no('InvalidTemplate', [...shown, ...more].join('; '), generation)
  }
  const ties = lost.map(({ pattern, to }) => `${pattern} by DataPlane ${to}`).join(', ')
  if (lost.length > 0 && lost.length === object.spec.locations?.length) {
    return says.Accepted.no('LocationsServedByAnother', `All locations are served by others: ${ties}`, generation)
  }
  const message = ties ? `Templates are sound; served by others: ${ties}` : 'Templates are sound'
  return says.Accepted.yes('Accepted', message, generation)
}

function installed({ object, compiled, kinds }: SeenPlane) {
  const generation = object.metadata.generation
  if (compiled.refusedKinds.length > 0) return says.Installed.unknown('NotAccepted', 'The kinds are not allowed', generation)
  const unserved = kinds.filter(({ state }) => state === 'unserved')
  if (unserved.length > 0) return says.Installed.no('KindNotServed', `Not served: ${named(unserved)}`, generation)
  const wide = kinds.filter(({ state }) => state === 'not-namespaced')
  if (wide.length > 0) return says.Installed.no('KindNotNamespaced', `Not namespaced: ${named(wide)}`, generation)
  if (kinds.some(({ state }) => state === 'unknown')) {
    return says.Installed.unknown('DiscoveryFailed', `Could not be asked for: ${named(kinds)}`, generation)
  }
  return says.Installed.yes('Installed', `Served: ${named(kinds)}`, generation)
}

const named = (kinds: SeenPlane['kinds']): string => kinds.map(({ ref }) => `${ref.kind} (${ref.apiVersion})`).join(', ')

function permitted({ object, compiled, kinds, reviewed }: SeenPlane) {
  const generation = object.metadata.generation
  if (compiled.refusedKinds.length > 0) return says.Permitted.unknown('NotAccepted', 'The kinds are not allowed', generation)
  if (kinds.some(({ state }) => state !== 'served')) {
    return says.Permitted.unknown('NotInstalled', 'Permissions are reviewed when the kinds are served', generation)
  }
  if (reviewed.is === 'failed') return says.Permitted.unknown('ReviewFailed', reviewed.message, generation)
  if (reviewed.is === 'not asked') return says.Permitted.unknown('Pending', 'Permissions are being reviewed', generation)
  return reviewed.missing.length > 0
    ? says.Permitted.no('NotPermitted', explain(reviewed.missing), generation)
    : says.Permitted.yes('Permitted', 'NSO may read and write the kinds', generation)
}
