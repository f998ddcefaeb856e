/** What Multus and data planes that use it agree on: network definitions, and what a Pod's annotation reports. */
export {
  type Attachment,
  type AttachmentKind,
  type Hindrance,
  hindrance,
  isControlledBy,
  isRendered,
  type Rendering,
  type SeenDefinition,
  seeDefinition,
} from './definition.ts'
export {
  type DefinitionCache,
  type Definitions,
  type DefinitionWriter,
  define,
  definitionIsGone,
  definitionsServed,
  redefine,
} from './definition-writes.ts'
export { type Patience, patience } from './detach-grace.ts'
export { NetworkAttachmentDefinition } from './network-attachment-definition.ts'
export {
  type AnnotatedPod,
  type AttachedNetwork,
  type NetworkStatus,
  networkStatusOf,
  podAnnotations,
  printable,
  requestedDefinitions,
} from './network-status.ts'
export { type DefinitionOwner, definitionOwnership } from './ownership.ts'
export { definitionsOf, livePods, Pod, prunePod } from './pod.ts'
export { definitionRefusal } from './refusal.ts'
