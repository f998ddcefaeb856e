/** The bridge data plane, for programs that run it in process. */
export { NetworkAttachmentDefinition } from 'kube-multus'
