/** What to do for a live claim: a pure function of what was seen. */
import { contextName, type NetworkContext, type NetworkInterface, type NetworkInterfaceClaim } from '@nso/api'
import type { JsonPatchOperation } from 'kube-control-loop'
import type { AddressRequest } from '../addresses/port.ts'
import { needsOf, shortfall } from '../dataplane/capabilities.ts'
import { holdOf, interfaceNameOf, isDeleting, isProjection } from '../interface/holder.ts'
import { advice, few } from '../messages.ts'
import { unusableGateway } from './addresses.ts'
import { bindingChanges, convergence } from './converge.ts'
import { unnameable } from './interface-name.ts'
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
  if (nic && isProjection(nic)) return { do: 'reject', rejection: copyOfAnother(nic), holds: undefined }
  if (nic && isDeleting(nic)) {
    const message = advice(
      `Network interface ${nic.metadata.name} is being deleted`,
      'wait for NSO and its data plane to let go of it, then the claim gets a new one',
    )
    return { do: 'wait', on: `deletion of interface ${nic.metadata.name}`, message }
  }
  const hold = nic ? holdOf(nic, claim) : 'free'
  const holds = hold === 'ours' ? nic : undefined
  const refused = refusedPlace(seen, holds !== undefined)
  if ('rejection' in refused) return { do: 'reject', rejection: refused.rejection, holds }
  if (nic && (hold === 'other' || hold === 'former')) {
    const rejection = heldByAnother(nic, hold)
    return hold === 'former' ? { do: 'reap', nic, rejection } : { do: 'reject', rejection, holds: undefined }
  }
  const rejection = (nic ? mismatch(claim, nic) : unnameable(claim)) ?? unusableGateway(seen) ?? unsupported(seen)
  if (rejection) return { do: 'reject', rejection, holds }
  const { context } = refused
  if (!nic) return { do: 'create', context, wants: wantsOf(claim) }
  if (hold === 'ours') return { do: 'keep', nic, context, changes: convergence(seen, nic, context) }
  if (nic.status?.phase !== 'Available' || seen.attached) {
    const message = advice(
      `Network interface ${nic.metadata.name} is still being released by its former claim`,
      'wait for its data plane to let go of the attachment',
    )
    return { do: 'wait', on: `release of interface ${nic.metadata.name}`, message }
  }
  return { do: 'bind', nic, context, changes: [...bindingChanges(claim, nic), ...convergence(seen, nic, context)] }
}

/** Of objects. */
const longestName = 253

/** A context that is being deleted takes no new interface, and keeps those it has. */
function refusedPlace(
  { claim, location, context }: Seen,
  holding: boolean,
): { rejection: Rejection } | { context: NetworkContext } {
  if (location.kind === 'rejected') return { rejection: { reason: location.reason, message: location.message } }
  const network = claim.spec.network.name
  const here = context && context.spec.network.name === network && context.spec.location.name === location.name
  if (!here || (isDeleting(context) && !holding)) {
    const name = contextName(network, location.name)
    const message = advice(
      `Network ${network} is not available in location ${location.name}`,
      name.length > longestName
        ? 'make a claim for a network of a shorter name, since no NetworkContext can bear this one and the location’s together'
        : `see that it exists here, and that NetworkContext ${name} does and is not being deleted`,
    )
    return { rejection: { reason: 'NetworkNotAvailableInLocation', message } }
  }
  const carried = context.spec.ipFamilies ?? []
  if (carried.length === 0) {
    const message = advice(
      `Network context ${context.metadata.name} does not say which address families network ${network} carries`,
      'set spec.ipFamilies of the context, or of its network',
    )
    return { rejection: { reason: 'AddressFamiliesUnknown', message } }
  }
  const lacking = familiesOf(claim).find((family) => !carried.includes(family))
  if (lacking) {
    const message = advice(
      `Network ${network} does not carry ${lacking} in location ${location.name}; it carries ${few(carried)}`,
      'ask for another family with a new claim, or add it to the network',
    )
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

function heldByAnother(nic: NetworkInterface, hold: 'other' | 'former'): Rejection {
  const { name } = nic.metadata
  const message =
    hold === 'former'
      ? advice(`Network interface ${name} is held by an earlier claim of the same name`, 'wait for NSO to let go of it')
      : advice(
          `Network interface ${name} is held by claim ${nic.spec.claimRef?.name ?? ''}`,
          'delete that claim, or name another interface in a new claim',
        )
  return { reason: 'InterfaceHeldByAnotherClaim', message }
}

/** All of it is written by whoever publishes it, so it is nobody's to bind here. */
function copyOfAnother(nic: NetworkInterface): Rejection {
  const what = `Network interface ${nic.metadata.name} is the published copy of one in another cluster`
  return { reason: 'InterfaceHeldByAnotherClaim', message: advice(what, 'name another interface in a new claim') }
}

/** What an interface that already exists lacks of what the claim asks for; checked on every pass, since both can be edited. */
function mismatch(claim: NetworkInterfaceClaim, nic: NetworkInterface): Rejection | undefined {
  const name = interfaceNameOf(claim)
  const wanted = claim.spec
  if (nic.spec.network.name !== wanted.network.name) {
    const message = unfit(name, `is on network ${nic.spec.network.name}, the claim asks for ${wanted.network.name}`)
    return { reason: 'NetworkMismatch', message }
  }
  if (nic.spec.interfaceName !== wanted.interfaceName) {
    const message = unfit(name, `is named ${nic.spec.interfaceName} in the guest, the claim asks for ${wanted.interfaceName}`)
    return { reason: 'InterfaceNameMismatch', message }
  }
  const inner = nic.spec.addresses ?? []
  const family = familiesOf(claim).find((one) => !inner.some((address) => address.family === one))
  if (family) return { reason: 'AddressFamilyMissing', message: unfit(name, `has no ${family} address`) }
  const classes = new Set([...inner, ...(nic.spec.externalAddresses ?? [])].map((address) => address.class))
  const missing = (wanted.addresses ?? []).find((one) => !classes.has(one.class))
  if (missing) return { reason: 'AddressClassMissing', message: unfit(name, `has no address of class ${missing.class}`) }
  if (nic.spec.reclaimPolicy !== wanted.reclaimPolicy) {
    const message = unfit(name, `has reclaim policy ${nic.spec.reclaimPolicy}, the claim asks for ${wanted.reclaimPolicy}`)
    return { reason: 'ReclaimPolicyMismatch', message }
  }
  return undefined
}

const unfit = (name: string, how: string): string =>
  advice(`Network interface ${name} ${how}`, 'make a new claim that fits it, or delete the interface')
