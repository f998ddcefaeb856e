/** What is left of scenarios that are over. */
import { AddressLease, Network, NetworkContext, NetworkInterface, NetworkInterfaceClaim, Subnet } from '@nso/api'
import { VPCAttachment } from 'galactic/api'
import type { Client, Kind, KubeObject } from 'kube-control-loop'
import { IPAllocation, IPClaim } from 'kube-ipam'
import { NetworkAttachmentDefinition } from 'kube-multus'
import { unlessGone } from './acts.ts'
import type { AddressMode } from './scenario.ts'

export type Place = {
  client: Client
  service: Client
  mode: AddressMode
  namespace: string
  /** Of the same at the address service. */
  serviceNamespace: string
}

const chain: readonly Kind[] = [NetworkInterfaceClaim, NetworkInterface, VPCAttachment, NetworkAttachmentDefinition, AddressLease]
const networks: readonly Kind[] = [Network, NetworkContext, Subnet]
const service: readonly Kind[] = [IPClaim, IPAllocation]

/** Names of what there is of claims, interfaces, attachments, network definitions and allocations; empty: all was given back. */
export async function leftoversIn(place: Place, signal: AbortSignal): Promise<string[]> {
  const held = (await atService(place, signal)).filter((object) => !isRange(object))
  return named([...(await listAll(place.client, chain, place.namespace, signal)), ...held])
}

/** A range that a network or a context holds, and not an address. What it was carved as belongs to it. */
function isRange({ spec }: KubeObject): boolean {
  const { target, purpose = 'Claim' } = spec as { target?: string; purpose?: string }
  return target !== undefined || purpose !== 'Claim'
}

/** Asks for the deletion of every network, and of what somebody made of it by hand. */
export async function removeNetworks({ client, namespace }: Place, signal: AbortSignal): Promise<void> {
  for (const kind of networks) {
    const { items } = await client.list(kind, { namespace }, signal)
    for (const { metadata } of items) await client.remove(kind, { ...metadata, namespace }, {}, signal).catch(unlessGone)
  }
}

/** Names of networks, contexts, Subnets, and of the ranges that they hold at an address service. */
export async function networksIn(place: Place, signal: AbortSignal): Promise<string[]> {
  return named([...(await listAll(place.client, networks, place.namespace, signal)), ...(await atService(place, signal))])
}

async function atService({ mode, service: client, serviceNamespace }: Place, signal: AbortSignal): Promise<KubeObject[]> {
  return mode === 'ipam' ? await listAll(client, service, serviceNamespace, signal) : []
}

async function listAll(client: Client, kinds: readonly Kind[], namespace: string, signal: AbortSignal): Promise<KubeObject[]> {
  const lists = await Promise.all(
    kinds.map(async (kind) =>
      (await client.list(kind, { namespace }, signal)).items.map((each) => ({ ...each, kind: kind.kind })),
    ),
  )
  return lists.flat()
}

const named = (objects: readonly KubeObject[]) =>
  objects.map(({ kind, metadata: { name, finalizers } }) => `${kind} ${name}${finalizers ? ` (${finalizers.join(', ')})` : ''}`)
