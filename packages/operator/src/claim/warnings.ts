/** Which transitions of a claim are worth an event: to a rejection, and the loss of what it had. Settled claims cause none. */
import type { NetworkInterfaceClaim } from '@nso/api'
import type { Verdict } from './status.ts'

export type Warning = { reason: string; action: string; message: string }

/** Compares with the status that stands, so that a repeated pass over the same world warns once. */
export function warningFor(claim: NetworkInterfaceClaim, verdict: Verdict): Warning | undefined {
  const said = (type: string) => claim.status?.conditions?.find((one) => one.type === type)
  if (verdict.kind === 'rejected') {
    const { reason, message } = verdict.rejection
    return said('Ready')?.reason === reason ? undefined : { reason, action: 'BindClaim', message }
  }
  if (verdict.kind === 'waiting') {
    const lost = said('Bound')?.status === 'True'
    return lost ? { reason: 'InterfaceLost', action: 'BindClaim', message: verdict.message } : undefined
  }
  const { allocation } = verdict.held
  const missing = allocation?.kind === 'missing' && said('Allocated')?.reason !== 'AddressAllocationMissing'
  return missing ? { reason: 'AddressAllocationMissing', action: 'VerifyAllocation', message: allocation.message } : undefined
}
