/** What is known of IPClaims without asking. While the service lets nobody follow them, that is what this process wrote or read. */
import type { NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import { type Key, keyFor, splitKey } from 'kube-control-loop'
import type { IPClaim } from 'kube-ipam'
import { sameBlock } from '../cidr.ts'
import type { ListedAddress } from '../lease.ts'
import { isFromHere, isLeftOf, listingInterface, placeOf } from './give-back.ts'
import { blockOf, isScoped, sourceOf } from './ip-claim.ts'
import { allocationNameOf, ipClaimName, listedIn } from './names.ts'
import type { IpamParts } from './parts.ts'
import type { ProjectAnswer } from './project.ts'
import { projectIn } from './service.ts'

/** Made for the claim, and neither listed by its interface nor by another. */
export function surplusOf(parts: IpamParts, claim: NetworkInterfaceClaim, nic: NetworkInterface): readonly IPClaim[] {
  const { name, namespace, uid } = claim.metadata
  const listed = new Set(listedIn(nic).map(({ ipClaim }) => ipClaim))
  return parts.service.claims.by('source', keyFor(name, namespace)).filter((ipClaim) => {
    if (sourceOf(ipClaim)?.uid !== uid || !isFromHere(parts, ipClaim) || listed.has(ipClaim.metadata.name)) return false
    return !listingInterface(parts, ipClaim, { namespace, name })
  })
}

/** Uids, other than the live claim's, in whose name something stands that neither an interface nor the live claim has. */
export function strayUids(parts: IpamParts, key: Key, liveUid: string | undefined): readonly string[] {
  const { name, namespace = '' } = splitKey(key)
  const strays = parts.service.claims.by('source', key).flatMap((ipClaim) => {
    const uid = sourceOf(ipClaim)?.uid
    if (uid === undefined || uid === liveUid || !isFromHere(parts, ipClaim)) return []
    return isLeftOf(parts, ipClaim, { namespace, name, uid }) ? [uid] : []
  })
  return [...new Set(strays)]
}

/**
 * IPClaims that may be the one of that name: where the labels of the namespace say, and where it was made for the interface's
 * claim before they were changed or taken away.
 */
export function namedFor(
  { service }: Pick<IpamParts, 'service'>,
  nic: NetworkInterface,
  name: string,
  answer: ProjectAnswer,
): readonly IPClaim[] {
  const there = answer.kind === 'resolved' ? service.claims.get(keyFor(name, answer.project.namespace)) : undefined
  const made = service.claims.by('source', keyFor(allocationNameOf(nic), nic.metadata.namespace))
  return [...new Set([there ?? [], made.filter((each) => each.metadata.name === name)].flat())]
}

export function holdsAll(parts: IpamParts, nic: NetworkInterface, addresses: readonly ListedAddress[]): boolean {
  const answer = projectIn(parts.service, nic.metadata.namespace ?? '')
  const { network, location } = placeOf(nic)
  if (location === undefined) return false
  const place = { network: { name: network }, location: { name: location } }
  return addresses.every(({ block, request }) => {
    const name = ipClaimName(allocationNameOf(nic), request)
    return namedFor(parts, nic, name, answer).some((ipClaim) => {
      const held = blockOf(ipClaim)
      return block !== undefined && held !== undefined && isScoped(ipClaim, place) && sameBlock(held, block)
    })
  })
}
