/** Addresses: how claims get them, and how they are given back. */
export { type BuiltinAllocator, createBuiltinAllocator } from './builtin.ts'
export {
  connectIpam,
  createIpamAllocator,
  createLosses,
  type IpamConnection,
  labelsOnly,
  Namespace,
} from './ipam/index.ts'
export { leaseIndexes } from './lease.ts'
export type { InterfaceCache, LeaseCache } from './parts.ts'
export type { AddressAllocator, AddressRequest, AllocatedAddress, Allocation, Verification } from './port.ts'
