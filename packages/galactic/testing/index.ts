export { foreignWords } from './foreign-words.ts'
export {
  type NameForm,
  type StandInNode,
  type StandInNodeOptions,
  standInNodeAccount,
  standInNodeManifests,
  startStandInNode,
} from './stand-in-node/index.ts'
