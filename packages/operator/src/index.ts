/** NSO for programs that run it in process: the command line and tests. */
export { createOperator, leaseName, type Operator, type OperatorOptions } from './app.ts'
export { type Caches, createCaches } from './caches.ts'
export { defaultSettings, type Settings } from './settings.ts'
