/** Galactic: VPCs whose nodes' router advertises attachments. */
import { VPC, VPCAttachment } from 'galactic/api'
import { enforcement, galacticAccount, galacticManifests, ownershipProbes } from 'galactic/manifests'
import { standInNodeAccount, standInNodeManifests, startStandInNode } from 'galactic/testing'
import { createLogger } from 'kube-control-loop'
import type { DataPlaneUse, RunningStandIn, StandInOptions } from './data-plane.ts'

export const galactic: DataPlaneUse = {
  name: 'galactic',
  title: 'Galactic',
  account: galacticAccount,
  main: 'galactic/main',
  manifests: galacticManifests,
  ownership: { enforcement, probes: ownershipProbes },
  kinds: { attachment: VPCAttachment, networkObject: VPC },
  networkWord: 'VPC',
  attachmentNotes({ status }) {
    const { vpc, vpcAttachment, node } = (status ?? {}) as { vpc?: string; vpcAttachment?: string; node?: string }
    return vpc ? [`identity ${vpc}-${vpcAttachment ?? '?'}${node ? ` on ${node}` : ''}`] : []
  },
  samples: {
    networks: ['default'],
    shapes: [
      { prefix: 'web', network: 'default', spec: { ipFamilies: ['IPv6'] } },
      { prefix: 'db', network: 'default', spec: { ipFamilies: ['IPv6', 'IPv4'] } },
      { prefix: 'vm', network: 'default', spec: { ipFamilies: ['IPv6'], attachmentMode: 'Hypervisor' } },
    ],
  },
  standIn: {
    title: 'the stand-in node',
    account: standInNodeAccount,
    manifests: standInNodeManifests,
    onGivenClusters: true,
    missing: async () => [],
    start: async (options) => startNode(options),
  },
}

function startNode({ kubeconfig }: StandInOptions): RunningStandIn {
  const node = startStandInNode({ kubeconfig, log: createLogger({ name: 'stand-in-node', level: 'silent' }) })
  const ended = node.running.then(
    () => 'the stand-in node ended',
    (error: unknown) => `the stand-in node ended: ${String(error)}`,
  )
  return { ended, stop: () => node.stop().catch(() => {}) }
}
