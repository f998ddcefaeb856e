/** NSO for programs that run it in process: the command line and tests. */
export { addressLeaseName } from './addresses/lease-name.ts'
export { createOperator, leaseName, type Operator, type OperatorOptions } from './app.ts'
export { type Caches, createCaches } from './caches.ts'
export { chooseFor } from './dataplane/choose.ts'
export { defaultSettings, type Settings } from './settings.ts'
