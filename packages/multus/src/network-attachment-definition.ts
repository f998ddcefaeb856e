import { defineKind, type ObjectOf, optional, record, text } from 'kube-control-loop'

/** A CNI configuration that pods name. Source: Kubernetes Network Custom Resource Definition De-facto Standard, version 1.3. */
export const NetworkAttachmentDefinition = defineKind({
  group: 'k8s.cni.cncf.io',
  version: 'v1',
  kind: 'NetworkAttachmentDefinition',
  plural: 'network-attachment-definitions',
  shortNames: ['net-attach-def'],
  description: 'A CNI configuration that pods name. Its text runs as root on nodes: write access to it is a privilege.',
  spec: record(
    { config: optional(text({ description: 'CNI configuration list, as JSON text.' })) },
    { description: 'The configuration.' },
  ),
})
export type NetworkAttachmentDefinition = ObjectOf<typeof NetworkAttachmentDefinition>
