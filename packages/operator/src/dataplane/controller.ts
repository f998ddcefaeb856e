/**
 * Controller `dataplane` (key: DataPlane): holds each DataPlane by a finalizer, before it is offered to anybody and until nobody needs
 * it (release.ts), and says whether it is accepted, its kinds installed, and NSO permitted. Permissions are reviewed when the
 * spec, the kinds or NSO's gathered role change, and when a write or watch was refused; by time only while something is missing,
 * since another binding may grant it. A plane in order is never polled.
 */
import { DataPlane, finalizers, managers, statusOwners } from '@nso/api'
import {
  again,
  type Clock,
  type Controller,
  createStatusWriter,
  createWriter,
  type Jitter,
  type Outcome,
  type RecordWarning,
  type SpecOf,
  type StatusOf,
  type StatusWriter,
  settled,
  type WriterEnvironment,
  waiting,
} from 'kube-control-loop'
import type { Caches } from '../caches.ts'
import type { Tell } from '../events.ts'
import { lostTies } from './choose.ts'
import type { Definitions } from './definitions.ts'
import type { GrantedRole } from './granted-role.ts'
import type { DynamicKinds, FollowedKind } from './kinds.ts'
import { explain } from './permissions.ts'
import { isAllowed } from './plane.ts'
import { type DataPlaneRegistry, isHeld, type KnownPlane } from './registry.ts'
import { createReleaser, otherFinalizers } from './release.ts'
import { createReviews } from './reviews.ts'
import { eventsFor, intentFor, type SeenPlane } from './verdict.ts'
import { planeWatches } from './wake.ts'

export type DataPlaneControllerParts = {
  readonly environment: WriterEnvironment
  readonly caches: Pick<Caches, 'dataPlanes' | 'interfaces' | 'contexts'>
  readonly planes: DataPlaneRegistry
  readonly definitions: Pick<Definitions, 'stands'>
  readonly kinds: DynamicKinds
  readonly role: GrantedRole
  readonly clock: Clock
  readonly jitter: Jitter
  readonly recordEvent?: RecordWarning
  readonly tell?: Tell
}

export function createDataPlaneController(parts: DataPlaneControllerParts): Controller {
  const { caches, planes, clock, environment, role, recordEvent, tell } = parts
  const reviews = createReviews({ ...parts, client: environment.client })
  const status = createStatusWriter({
    ...environment,
    kind: DataPlane,
    cache: caches.dataPlanes,
    controller: 'dataplane',
    owner: statusOwners.dataPlane,
    clock,
    ...(recordEvent ? { recordEvent } : {}),
  }) satisfies StatusWriter<SpecOf<typeof DataPlane>, StatusOf<typeof DataPlane>, typeof statusOwners.dataPlane>
  const writer = createWriter({
    ...environment,
    kind: DataPlane,
    cache: caches.dataPlanes,
    controller: 'dataplane',
    manager: managers.dataPlane,
    writes: ['addFinalizer', 'removeFinalizer'],
  })
  const release = createReleaser(parts)

  /** What its deletion waits for, or nothing once it holds nobody; the finalizer is gone then. */
  const leave = async (known: KnownPlane, signal: AbortSignal): Promise<Leaving | undefined> => {
    const { object } = known
    const others = otherFinalizers(object)
    const found = isHeld(object) ? await release(known, signal) : undefined
    if (found?.is === 'waiting') return found
    if (isHeld(object) && others.length === 0) return void (await writer.removeFinalizer(object, finalizers.dataPlane, signal))
    const message = `Serves nobody; finalizers of others keep it: ${others.join(', ')}: whoever put them there takes them away`
    return { message, released: isHeld(object) }
  }

  const say = async (known: KnownPlane, leaving: Leaving | undefined, signal: AbortSignal): Promise<Outcome> => {
    const kinds = followedKinds(parts, known)
    // Just after a start: what was said before is not taken back only to be said again.
    if (kinds.some(({ state }) => state === 'asking')) return waiting('discovery')
    const { name } = known.object.metadata
    const { reviewed, inMs, fault = leaving?.fault } = await reviews.current(known.object, kinds, signal)
    const { unknownFields, standingRefusal } = known.plane
    const fields = { unknownFields, standingRefusal }
    const seen: SeenPlane = { ...known, ...fields, lost: ties(planes, known), kinds, reviewed, leaving: leaving?.message }
    planes.setDenied(name, reviewed.is === 'done' && reviewed.missing.length > 0 ? explain(reviewed.missing) : undefined)
    const intent = intentFor(seen)
    const events = eventsFor(known.object, intent)
    const stands = await status.status(known.object, intent, signal)
    for (const event of events) tell?.(known.object, event)
    if (leaving?.released) await writer.removeFinalizer(stands, finalizers.dataPlane, signal)
    if (fault !== undefined) throw fault
    return outcomeOf(seen, inMs, leaving)
  }

  return {
    name: 'dataplane',
    needs: [{ cache: caches.dataPlanes }, { cache: caches.interfaces }, { cache: caches.contexts }],
    watches: planeWatches({ caches, planes, role, reviews }),
    async reconcile({ key, signal }) {
      const found = planes.get(key)
      if (!found) return settled
      if (found.object.metadata.deletionTimestamp) {
        const leaving = await leave(found, signal)
        return leaving ? say(found, leaving, signal) : settled
      }
      const object = await writer.addFinalizer(found.object, finalizers.dataPlane, signal)
      return say({ ...found, object }, undefined, signal)
    },
    forget(key) {
      reviews.forget(key)
      status.forget(key)
    },
  }
}

type Leaving = {
  message: string
  /** When to look again, where no watch tells all. */
  againMs?: number
  /** Nobody of NSO's needs it: the finalizer goes once that is said. */
  released?: boolean
  /** To be thrown once the status tells of it. */
  fault?: unknown
}

function outcomeOf({ kinds, compiled }: SeenPlane, inMs: number | undefined, leaving: Leaving | undefined): Outcome {
  const againMs = leaving?.againMs ?? inMs
  if (leaving) return againMs === undefined ? waiting(leaving.message) : again(againMs, leaving.message)
  if (inMs !== undefined) return again(inMs, 'what else may grant a permission has no watch')
  const absent = kinds.find(({ state }) => state !== 'served')
  return absent && compiled.refusedKinds.length === 0 ? waiting(`kind ${absent.ref.kind} being served`) : settled
}

const ties = (planes: DataPlaneRegistry, known: KnownPlane) =>
  lostTies(
    known.object,
    planes.sound().map(({ object }) => object),
  )

function followedKinds({ kinds }: DataPlaneControllerParts, { plane }: KnownPlane): readonly FollowedKind[] {
  return [plane.attachmentKind, plane.networkKind].flatMap((ref) => (ref && isAllowed(ref) ? [kinds.follow(ref)] : []))
}
