/**
 * Names of IPClaims. They follow from the claim and from what is asked, so that whoever comes later (a retry, another leader, a
 * claim made again, an interface rebuilt) meets what was allocated before.
 */
import { createHash } from 'node:crypto'
import { annotations, type ExternalAddress, type InterfaceAddress, type NetworkInterface } from '@nso/api'
import { type Block, readBlock } from '../cidr.ts'
import type { AddressRequest } from '../port.ts'

const longestName = 253
const keptOfLongName = 240
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

/** `<claim>-f-ipv4`, `<claim>-f-ipv6` or `<claim>-c-<class>`; a name that no API server takes is cut and gets a digest instead. */
export function ipClaimName(claimName: string, request: AddressRequest): string {
  const what = request.class === undefined ? `f-${request.family.toLowerCase()}` : `c-${request.class}`
  const name = `${claimName}-${what}`
  return name.length <= longestName && subdomain.test(name) ? name : shortened(claimName, what)
}

function shortened(claimName: string, what: string): string {
  const digest = createHash('sha256').update(`${claimName}\0${what}`).digest('hex').slice(0, 12)
  return `${claimName.slice(0, keptOfLongName).replace(/[-.]+$/, '')}-${digest}`
}

/** Name of the claim that an interface's IPClaims are named after. */
export function allocationNameOf(nic: NetworkInterface): string {
  return nic.metadata.annotations?.[annotations.allocationClaim] ?? nic.spec.claimRef?.name ?? nic.metadata.name
}

/** One address of an interface, and the name of the IPClaim that holds it. */
export type Listed = { readonly text: string; readonly block: Block | undefined; readonly ipClaim: string }

/** Every address that an interface lists, inner and external. */
export function listedIn(nic: NetworkInterface): readonly Listed[] {
  return listedAs(allocationNameOf(nic), nic.spec)
}

/** The same for addresses that it is about to list. */
function listedAs(
  claimName: string,
  spec: { addresses?: readonly InterfaceAddress[]; externalAddresses?: readonly ExternalAddress[] },
): readonly Listed[] {
  const one = (text: string, request: AddressRequest): Listed => ({
    text,
    block: readBlock(text),
    ipClaim: ipClaimName(claimName, request),
  })
  return [
    ...(spec.addresses ?? []).map((each) =>
      one(each.address, each.class === undefined ? { family: each.family } : { class: each.class }),
    ),
    ...(spec.externalAddresses ?? []).map((each) => one(each.address, { class: each.class })),
  ]
}
