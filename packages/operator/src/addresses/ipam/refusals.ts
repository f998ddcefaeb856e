/**
 * What the address service's refusals mean, told apart before any race table sees them: its statuses (507, and 409 of its own)
 * mean other things than those of an API server. Pure.
 */
import { ApiError, ConnectionBroken } from 'kube-control-loop'
import { type RefusalType, refusalTypes } from 'kube-ipam'
import { advice } from '../../messages.ts'
import type { RefusalReason } from '../port.ts'

/** `pool`: the one that has no room. */
export type ServiceRefusal = { readonly reason: RefusalReason; readonly message: string; readonly pool?: string }

const reasons: Readonly<Record<RefusalType, RefusalReason>> = {
  Exhausted: 'AddressPoolExhausted',
  AllocationRetained: 'RetainedAddressConflict',
  ClaimExists: 'RetainedAddressConflict',
  ClassNotFound: 'AddressAllocationRejected',
  NoDefaultClass: 'AddressAllocationRejected',
  NoOfferingPool: 'AddressAllocationRejected',
  PrefixLengthRejected: 'AddressAllocationRejected',
  ScopeRolesMissing: 'AddressAllocationRejected',
  NoProjectScope: 'AddressAllocationRejected',
}

const askThem = 'ask whoever runs the address service'
const remedies: Partial<Record<RefusalReason, string>> = {
  AddressPoolExhausted: 'delete claims and retained interfaces that are not used, or have the pool widened',
  AddressAllocationRejected: 'ask for a class that the service offers, or have it offered',
}

const trimmed = (text: string) => text.replace(/[.\s]+$/, '')

const isType = (text: string | undefined): text is RefusalType => text !== undefined && Object.hasOwn(refusalTypes, text)

/** The service did not answer, or not for itself: whether it did what was asked is unknown, and it is to be asked again. */
export function isAway(error: unknown): boolean {
  if (error instanceof ConnectionBroken) return true
  if (!(error instanceof ApiError) || typeOf(error)) return false
  return !error.isStatus || error.status === 429 || error.status >= 500
}

/** The first cause of a type that the service documents. */
export function typeOf(error: ApiError): RefusalType | undefined {
  return error.causes.map(({ reason }) => reason).find(isType)
}

/** A 404 that speaks of the namespace itself, or a namespace that takes nothing new. */
function lacksNamespace({ status, details, causes }: ApiError, namespace: string): boolean {
  if (status === 403) return causes.some(({ reason }) => reason === 'NamespaceTerminating')
  return status === 404 && !details.group && details.kind === 'namespaces' && details.name === namespace
}

/**
 * What a refused create of an IPClaim in `namespace` is to be told as. Undefined: it is no refusal of the service (`isAway`,
 * a lost lease, an aborted pass).
 */
export function refusalOf(error: unknown, { name, namespace }: { name: string; namespace: string }): ServiceRefusal | undefined {
  if (!(error instanceof ApiError) || isAway(error)) return undefined
  if (lacksNamespace(error, namespace)) {
    const message = advice(
      `Project ${name} has no namespace ${namespace}, or is deleting it`,
      'make the namespace in the project',
    )
    return { reason: 'ProjectNamespaceNotFound', message }
  }
  const type = typeOf(error)
  const said = error.causes.find(({ reason }) => reason === type)?.message || error.text || `HTTP ${error.status}`
  if (!type) return { reason: 'AllocationFailed', message: advice(`The address service refused: ${trimmed(said)}`, askThem) }
  const pool = type === 'Exhausted' && error.details.name ? ` (pool ${error.details.name})` : ''
  const message = advice(`The address service refused (${type})${pool}: ${trimmed(said)}`, remedies[reasons[type]] ?? askThem)
  return { reason: reasons[type], message, ...(pool ? { pool: error.details.name ?? '' } : {}) }
}
