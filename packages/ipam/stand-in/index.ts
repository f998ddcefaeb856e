/** A stand-in for the address service: what tests, and whoever tries things out, run in its place. */
export { alphaPools } from './alpha-pools.ts'
export type { Came, Fault, FaultOptions, Faults, HeldFault } from './faults.ts'
export { clientManifests, clientRules, standInAccount, standInManifests } from './manifests.ts'
export { answeredMetric, saidMetric } from './overruled-page.ts'
export { type StandIn, type StandInOptions, startStandIn } from './start.ts'
