/** Why the service refuses a claim: `details.causes[].type` of the Status that answers the create. */

/** Type → HTTP status. Those of 400 are faults of the request, Exhausted names the pool in `details.name`. */
export const refusalTypes = {
  Exhausted: 507,
  ClassNotFound: 400,
  NoDefaultClass: 400,
  NoOfferingPool: 400,
  PrefixLengthRejected: 400,
  /** The cause's field is `spec.scope.<role>`. */
  ScopeRolesMissing: 400,
  NoProjectScope: 400,
  AllocationRetained: 409,
  ClaimExists: 409,
} as const

export type RefusalType = keyof typeof refusalTypes
export type Refusal = { readonly type: RefusalType; readonly message: string; readonly field?: string; readonly pool?: string }
