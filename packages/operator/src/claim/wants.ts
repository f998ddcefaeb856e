/** What a claim asks for, in the order it asks. */
import type { AddressFamily, NetworkInterfaceClaim, RejectReason } from '@nso/api'
import type { AddressRequest } from '../addresses/port.ts'

/** Why a claim cannot be served as it stands; the message tells what would have to change, and holds nothing that varies per pass. */
export type Rejection = { reason: RejectReason; message: string }

/** The first family is the primary one. */
export function familiesOf(claim: NetworkInterfaceClaim): readonly AddressFamily[] {
  return claim.spec.ipFamilies ?? ['IPv6']
}

/** One request per family in the claim's order, then one per class. */
export function wantsOf(claim: NetworkInterfaceClaim): AddressRequest[] {
  return [
    ...familiesOf(claim).map((family) => ({ family })),
    ...(claim.spec.addresses ?? []).map((one) => ({ class: one.class })),
  ]
}
