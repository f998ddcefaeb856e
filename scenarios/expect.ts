/** What scenarios do and expect in common. Everything here waits for what stays true once it is, with or without a restart. */
import assert from 'node:assert/strict'
import { contextName, NetworkInterface, NetworkInterfaceClaim, Subnet } from '@nso/api'
import { VPCAttachment } from 'galactic/api'
import { NetworkAttachmentDefinition } from 'kube-multus'
import { conditionLine, conditionOf, said } from './conditions.ts'
import { subnetSpec } from './places.ts'
import type { Allocated, Found, ScenarioWorld } from './scenario.ts'

export type Address = { family: 'IPv4' | 'IPv6'; address: string; gateway?: string; primary?: boolean; class?: string }
export type External = { family: 'IPv4' | 'IPv6'; address: string; class: string }

/** Class of public IPv4 addresses, 198.51.100.0/24 (RFC 5737): of the address service, or of a Subnet made by hand. */
export const publicClass = 'datum-public-v4'

type ClaimSpec = Partial<NetworkInterfaceClaim['spec']>

export async function claim(world: ScenarioWorld, name: string, spec: ClaimSpec = {}, namespace?: string): Promise<void> {
  await world.create(NetworkInterfaceClaim, name, { network: { name: world.network }, ...spec }, namespace)
}

/** The claim as soon as it is Ready on the node: prepared by the data plane and carrying traffic. */
export function ready(world: ScenarioWorld, name: string, namespace?: string): Promise<Found> {
  return world.until(`claim ${name} is Ready`, async () => {
    const found = await requireFound(world, name, namespace)
    for (const type of ['Bound', 'Allocated', 'Prepared', 'Programmed', 'Ready']) {
      if (conditionOf(found, type)?.status !== 'True') throw new Error(conditionLine(found))
    }
    return found
  })
}

/** The claim as soon as it is refused with the reason, having never been bound. */
export function refused(world: ScenarioWorld, name: string, reason: string, namespace?: string): Promise<Found> {
  return world.until(`claim ${name} is refused: ${reason}`, async () => {
    const found = await requireFound(world, name, namespace)
    for (const type of ['Bound', 'Allocated', 'Ready']) {
      if (said(found, type) !== `False ${reason}`) throw new Error(conditionLine(found))
    }
    return found
  })
}

async function requireFound(world: ScenarioWorld, name: string, namespace?: string): Promise<Found> {
  const found = await world.find(NetworkInterfaceClaim, name, namespace)
  if (!found) throw new Error(`there is no claim ${name}`)
  return found
}

/** An interface that stands and is not being deleted. */
export async function requireInterface(world: ScenarioWorld, name: string): Promise<Found> {
  const nic = await world.find(NetworkInterface, name)
  if (!nic) throw new Error(`there is no interface ${name}`)
  if (nic.metadata.deletionTimestamp) throw new Error(`interface ${name} is being deleted`)
  return nic
}

/** The interface as soon as it is bound to the claim and its own status says so. */
export function bound(world: ScenarioWorld, name: string, claimName = name): Promise<Found> {
  return world.until(`interface ${name} is bound`, async () => {
    const nic = await requireInterface(world, name)
    assert.deepEqual([nic.status?.phase, nic.spec.claimRef], ['Bound', { name: claimName }])
    return nic
  })
}

/** The interface as soon as it is free: no claim, no attachment, its addresses kept. */
export function available(world: ScenarioWorld, name: string): Promise<Found> {
  return world.until(`interface ${name} is available`, async () => {
    const nic = await requireInterface(world, name)
    assert.deepEqual([nic.status?.phase, nic.spec.claimRef, nic.status?.attachmentRef], ['Available', undefined, undefined])
    return nic
  })
}

export const addressesOf = ({ status }: Found) => (status?.addresses ?? []) as readonly Address[]
export const externalOf = ({ status }: Found) => (status?.externalAddresses ?? []) as readonly External[]

/** The addresses of an interface and the external ones, each as the network of an allocation. */
export function cidrsOf({ spec }: Found): string[] {
  const inner = ((spec.addresses ?? []) as readonly Address[]).map(({ address }) => address)
  const outer = ((spec.externalAddresses ?? []) as readonly External[]).map((each) => `${each.address}/${bits(each.family)}`)
  return [...inner, ...outer].sort()
}

const bits = (family: string) => (family === 'IPv4' ? 32 : 128)

export const held = (allocations: readonly Allocated[]) => allocations.map(({ cidr }) => cidr).sort()

/** What is allocated is what the interface lists, no more and no less. */
export async function requireHeld(world: ScenarioWorld, name: string): Promise<void> {
  const nic = await requireInterface(world, name)
  assert.deepEqual(held(await world.allocations()), cidrsOf(nic))
}

/** The names are the service's to give out twice or not; built in, a name is made from the address. */
export function requireNames(world: ScenarioWorld, allocations: readonly Allocated[], names: readonly string[]): void {
  if (world.mode === 'ipam') assert.deepEqual(allocations.map(({ name }) => name).sort(), [...names].sort())
}

/** The interface, its attachment, and the definition that a node runs. */
export async function requireAttached(world: ScenarioWorld, name: string): Promise<void> {
  const attachment = await world.find(VPCAttachment, name)
  assert.deepEqual(
    ['Ready', 'Programmed'].map((type) => conditionOf(attachment, type)?.status),
    ['True', 'True'],
  )
  assert.ok(await world.find(NetworkAttachmentDefinition, name), `there is a network definition ${name}`)
}

/** Nothing of an attachment is left. */
export function detached(world: ScenarioWorld, name: string): Promise<void> {
  return world.until(`attachment and network definition ${name} are gone`, async () => {
    for (const kind of [VPCAttachment, NetworkAttachmentDefinition]) {
      if (await world.find(kind, name)) throw new Error(`there is ${kind.kind} ${name}`)
    }
  })
}

export function claimGone(world: ScenarioWorld, name: string, namespace?: string): Promise<void> {
  return world.until(`claim ${name} is gone`, async () => {
    const found = await world.find(NetworkInterfaceClaim, name, namespace)
    if (found) throw new Error(`it stands (${found.metadata.finalizers}): ${conditionLine(found)}`)
  })
}

export function interfaceGone(world: ScenarioWorld, name: string): Promise<void> {
  return world.until(`interface ${name} is gone`, async () => {
    const found = await world.find(NetworkInterface, name)
    if (found) throw new Error(`it stands (${found.metadata.finalizers})`)
  })
}

/** Nothing is allocated for the namespace's interfaces. */
export function allReleased(world: ScenarioWorld, namespace?: string): Promise<void> {
  return world.until('every allocation is given back', async () => {
    assert.deepEqual(await world.allocations(namespace), [])
  })
}

/** Deletes the claim and waits until it, what stood for it and what it held is gone. */
export async function release(world: ScenarioWorld, name: string, nic = name): Promise<void> {
  await world.remove(NetworkInterfaceClaim, name)
  await claimGone(world, name)
  await interfaceGone(world, nic)
  await detached(world, nic)
}

/** Public addresses can be asked for by class: an address service offers them, else a Subnet of the class does. */
export async function offerPublic(world: ScenarioWorld): Promise<void> {
  if (world.mode === 'ipam') return
  const place = { context: contextName(world.network, world.location), location: world.location }
  const range = { ipFamily: 'IPv4', startAddress: '198.51.100.0', prefixLength: 24 } as const
  await world.create(Subnet, `${place.context}-public`, subnetSpec({ ...place, ...range, subnetClass: publicClass }))
}
