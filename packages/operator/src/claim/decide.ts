/** What to do for a live claim: a pure function of what was seen. */
import type { NetworkContext, NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import type { JsonPatchOperation } from 'kube-control-loop'
import type { AddressRequest } from '../addresses/port.ts'
import { needsOf, shortfall } from '../dataplane/capabilities.ts'
import { holdOf, interfaceNameOf, isDeleting } from '../interface/holder.ts'
import { unusableGateway } from './addresses.ts'
import { bindingChanges, convergence } from './converge.ts'
import type { Seen } from './observe.ts'
import { familiesOf, type Rejection, wantsOf } from './wants.ts'

export type Decision =
  /** Nothing is written but status. `holds`: the interface that the claim keeps all the same. */
  | { do: 'reject'; rejection: Rejection; holds: NetworkInterface | undefined }
  /** A watch wakes the claim; until then it is bound to nothing. */
  | { do: 'wait'; on: string; message: string }
  /** An earlier claim of this name left its interface behind. */
  | { do: 'reap'; nic: NetworkInterface; rejection: Rejection }
  | { do: 'create'; context: NetworkContext; wants: readonly AddressRequest[] }
  | { do: 'bind'; nic: NetworkInterface; context: NetworkContext; changes: readonly JsonPatchOperation[] }
  | { do: 'keep'; nic: NetworkInterface; context: NetworkContext; changes: readonly JsonPatchOperation[] }

export function decide(seen: Seen): Decision {
  const { claim, nic } = seen
  if (nic && isDeleting(nic)) {
    const message = `Network interface ${nic.metadata.name} is being deleted; the claim continues when it is gone.`
    return { do: 'wait', on: `deletion of interface ${nic.metadata.name}`, message }
  }
  const hold = nic ? holdOf(nic, claim) : 'free'
  const holds = hold === 'ours' ? nic : undefined
  const refused = refusedPlace(seen, holds !== undefined)
  if ('rejection' in refused) return { do: 'reject', rejection: refused.rejection, holds }
  if (nic && (hold === 'other' || hold === 'former')) {
    const rejection = heldByAnother(nic)
    return hold === 'former' ? { do: 'reap', nic, rejection } : { do: 'reject', rejection, holds: undefined }
  }
  const rejection = (nic && mismatch(claim, nic)) ?? unusableGateway(seen) ?? unsupported(seen)
  if (rejection) return { do: 'reject', rejection, holds }
  const { context } = refused
  if (!nic) return { do: 'create', context, wants: wantsOf(claim) }
  if (hold === 'ours') return { do: 'keep', nic, context, changes: convergence(seen, nic, context) }
  if (nic.status?.phase !== 'Available' || seen.attached) {
    const message = `Network interface ${nic.metadata.name} is still being released by its former claim.`
    return { do: 'wait', on: `release of interface ${nic.metadata.name}`, message }
  }
  return { do: 'bind', nic, context, changes: [...bindingChanges(claim, nic), ...convergence(seen, nic, context)] }
}

/** A context that is being deleted takes no new interface, and keeps those it has. */
function refusedPlace(
  { claim, location, context }: Seen,
  holding: boolean,
): { rejection: Rejection } | { context: NetworkContext } {
  if (location.kind === 'rejected') return { rejection: { reason: location.reason, message: location.message } }
  const network = claim.spec.network.name
  const here = context && context.spec.network.name === network && context.spec.location.name === location.name
  if (!here || (isDeleting(context) && !holding)) {
    const message = `Network ${network} is not available in location ${location.name}.`
    return { rejection: { reason: 'NetworkNotAvailableInLocation', message } }
  }
  const carried = context.spec.ipFamilies ?? []
  if (carried.length === 0) {
    const message = `Network context ${context.metadata.name} does not say which address families network ${network} carries.`
    return { rejection: { reason: 'AddressFamiliesUnknown', message } }
  }
  const lacking = familiesOf(claim).find((family) => !carried.includes(family))
  if (lacking) {
    const message = `Network ${network} does not carry ${lacking} in location ${location.name}; it carries ${carried.join(', ')}.`
    return { rejection: { reason: 'AddressFamilyNotCarried', message } }
  }
  return { context }
}

/** Asked of whoever would begin to serve it, before anything is made. */
function unsupported({ claim, nic, candidate }: Seen): Rejection | undefined {
  if (!candidate) return undefined
  const { mode, families } = nic ? needsOf(nic) : { mode: undefined, families: [] }
  return shortfall(candidate, {
    mode: claim.spec.attachmentMode ?? mode,
    families: [...new Set([...familiesOf(claim), ...families])],
  })
}

function heldByAnother(nic: NetworkInterface): Rejection {
  const message = `Network interface ${nic.metadata.name} is held by claim ${nic.spec.claimRef?.name ?? ''}.`
  return { reason: 'InterfaceHeldByAnotherClaim', message }
}

/** What an interface that already exists lacks of what the claim asks for; checked on every pass, since both can be edited. */
function mismatch(claim: NetworkInterfaceClaim, nic: NetworkInterface): Rejection | undefined {
  const name = interfaceNameOf(claim)
  const wanted = claim.spec
  if (nic.spec.network.name !== wanted.network.name) {
    const message = `Network interface ${name} is on network ${nic.spec.network.name}, the claim asks for ${wanted.network.name}.`
    return { reason: 'NetworkMismatch', message }
  }
  if (nic.spec.interfaceName !== wanted.interfaceName) {
    const message = `Network interface ${name} is named ${nic.spec.interfaceName} in the guest, the claim asks for ${wanted.interfaceName}.`
    return { reason: 'InterfaceNameMismatch', message }
  }
  const inner = nic.spec.addresses ?? []
  const family = familiesOf(claim).find((one) => !inner.some((address) => address.family === one))
  if (family) return { reason: 'AddressFamilyMissing', message: `Network interface ${name} has no ${family} address.` }
  const classes = new Set([...inner, ...(nic.spec.externalAddresses ?? [])].map((address) => address.class))
  const missing = (wanted.addresses ?? []).find((one) => !classes.has(one.class))
  if (missing)
    return { reason: 'AddressClassMissing', message: `Network interface ${name} has no address of class ${missing.class}.` }
  if (nic.spec.reclaimPolicy !== wanted.reclaimPolicy) {
    const message = `Network interface ${name} has reclaim policy ${nic.spec.reclaimPolicy}, the claim asks for ${wanted.reclaimPolicy}.`
    return { reason: 'ReclaimPolicyMismatch', message }
  }
  return undefined
}
