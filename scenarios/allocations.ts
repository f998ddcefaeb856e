/** What is allocated for the interfaces of a namespace, whoever keeps the record of it. */
import { AddressLease } from '@nso/api'
import type { Client } from 'kube-control-loop'
import { IPClaim } from 'kube-ipam'
import type { AddressMode, Allocated } from './scenario.ts'

/** By name. Ranges that networks and contexts hold are not among them. */
export async function allocationsIn(
  client: Client,
  mode: AddressMode,
  namespace: string,
  signal: AbortSignal,
): Promise<Allocated[]> {
  const found = mode === 'ipam' ? await ipClaims(client, namespace, signal) : await leases(client, namespace, signal)
  return found.sort((one, other) => one.name.localeCompare(other.name))
}

async function leases(client: Client, namespace: string, signal: AbortSignal): Promise<Allocated[]> {
  const { items } = await client.list(AddressLease, { namespace }, signal)
  return items.map(({ metadata: { name }, spec: { address, holder } }) => ({
    ...{ name, cidr: address, request: holder.class ?? holder.family ?? '' },
  }))
}

async function ipClaims(client: Client, namespace: string, signal: AbortSignal): Promise<Allocated[]> {
  const { items } = await client.list(IPClaim, { namespace }, signal)
  return items
    .filter(({ spec }) => spec.target === undefined)
    .map(({ metadata: { name }, spec, status }) => ({
      ...{ name, cidr: status?.allocatedCIDR ?? '', request: spec.className || spec.ipFamily || '' },
    }))
}
