/** What Multus and data planes that use it agree on: network definitions, and what a Pod's annotation reports. */
export { NetworkAttachmentDefinition } from './network-attachment-definition.ts'
