/** Addresses from an address service. */
export { createIpamAllocator, type IpamAllocatorOptions } from './allocator.ts'
export { type ConnectionOptions, connectIpam, type IpamConnection } from './connection.ts'
export { createLosses } from './losses.ts'
export { labelsOnly, Namespace } from './project.ts'
