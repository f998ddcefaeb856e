/** What a data plane declares that it can do, against what is asked of it. Pure. */
import { type AddressFamily, contractVersions, type DataPlane, type NetworkInterface, type RejectReason } from '@nso/api'
import { advice, few } from '../messages.ts'
import type { CompiledPlane } from './types.ts'

const knownContracts: readonly string[] = contractVersions

/** Whether this NSO knows the contract that it follows. Absent: stored before there was a choice. */
export function isKnownContract({ spec }: DataPlane): boolean {
  return spec?.contract === undefined || knownContracts.includes(spec.contract)
}

/** Absent: nothing is asked for in particular. */
export type Needs = {
  readonly mode: NetworkInterface['spec']['attachmentMode'] | undefined
  readonly families: readonly AddressFamily[]
}

/** The message names the plane, what was asked for and what is offered instead. */
export type Shortfall = {
  readonly reason: Extract<RejectReason, 'AttachmentModeNotSupported' | 'AddressFamilyNotSupported'>
  readonly message: string
}

/** What a stored interface needs of a data plane. */
export function needsOf({ spec }: NetworkInterface): Needs {
  return { mode: spec.attachmentMode, families: [...new Set((spec.addresses ?? []).map(({ family }) => family))] }
}

/** Undefined when the plane offers everything; a capability that it does not declare is offered in full. */
export function shortfall({ ref, object }: Pick<CompiledPlane, 'ref' | 'object'>, needs: Needs): Shortfall | undefined {
  const { attachmentModes, addressFamilies } = capabilitiesOf(object)
  if (attachmentModes && needs.mode !== undefined && !attachmentModes.includes(needs.mode)) {
    const message = advice(
      `DataPlane ${ref.name} does not offer attachment mode ${needs.mode}; it offers ${few(attachmentModes)}`,
      'ask for another mode with a new claim, or serve the location with another data plane',
    )
    return { reason: 'AttachmentModeNotSupported', message }
  }
  const lacking = addressFamilies && needs.families.find((family) => !addressFamilies.includes(family))
  if (!addressFamilies || lacking === undefined) return undefined
  const message = advice(
    `DataPlane ${ref.name} does not carry ${lacking}; it carries ${few(addressFamilies)}`,
    'ask for another family with a new claim, or serve the location with another data plane',
  )
  return { reason: 'AddressFamilyNotSupported', message }
}

const capabilitiesOf = ({ spec }: DataPlane): NonNullable<DataPlane['spec']['capabilities']> => spec?.capabilities ?? {}
