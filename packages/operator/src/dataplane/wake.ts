/** What wakes the controller of DataPlanes. A plane that is being deleted is woken by the end of what it serves. */
import { annotations, type NetworkContext, type NetworkInterface, parseDataPlaneChoice } from '@nso/api'
import { type Change, type Key, type Watch, watch } from 'kube-control-loop'
import type { Caches } from '../caches.ts'
import { isDeleting } from '../interface/holder.ts'
import type { GrantedRole } from './granted-role.ts'
import type { DataPlaneRegistry } from './registry.ts'
import type { createReviews } from './reviews.ts'

export type PlaneWatchParts = {
  readonly caches: Pick<Caches, 'dataPlanes' | 'interfaces' | 'contexts'>
  readonly planes: DataPlaneRegistry
  readonly role: GrantedRole
  readonly reviews: Pick<ReturnType<typeof createReviews>, 'forget' | 'roleChanged'>
}

/** Many interfaces that go at once are told of by few passes. */
const gatheredMs = 200

export function planeWatches({ caches, planes, role, reviews }: PlaneWatchParts): Watch[] {
  const going = () => [...caches.dataPlanes.values()].filter(isDeleting).map(({ metadata }) => metadata.name)
  return [
    watch(caches.dataPlanes, ({ key }) => [key]),
    // Ties depend on all planes, and a plane's kinds come and go for all that name them.
    each(
      (handler) => planes.onPlane(handler),
      () => [...caches.dataPlanes.values()].map(({ metadata }) => metadata.name),
    ),
    each(planes.onSuspicion, (name) => {
      reviews.forget(name)
      return [name]
    }),
    each<void>(role.onChange, () => {
      const names = [...caches.dataPlanes.values()].map(({ metadata }) => metadata.name)
      for (const name of names) reviews.roleChanged(name)
      return names
    }),
    each(
      (handler) => caches.interfaces.subscribe(handler),
      (change: Change<NetworkInterface>) => {
        const chosen = [change.before, change.after].flatMap((nic) => (nic ? [choiceOf(nic)] : []))
        return going().filter((name) => chosen.includes(name))
      },
      gatheredMs,
    ),
    // A context that comes or goes decides whose its network object is.
    each(
      (handler) => caches.contexts.subscribe(handler),
      ({ before, after }: Change<NetworkContext>) => (before && after ? [] : going()),
      gatheredMs,
    ),
    each(planes.onAttachment, going, gatheredMs),
    each(planes.onNetworkObject, going, gatheredMs),
  ]
}

function each<T>(
  subscribe: (handler: (value: T) => void) => () => void,
  names: (value: T) => readonly Key[],
  afterMs = 0,
): Watch {
  return {
    subscribe: (enqueue) =>
      subscribe((value) => {
        for (const name of names(value)) enqueue(name, { afterMs })
      }),
  }
}

const choiceOf = (nic: NetworkInterface): string | undefined =>
  parseDataPlaneChoice(nic.metadata.annotations?.[annotations.dataPlane])?.name
