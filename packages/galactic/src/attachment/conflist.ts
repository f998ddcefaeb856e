/**
 * The CNI configuration list of an attachment, as the text that stands in its NetworkAttachmentDefinition. Node plugins run it
 * as root, so nothing but checked fields of the attachment and identifiers of our own gets into it.
 * Source: CNI specification 1.0.0 (network configuration lists).
 */
import { isIPv4 } from 'node:net'
import type { Identity } from '../identifiers/identity.ts'

/** How the workload consumes the interface. */
export type Mode = 'Netns' | 'Hypervisor' | 'HypervisorDeclared'

export type Link = {
  readonly mode: Mode
  /** Bytes; absent: the plugin's default. */
  readonly mtu?: number | undefined
  /** Addresses with prefix length. None: the guest addresses itself, and no address plugin runs. */
  readonly addresses: readonly string[]
  /** Next hops, without prefix length; each address gets the first one of its family. */
  readonly gateways: readonly string[]
}

const mainPlugin = {
  Netns: 'galactic-veth',
  Hypervisor: 'galactic-tap',
  HypervisorDeclared: 'galactic-tap',
} as const satisfies Record<Mode, string>

/**
 * Renders the list. The order of keys and the absence of empty ones are part of the promise: the same input gives the same
 * bytes as every earlier release of Galactic gave, so a stored configuration that is still right is never rewritten.
 */
export function conflist(name: string, identity: Identity, link: Link, namespace: string): string {
  const shared = { vpc: identity.vpc, vpcattachment: identity.attachment, namespace }
  const addresses = link.addresses.map((address) => addressItem(address, link.gateways))
  const main = {
    type: mainPlugin[link.mode],
    ...shared,
    ...(link.mtu ? { mtu: link.mtu } : {}),
    // Tells the tap plugin to describe the device in a file that the hypervisor reads.
    ...(link.mode === 'HypervisorDeclared' ? { dan: true } : {}),
    ...(addresses.length > 0 ? { ipam: { type: 'galactic-ipam', addresses } } : {}),
  }
  return JSON.stringify({ cniVersion: '1.0.0', name, plugins: [main, { type: 'galactic-bgp', ...shared }] })
}

function addressItem(address: string, gateways: readonly string[]) {
  const isFour = isIPv4(address.split('/')[0] ?? '')
  const gateway = gateways.find((candidate) => isIPv4(candidate) === isFour)
  return gateway === undefined ? { address } : { address, gateway }
}
