/** The writes of the bridge controllers, in the world of the race tests. */

import { eventually } from 'kube-localplane/testing'
import { type RacePlace, raceRows, read, startRaceSite } from 'kube-multus/testing/planes'
import { BridgeAttachment, BridgeNetwork, finalizer, managers } from '../../src/api/index.ts'
import { controllers } from '../../src/parts.ts'
import { attachmentOf, by, isReady, networkOf, never, says, startWorld } from '../harness.ts'

const net = 'net'
const web = 'web-0'

export const subjects = {
  finalizer,
  conflict: 'False DefinitionConflict',
  network: {
    ...{ kind: BridgeNetwork, name: net, controller: controllers.network, manager: managers.network },
    make: ({ client, namespace }: RacePlace, meta = {}) =>
      client.create(BridgeNetwork, networkOf(namespace, net, {}, meta), by, never),
    isReady: (world: RacePlace) =>
      eventually('the network has its bridge', async () => {
        const network = await read(world, BridgeNetwork, net)
        return network && says('Ready', 'True BridgeNamed')(network)
      }),
  },
  attachment: {
    ...{ kind: BridgeAttachment, name: web, controller: controllers.attachment, manager: managers.attachment },
    make: ({ client, namespace }: RacePlace, meta = {}) =>
      client.create(BridgeAttachment, attachmentOf(namespace, web, net, {}, meta), by, never),
    isReady: (world: RacePlace) =>
      eventually('the attachment is Ready', async () => {
        const attachment = await read(world, BridgeAttachment, web)
        return attachment && isReady(attachment)
      }),
  },
}

export const rows = raceRows(subjects)

export async function startSite() {
  const world = await startWorld()
  return startRaceSite({
    world,
    kubeconfig: world.bridgeKubeconfig,
    start(options) {
      const { process, stop } = world.start(options)
      return { manager: process.manager, caches: process.caches, stop }
    },
  })
}
