/** For local runs and tests beside the bridge data plane. */
export {
  attachedEntry,
  podNaming,
  type StandInMultus,
  type StandInMultusOptions,
  startStandInMultus as standInMultus,
  staticAddresses,
} from 'kube-multus/testing'
export { standInMultusAccount, standInMultusManifests } from './stand-in-account.ts'
