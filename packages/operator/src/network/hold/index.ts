/**
 * The context-hold controller: the finalizer `networkcontext-in-use` stands on a context while interfaces are in it, in
 * every location. It alone adds and removes that finalizer. Key: context.
 */
import { finalizers, type NetworkContext, NetworkInterface } from '@nso/api'
import { type Change, type Controller, type Key, keyFor, keyOf, type Outcome, settled, waiting, watch } from 'kube-control-loop'
import { contextKeyOf } from '../../addresses/lease.ts'
import { isDeleting } from '../objects.ts'
import { controllerNames, holdWriters, type NetworkCaches, type NetworkOptions } from '../parts.ts'
import { decide, isIn } from './decide.ts'

export function createHoldController(options: NetworkOptions): Controller {
  const { caches, environment } = options
  const { finalizer } = holdWriters(options)

  /** A cache that lags, or lost sight of an interface, must not give a range away: only a live list ends the hold. */
  async function letGo(context: NetworkContext, signal: AbortSignal): Promise<Outcome> {
    const where = context.metadata.namespace === undefined ? {} : { namespace: context.metadata.namespace }
    const { items } = await environment.client.list(NetworkInterface, where, signal)
    const left = items.filter((nic) => isIn(context, nic))
    for (const nic of left) caches.interfaces.absorb(nic)
    if (left.length > 0) return waiting(`${left.length} network interfaces`)
    await finalizer.removeFinalizer(context, finalizers.contextInUse, signal)
    return settled
  }

  return {
    name: controllerNames.hold,
    watches: [watch(caches.contexts, ({ key }) => [key]), watch(caches.interfaces, (change) => contextsOf(caches, change))],
    needs: [{ cache: caches.contexts }, { cache: caches.interfaces }],
    async reconcile({ key, signal }) {
      const context = caches.contexts.get(key)
      if (!context) return settled
      switch (decide(context, nicsOf(caches, context))) {
        case 'keep':
          return settled
        case 'hold':
          await finalizer.addFinalizer(context, finalizers.contextInUse, signal)
          return settled
        case 'let-go':
          return letGo(context, signal)
      }
    },
  }
}

/** All that may be in the context. */
export function nicsOf({ interfaces }: Pick<NetworkCaches, 'interfaces'>, context: NetworkContext): readonly NetworkInterface[] {
  const network = keyFor(context.spec.network.name, context.metadata.namespace)
  return [...interfaces.by('context', keyOf(context)), ...interfaces.by('unplaced', network)]
}

/** The contexts an interface is in, and was in; all of its network where it does not tell. What stays in its place is no news. */
function contextsOf(caches: NetworkCaches, { before, after }: Change<NetworkInterface>): Set<Key> {
  if (before && after && contextKeyOf(before) === contextKeyOf(after) && isDeleting(before) === isDeleting(after))
    return new Set()
  const sides = [before, after].filter((nic) => nic !== undefined)
  return new Set(
    sides.flatMap((nic) => {
      const key = contextKeyOf(nic)
      if (key !== undefined) return [key]
      return caches.contexts.by('network', keyFor(nic.spec.network.name, nic.metadata.namespace)).map(keyOf)
    }),
  )
}
