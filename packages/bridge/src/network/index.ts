/** The network controller: each network gets the name of its bridge, and keeps it. Key: BridgeNetwork. */
import {
  type Controller,
  type Key,
  keyFor,
  keyOf,
  type Outcome,
  type Pass,
  settled,
  waiting,
  watch,
  writeOnce,
} from 'kube-control-loop'
import { BridgeAttachment, BridgeNetwork, finalizer } from '../api/index.ts'
import type { Caches } from '../caches.ts'
import { controllers, type Parts } from '../parts.ts'
import { bridgeNameFor } from './bridge-name.ts'
import { decide, intentOf, type SeenNetwork } from './decide.ts'

/** Key of the network that an attachment names. */
export const networkKeyOf = ({ metadata, spec }: BridgeAttachment): Key => keyFor(spec.network.name, metadata.namespace)

/** Names that are being written and not yet seen, by the uid of the network: two passes must not choose the same. */
type Chosen = Map<string, string>

export function networkController(parts: Parts): Controller {
  const { caches, writers } = parts
  const chosen: Chosen = new Map()
  return {
    name: controllers.network,
    watches: [
      watch(caches.networks, ({ key, before, after }) => {
        if (before && before.metadata.uid !== after?.metadata.uid) chosen.delete(before.metadata.uid ?? '')
        return [key]
      }),
      watch(caches.attachments, ({ before, after }) =>
        [before, after]
          .flatMap((attachment) => (attachment ? [networkKeyOf(attachment)] : []))
          .filter((key) => caches.networks.get(key)?.metadata.deletionTimestamp !== undefined),
      ),
    ],
    // Attachments are read before a name is given or a network let go: both must be complete.
    needs: [{ cache: caches.networks }, { cache: caches.attachments }],
    forget: (key) => writers.networkStatus.forget(key),
    async reconcile(pass) {
      const network = caches.networks.get(pass.key)
      return network ? act(parts, chosen, network, pass) : settled
    },
  }
}

async function act(parts: Parts, chosen: Chosen, network: BridgeNetwork, { signal }: Pass): Promise<Outcome> {
  const { writers } = parts
  const seen = observe(parts.caches, network)
  const decision = decide(seen)
  switch (decision.do) {
    case 'leave':
      return settled
    case 'let-go':
      return letGo(parts, network, signal)
    case 'name':
      await name(parts, chosen, await writers.network.addFinalizer(network, finalizer, signal), signal)
      return settled
    case 'say': {
      chosen.delete(network.metadata.uid ?? '')
      const { bridge, waitsFor } = decision
      const held = seen.deleting ? network : await writers.network.addFinalizer(network, finalizer, signal)
      await writers.networkStatus.status(held, intentOf(bridge, seen.generation, waitsFor !== undefined), signal)
      return waitsFor === undefined ? settled : waiting(`BridgeAttachment ${waitsFor} to be deleted`)
    }
  }
}

function observe(caches: Caches, network: BridgeNetwork): SeenNetwork {
  const { generation = 0, deletionTimestamp, finalizers = [] } = network.metadata
  const bridge = network.status?.bridge
  return {
    generation,
    deleting: deletionTimestamp !== undefined,
    isHeldByUs: finalizers.includes(finalizer),
    bridge,
    user: userOf(network, caches.attachments.by('network', keyOf(network))),
  }
}

/** One of the attachments that has the bridge of this network, as a key. */
function userOf(network: BridgeNetwork, attachments: readonly BridgeAttachment[]): Key | undefined {
  const bridge = network.status?.bridge
  const users = attachments.filter((attachment) => bridge !== undefined && attachment.status?.bridge === bridge)
  return users.map(keyOf).sort()[0]
}

/**
 * Promises: no two networks have one bridge, and a network keeps the first one it got.
 * Relies on: one leader writing; the schema refuses a second value, which then stands.
 * Crash: the same uid gives the same name again.
 */
async function name(parts: Parts, chosen: Chosen, network: BridgeNetwork, signal: AbortSignal): Promise<void> {
  const { caches, writers, client, writeMetrics: metrics } = parts
  const { uid = '', generation = 0 } = network.metadata
  const isOthers = (each: { metadata: { uid?: string } }) => each.metadata.uid !== uid
  const bridge = bridgeNameFor(
    uid,
    parts.digest,
    (candidate) =>
      [...chosen].some(([holder, held]) => held === candidate && holder !== uid) ||
      caches.networks.by('bridge', candidate).some(isOthers) ||
      // Also of a network that is gone: its workloads may still be on the device.
      caches.attachments.by('bridge', candidate).some((attachment) => networkKeyOf(attachment) !== keyOf(network)),
  )
  chosen.set(uid, bridge)
  await writeOnce(() => writers.networkStatus.status(network, intentOf(bridge, generation, false), signal), {
    ...{ client, metrics, signal, kind: BridgeNetwork, object: network, cache: caches.networks },
    controller: controllers.network,
    isOthers: (live) => live.status?.bridge !== undefined && live.status.bridge !== bridge,
  })
}

/** Removes the finalizer, after a live list has confirmed what memory says. Needs nothing else to exist. */
async function letGo({ client, caches, writers }: Parts, network: BridgeNetwork, signal: AbortSignal): Promise<Outcome> {
  const { name, namespace } = network.metadata
  if (network.status?.bridge !== undefined && namespace !== undefined) {
    const { items } = await client.list(BridgeAttachment, { namespace }, signal)
    const user = items.find((attachment) => userOf(network, [attachment]) !== undefined && attachment.spec.network.name === name)
    if (user) {
      caches.attachments.absorb(user)
      return waiting(`BridgeAttachment ${user.metadata.name} to be deleted`)
    }
  }
  await writers.network.removeFinalizer(network, finalizer, signal)
  return settled
}
