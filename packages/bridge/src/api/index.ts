export { NetworkAttachmentDefinition } from 'kube-multus'
