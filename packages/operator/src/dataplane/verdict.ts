/** What the status of a DataPlane says, as a pure function of what was seen of it. */
import { contractVersions, type DataPlane, type DataPlaneStatusIntent, dataPlaneConditions as says } from '@nso/api'
import type { Happening } from '../events.ts'
import { isKnownContract } from './capabilities.ts'
import type { LostTie } from './choose.ts'
import type { FollowedKind } from './kinds.ts'
import { explain, type Missing } from './permissions.ts'
import type { CompiledSpec } from './plane.ts'
import type { TemplateError } from './template.ts'

export type Reviewed = { is: 'done'; missing: readonly Missing[] } | { is: 'failed'; message: string } | { is: 'not asked' }

export type SeenPlane = {
  readonly object: DataPlane
  readonly compiled: CompiledSpec
  readonly lost: readonly LostTie[]
  /** The kinds of the templates, as far as they may be followed. */
  readonly kinds: readonly Pick<FollowedKind, 'ref' | 'state'>[]
  readonly reviewed: Reviewed
  /** What its deletion waits for; undefined while it is not being deleted. */
  readonly leaving?: string | undefined
  /** What the published schemas of the kinds speak against. */
  readonly unknownFields?: readonly TemplateError[]
  /** What is said of them already, and stands until the schemas are there. */
  readonly standingRefusal?: string | undefined
}

export function intentFor(seen: SeenPlane): DataPlaneStatusIntent {
  return { conditions: [accepted(seen), installed(seen), permitted(seen)] }
}

/** Errors shown at once; the rest are counted. */
const shownErrors = 3

const correction = 'correct the DataPlane, or install the version of the definition that has the field'

function firstOf(errors: readonly TemplateError[]): string {
  const shown = errors.slice(0, shownErrors).map(({ message }) => message)
  const more = errors.length > shownErrors ? [`and ${errors.length - shownErrors} more`] : []
  return [...shown, ...more].join('; ')
}

function accepted({ object, compiled, lost, leaving, unknownFields = [], standingRefusal }: SeenPlane) {
  const generation = object.metadata.generation
  const { refusedKinds, errors } = compiled
  if (leaving !== undefined) {
    return says.Accepted.no('Deleting', `Being deleted; takes no new interfaces. ${leaving}`, generation)
  }
  if (refusedKinds.length > 0) {
    const message = `Kind ${refusedKinds.join(', ')} cannot be made from templates: name a kind of the data plane's own API group`
    return says.Accepted.no('KindNotAllowed', message, generation)
  }
  if (!isKnownContract(object)) {
    const known = contractVersions.join(', ')
    const message = `Contract ${object.spec.contract} is not known; this NSO knows ${known}: install a newer NSO, or a DataPlane for ${known}`
    return says.Accepted.no('ContractUnsupported', message, generation)
  }
  if (errors.length > 0) return says.Accepted.no('InvalidTemplate', `${firstOf(errors)}: correct the DataPlane`, generation)
  const unknown = standingRefusal ?? (unknownFields.length > 0 ? `${firstOf(unknownFields)}: ${correction}` : undefined)
  if (unknown !== undefined) return says.Accepted.no('UnknownField', unknown, generation)
  const ties = lost.map(({ pattern, to }) => `${pattern} by DataPlane ${to}`).join(', ')
  if (lost.length > 0 && lost.length === object.spec.locations?.length) {
    const message = `All locations are served by others, ${ties}: change spec.locations, or delete the others`
    return says.Accepted.no('LocationsServedByAnother', message, generation)
  }
  const message = ties ? `Templates are sound; served by others: ${ties}` : 'Templates are sound'
  return says.Accepted.yes('Accepted', message, generation)
}

function installed({ object, compiled, kinds }: SeenPlane) {
  const generation = object.metadata.generation
  if (compiled.refusedKinds.length > 0) return says.Installed.unknown('NotAccepted', notAllowed, generation)
  const unserved = kinds.filter(({ state }) => state === 'unserved')
  if (unserved.length > 0) {
    const message = `Not served: ${named(unserved)}: install the data plane's definitions, or correct apiVersion and kind`
    return says.Installed.no('KindNotServed', message, generation)
  }
  const wide = kinds.filter(({ state }) => state === 'not-namespaced')
  if (wide.length > 0) {
    return says.Installed.no('KindNotNamespaced', `Not namespaced: ${named(wide)}: name a namespaced kind`, generation)
  }
  if (kinds.some(({ state }) => state === 'unknown')) {
    const message = `Could not be asked for: ${named(kinds)}: see the API server; it is asked again by itself`
    return says.Installed.unknown('DiscoveryFailed', message, generation)
  }
  return says.Installed.yes('Installed', `Served: ${named(kinds)}`, generation)
}

const notAllowed = 'The kinds are not allowed: see Accepted'

const named = (kinds: SeenPlane['kinds']): string => kinds.map(({ ref }) => `${ref.kind} (${ref.apiVersion})`).join(', ')

function permitted({ object, compiled, kinds, reviewed }: SeenPlane) {
  const generation = object.metadata.generation
  if (compiled.refusedKinds.length > 0) return says.Permitted.unknown('NotAccepted', notAllowed, generation)
  if (kinds.some(({ state }) => state !== 'served')) {
    const message = 'Permissions are reviewed when the kinds are served: see Installed'
    return says.Permitted.unknown('NotInstalled', message, generation)
  }
  if (reviewed.is === 'failed') {
    return says.Permitted.unknown(
      'ReviewFailed',
      `${reviewed.message}: see the API server; it is asked again by itself`,
      generation,
    )
  }
  if (reviewed.is === 'not asked') return says.Permitted.unknown('Pending', 'Permissions are being reviewed', generation)
  return reviewed.missing.length > 0
    ? says.Permitted.no('NotPermitted', explain(reviewed.missing), generation)
    : says.Permitted.yes('Permitted', 'NSO may read and write the kinds', generation)
}

/**
 * What is worth an event: each condition that turns False, once, and that it is True again. Its deletion is no news to whoever
 * asked for it.
 */
export function eventsFor({ status }: DataPlane, { conditions }: DataPlaneStatusIntent): readonly Happening[] {
  return (conditions ?? []).flatMap(({ type, status: is, reason, message }): Happening[] => {
    const before = status?.conditions?.find((each) => each.type === type)
    const wasFalse = before?.status === 'False'
    const told = { reason, action: 'UseDataPlane', message }
    if (is === 'False' && reason !== 'Deleting' && !(wasFalse && before.reason === reason)) return [{ type: 'Warning', ...told }]
    return is === 'True' && wasFalse ? [{ type: 'Normal', ...told }] : []
  })
}
