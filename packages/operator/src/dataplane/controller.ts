/**
 * Controller `dataplane` (key: DataPlane): says whether a DataPlane is accepted, its kinds installed, and NSO permitted.
 * It makes nothing. Permissions are reviewed when the spec, the kinds or NSO's gathered role change, and when a write or watch
 * was refused; by time only while something is missing, since another binding may grant it. A plane in order is never polled.
 */
import { DataPlane, statusOwners } from '@nso/api'
import {
  again,
  type Clock,
  type Controller,
  createStatusWriter,
  type Jitter,
  type Outcome,
  type RecordWarning,
  type SpecOf,
  type StatusOf,
  type StatusWriter,
  settled,
  type WriterEnvironment,
  waiting,
  watch,
} from 'kube-control-loop'
import type { Caches } from '../caches.ts'
import { lostTies } from './choose.ts'
import type { GrantedRole } from './granted-role.ts'
import type { DynamicKinds, FollowedKind } from './kinds.ts'
import { explain } from './permissions.ts'
import { isAllowed } from './plane.ts'
import type { DataPlaneRegistry, KnownPlane } from './registry.ts'
import { createReviews } from './reviews.ts'
import { intentFor, type SeenPlane } from './verdict.ts'

export type DataPlaneControllerParts = {
  readonly environment: WriterEnvironment
  readonly caches: Pick<Caches, 'dataPlanes'>
  readonly planes: DataPlaneRegistry
  readonly kinds: DynamicKinds
  readonly role: GrantedRole
  readonly clock: Clock
  readonly jitter: Jitter
  readonly recordEvent?: RecordWarning
}

export function createDataPlaneController(parts: DataPlaneControllerParts): Controller {
  const { caches, planes, clock, environment, role, recordEvent } = parts
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
  return {
    name: 'dataplane',
    needs: [{ cache: caches.dataPlanes }],
    watches: [
      watch(caches.dataPlanes, ({ key }) => [key]),
      // Ties depend on all planes, and a plane's kinds come and go for all that name them.
      {
        subscribe: (enqueue) =>
          planes.onPlane(() => {
            for (const object of caches.dataPlanes.values()) enqueue(object.metadata.name)
          }),
      },
      {
        subscribe: (enqueue) =>
          planes.onSuspicion((name) => {
            reviews.forget(name)
            enqueue(name)
          }),
      },
      {
        subscribe: (enqueue) =>
          role.onChange(() => {
            for (const { metadata } of caches.dataPlanes.values()) {
              reviews.roleChanged(metadata.name)
              enqueue(metadata.name)
            }
          }),
      },
    ],
    async reconcile({ key, signal }) {
      const known = planes.get(key)
      if (!known || known.object.metadata.deletionTimestamp) return settled
      const kinds = followedKinds(parts, known)
      // Just after a start: what was said before is not taken back only to be said again.
      if (kinds.some(({ state }) => state === 'asking')) return waiting('discovery')
      const { reviewed, inMs, fault } = await reviews.current(known.object, kinds, signal)
      const seen: SeenPlane = { ...known, lost: ties(planes, known), kinds, reviewed }
      planes.setDenied(key, reviewed.is === 'done' && reviewed.missing.length > 0 ? explain(reviewed.missing) : undefined)
      await status.status(known.object, intentFor(seen), signal)
      if (fault !== undefined) throw fault
      return outcomeOf(seen, inMs)
    },
    forget(key) {
      reviews.forget(key)
      status.forget(key)
    },
  }
}

function outcomeOf({ kinds, compiled }: SeenPlane, inMs: number | undefined): Outcome {
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
