import assert from 'node:assert/strict'
import { AddressLease, managers, NetworkInterfaceClaim } from '@nso/api'
import { ApiError, apiVersionOf, type Kind } from 'kube-control-loop'
import { IPClaim } from 'kube-ipam'
import { conditionLine, conditionOf, said } from './conditions.ts'
import { addressesOf, allReleased, claim, claimGone, ready, release } from './expect.ts'
import type { Allocated, Found, Scenario, ScenarioWorld } from './scenario.ts'

async function served(world: ScenarioWorld): Promise<[claim: Found, held: Allocated]> {
  world.step('claim an IPv4 address')
  await claim(world, 'web', { ipFamilies: ['IPv4'] })
  const found = await ready(world, 'web')
  const [allocation] = await world.allocations()
  assert.ok(allocation)
  return [found, allocation]
}

/** Built in, an allocation that is merely gone is made again at once: it is missing only while another holds the address. */
async function takenByAnother(world: ScenarioWorld, before: Found, { name, cidr }: Allocated): Promise<void> {
  world.step('built in: an allocator that errs gives the address to another claim')
  await claim(world, 'thief', { network: { name: 'not-here' } })
  const thief = await world.find(NetworkInterfaceClaim, 'thief')
  const lease = await world.client.find(AddressLease, { name, namespace: world.namespace }, timely())
  assert.ok(lease)
  const holder = { claimName: 'thief', claimUID: thief?.metadata.uid ?? '', family: 'IPv4' } as const
  const stolen = { ...lease, metadata: { name, namespace: world.namespace }, spec: { ...lease.spec, holder } }
  // NSO puts the lease back at once: the thief tries until it is the first.
  await world.until('the thief has it', async () => {
    await world.nso.remove(AddressLease, { name, namespace: world.namespace }, {}, timely()).catch(unlessGone)
    await world.nso.create(AddressLease, stolen, { fieldManager: managers.claim }, timely())
  })

  world.step('built in: the claim says so and keeps its address')
  const lost = await missing(world, before, [cidr, name, 'thief'])
  await told(world, lost, [cidr])

  world.step('built in: the other lets go: the allocation is made again')
  await world.nso.remove(AddressLease, { name, namespace: world.namespace }, {}, timely()).catch(unlessGone)
  const after = await ready(world, 'web')
  assert.deepEqual(addressesOf(after), addressesOf(before))
  assert.deepEqual(
    (await world.allocations()).map((each) => each.cidr),
    [cidr],
  )
  await world.remove(NetworkInterfaceClaim, 'thief')
  await claimGone(world, 'thief')
}

async function lostAtService(world: ScenarioWorld, before: Found, { name, cidr }: Allocated): Promise<void> {
  const at = { name, namespace: world.serviceNamespace() }
  const ipClaim = await world.service.find(IPClaim, at, timely())
  assert.ok(ipClaim)
  world.step('at a service: delete the IPClaim behind the interface: the claim says so and keeps its address')
  await world.service.remove(IPClaim, at, {}, timely())
  await nudge(world, 'deleted')
  const lost = await missing(world, before, [cidr, name])
  await told(world, lost, [cidr, name, 'alpha'])

  world.step(
    'at a service: another takes the block, and the IPClaim is made again on another one: it says both, and nothing is renumbered',
  )
  await takeBlock(world, { ...at, name: 'another' }, { ...ipClaim.spec, address: cidr })
  const { metadata, spec } = ipClaim
  const again = { ...at, annotations: metadata.annotations ?? {} }
  const other = (await makeIpClaim(world, again, spec)).status?.allocatedCIDR ?? ''
  assert.notEqual(other, cidr)
  await nudge(world, 'made again')
  await missing(world, before, [cidr, other])

  world.step('at a service: both are deleted, and it is made again for the very address: the claim is Ready again')
  await world.service.remove(IPClaim, at, {}, timely())
  await world.service.remove(IPClaim, { ...at, name: 'another' }, {}, timely())
  await takeBlock(world, again, { ...spec, address: cidr })
  await nudge(world, 'made for the address')
  assert.deepEqual(addressesOf(await ready(world, 'web')), addressesOf(before))
}

type Named = { name: string; namespace: string; annotations?: Record<string, string> }

function makeIpClaim(world: ScenarioWorld, metadata: Named, spec: IPClaim['spec']): Promise<IPClaim> {
  const body = { apiVersion: apiVersionOf(IPClaim), kind: IPClaim.kind, metadata, spec }
  return world.service.create(IPClaim, body, { fieldManager: 'scenarios' }, timely())
}

/** The service frees a block a moment after its IPClaim is gone. */
function takeBlock(world: ScenarioWorld, metadata: Named, spec: IPClaim['spec']): Promise<IPClaim> {
  return world.until(`the service gives ${spec.address}`, () => makeIpClaim(world, metadata, spec))
}

/** An edit that changes nothing wakes the claim. */
async function nudge(world: ScenarioWorld, note: string): Promise<void> {
  await world.patch(NetworkInterfaceClaim, 'web', { metadata: { annotations: { note } } })
}

/** Allocated and Ready are lost, Bound and the addresses are not; the message has these words. */
function missing(world: ScenarioWorld, before: Found, words: readonly string[]): Promise<Found> {
  return world.until('the claim says that its allocation is missing', async () => {
    const found = await world.find(NetworkInterfaceClaim, 'web')
    const says = ['Bound', 'Allocated', 'Ready'].map((type) => said(found, type))
    if (!found || says.join() !== 'True Bound,False AddressAllocationMissing,False NotAllocated')
      throw new Error(conditionLine(found))
    const { message = '' } = conditionOf(found, 'Allocated') ?? {}
    for (const word of words) assert.ok(message.includes(word), `"${message}" names ${word}`)
    assert.deepEqual(addressesOf(found), addressesOf(before))
    return found
  })
}

const eventKind: Kind = { group: '', version: 'v1', kind: 'Event', plural: 'events', scope: 'Namespaced' }

/** A Warning, which is told once: an NSO that is killed just then tells it to nobody. */
async function told(world: ScenarioWorld, about: Found, words: readonly string[]): Promise<void> {
  if (!world.calm) return
  await world.until('a Warning tells of it', async () => {
    const { items } = await world.client.list(eventKind, { namespace: world.namespace }, timely())
    const events = items as unknown as readonly {
      type: string
      reason: string
      message: string
      involvedObject: { uid?: string }
    }[]
    const found = events.find(
      (each) => each.reason === 'AddressAllocationMissing' && each.involvedObject.uid === about.metadata.uid,
    )
    assert.equal(found?.type, 'Warning')
    for (const word of words) assert.ok(found.message.includes(word), `"${found.message}" names ${word}`)
  })
}

const timely = () => AbortSignal.timeout(30_000)

function unlessGone(error: unknown): void {
  if (!(error instanceof ApiError && error.status === 404)) throw error
}

export const missingAllocation: Scenario = {
  name: 'missing-allocation',
  about: 'An address whose allocation is lost is told of by name and stays with its interface; nothing is renumbered.',
  modes: ['builtin', 'ipam'],
  provokes: ['addressleases'],
  async run(world) {
    const [before, allocation] = await served(world)
    await (world.mode === 'ipam' ? lostAtService(world, before, allocation) : takenByAnother(world, before, allocation))
    world.step('delete the claim')
    await release(world, 'web')
    await allReleased(world)
  },
}
