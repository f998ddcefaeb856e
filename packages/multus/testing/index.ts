/** For local runs and tests of data planes that use Multus: a stand-in, on the API alone. */
export {
  attachedEntry,
  podNaming,
  type StandInMultus,
  type StandInMultusOptions,
  startStandInMultus,
  staticAddresses,
} from './stand-in-multus.ts'
