/** Cases about coming and going in any order. */
import type { KubeObject } from 'kube-control-loop'
import { inNamespace } from '../case.ts'
import { isOfKubernetes, named, objectsIn, tellingOf } from '../leftovers.ts'
import type { Wish } from '../requester.ts'
import { fail, pass, skip, type Verdict } from '../verdict.ts'
import { inWorld, namespaces, type World } from '../world.ts'
import { prepares } from './report.ts'

const noNetwork = 'the DataPlane has no object for networks'

const goneWithin = ({ bench: { plane, limits } }: World): number => plane.detachGraceMs + limits.patienceMs

export const anyOrder = inNamespace('any-order', prepares, async (world) => {
  if (!world.networks) return skip(noNetwork)
  const wishes = [0, 1, 2].map((at): Wish => ({ name: `early-${at}`, number: 2 + at }))
  for (const wish of wishes) await world.make(wish)
  await world.quiet(world.bench.limits.settledMs)
  await world.makeNetwork()
  for (const wish of wishes) await world.untilPrepared(wish)
  return pass()
})

export const deletion = inNamespace('deletion', prepares, async (world) => {
  const { plane, clock } = world.bench
  await world.makeNetwork()
  await world.quiet(world.bench.limits.settledMs)
  const before = new Set([...(await objectsIn(world)), ...(await tellingOf(world))].map(({ object }) => object.metadata.uid))
  const wishes = [{ name: 'leaving' }, { name: 'leaving-busy', number: 3 }]
  const attachments: KubeObject[] = []
  for (const wish of wishes) {
    await world.make(wish)
    attachments.push(await world.untilPrepared(wish))
  }
  const at = { namespace: world.owner.namespace, name: 'leaving-busy' }
  if (plane.traffic) {
    await plane.traffic.start(at, world.signal)
    await world.quiet(world.bench.limits.settledMs)
  }
  const from = clock.monotonic()
  for (const attachment of attachments) await world.remove(attachment)
  for (const attachment of attachments) await world.untilGone(attachment, goneWithin(world))
  const goneMs = Math.round(clock.monotonic() - from)
  await plane.traffic?.stop(at, world.signal)
  return (await leftBehind(world, before)) ?? pass({ goneMs })
})

const lookEveryMs = 500

/** Dependents go by the collector, in its own time; this one looks again until they are gone or patience is over. */
async function leftBehind(world: World, before: ReadonlySet<string | undefined>): Promise<Verdict | undefined> {
  const { clock, limits } = world.bench
  const deadline = clock.monotonic() + limits.patienceMs
  for (;;) {
    const found = [...(await objectsIn(world)), ...(await tellingOf(world))]
    const left = found.filter((each) => !before.has(each.object.metadata.uid) && !isOfKubernetes(each))
    if (left.length === 0) return undefined
    if (clock.monotonic() > deadline) return fail(`left behind: ${left.map(named).join(', ')}`)
    world.bench.waitsFor.what = `${left.map(named).join(', ')} to be gone`
    await clock.sleep(lookEveryMs, world.signal)
  }
}

export const deletionOrder = inNamespace('deletion-order', prepares, async (world) => {
  const orders: readonly (readonly ('network' | 'attachments')[])[] = world.networks
    ? [
        ['network', 'attachments'],
        ['attachments', 'network'],
      ]
    : []
  for (const order of orders) await inOrder(world, order)
  return await namespaceAtOnce(world)
})

async function prepareThree(world: World): Promise<{ network: KubeObject | undefined; attachments: readonly KubeObject[] }> {
  const network = await world.makeNetwork()
  const attachments: KubeObject[] = []
  for (const at of [0, 1, 2]) {
    const wish = { name: `going-${at}`, number: 2 + at }
    await world.make(wish)
    attachments.push(await world.untilPrepared(wish))
  }
  return { network, attachments }
}

async function inOrder(world: World, order: readonly ('network' | 'attachments')[]): Promise<void> {
  const { network, attachments } = await prepareThree(world)
  for (const next of order) {
    if (next === 'network' && network) await world.remove(network)
    else for (const attachment of attachments) await world.remove(attachment)
    // What was asked for last must not be needed for what was asked for first, nor the other way round.
    await world.quiet(world.bench.limits.settledMs / 4)
  }
  for (const object of [...attachments, ...(network ? [network] : [])]) await world.untilGone(object, goneWithin(world))
}

/** The namespace goes with all that is in it; what holds it may be the network or the attachments, in any order. */
function namespaceAtOnce({ bench, signal }: World): Promise<Verdict> {
  const inside = async (world: World): Promise<Verdict> => {
    const { network, attachments } = await prepareThree(world)
    await bench.client.remove(namespaces, { name: world.owner.namespace }, {}, signal)
    for (const object of [...attachments, ...(network ? [network] : [])]) await world.untilGone(object, goneWithin(world))
    return pass()
  }
  return inWorld(bench, 'namespace', inside, signal)
}
