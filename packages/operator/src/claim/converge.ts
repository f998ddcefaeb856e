/** How an interface follows its claim and its network after it was made. Everything here is a compare-and-swap on the interface. */
import {
  annotations,
  labels,
  type NetworkContext,
  type NetworkInterface,
  type NetworkInterfaceClaim,
  propagatedLabelPrefix,
} from '@nso/api'
import type { JsonPatchOperation } from 'kube-control-loop'
import type { Told } from '../interface/told.ts'
import { changeEntries, changeValue } from '../json-patch.ts'
import { addressesInStep } from './addresses.ts'
import type { Seen } from './observe.ts'

/** The labels an interface of this claim carries; the data plane's templates may pass them on. */
export function interfaceLabels(claim: NetworkInterfaceClaim, location: string): Record<string, string> {
  const workload = Object.entries(claim.metadata.labels ?? {}).filter(([key]) => key.startsWith(propagatedLabelPrefix))
  return { ...Object.fromEntries(workload), [labels.location]: location }
}

/**
 * Takes a free interface. Two claims may try at once: both send a test for "no claim", the server lets one through.
 * The uid goes with the name, so that a later claim of the same name is told apart.
 */
export function bindingChanges(claim: NetworkInterfaceClaim, nic: NetworkInterface): JsonPatchOperation[] {
  return [...changeValue('/spec/claimRef', undefined, { name: claim.metadata.name }), ...recordUid(claim, nic)]
}

/** Lets go of an interface that is kept (reclaim policy Retain). */
export function releasingChanges(nic: NetworkInterface): JsonPatchOperation[] {
  return [
    ...changeValue('/spec/claimRef', nic.spec.claimRef, undefined),
    ...changeEntries('/metadata/annotations', nic.metadata.annotations, { [annotations.claimUid]: undefined }),
  ]
}

/** What an interface that the claim holds (or is about to hold) lacks; empty at rest. */
export function convergence(seen: Seen, nic: NetworkInterface, context: NetworkContext): JsonPatchOperation[] {
  const { claim } = seen
  return [
    ...(nic.spec.claimRef ? recordUid(claim, nic) : []),
    ...changeEntries('/metadata/labels', nic.metadata.labels, labelChanges(claim, nic, context.spec.location.name)),
    ...changeValue('/spec/mtu', nic.spec.mtu, context.spec.mtu),
    ...changeValue('/spec/attachmentMode', nic.spec.attachmentMode, claim.spec.attachmentMode ?? nic.spec.attachmentMode),
    ...changeValue('/spec/addresses', nic.spec.addresses, addressesInStep(seen, nic)),
  ]
}

/** From what an interface lists to what its claim was told. */
export function addressChanges({ spec }: NetworkInterface, told: Told): JsonPatchOperation[] {
  return [
    ...changeValue('/spec/addresses', spec.addresses, told.addresses),
    ...changeValue('/spec/externalAddresses', spec.externalAddresses, told.externalAddresses),
  ]
}

function recordUid(claim: NetworkInterfaceClaim, nic: NetworkInterface): JsonPatchOperation[] {
  return changeEntries('/metadata/annotations', nic.metadata.annotations, { [annotations.claimUid]: claim.metadata.uid })
}

function labelChanges(claim: NetworkInterfaceClaim, nic: NetworkInterface, location: string): Record<string, string | undefined> {
  const stale = Object.keys(nic.metadata.labels ?? {}).filter((key) => key.startsWith(propagatedLabelPrefix))
  return { ...Object.fromEntries(stale.map((key) => [key, undefined])), ...interfaceLabels(claim, location) }
}
