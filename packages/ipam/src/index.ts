/** The API of an address service, `ipam.miloapis.com/v1alpha1`: the kinds that its clients read and write. */
export { IPAllocation } from './ip-allocation.ts'
export { IPClaim, type ScopeReference } from './ip-claim.ts'
export { defaultClassAnnotation, IPClass } from './ip-class.ts'
export { IPPool } from './ip-pool.ts'
export { type Refusal, type RefusalType, refusalTypes } from './refusals.ts'
