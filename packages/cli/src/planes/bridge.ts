/** The bridge data plane: Linux bridges by the standard CNI plugins, and real packets where this machine has namespaces. */
import { BridgeAttachment, BridgeNetwork } from 'kube-bridge/api'
import { bridgeAccount, bridgeManifests, enforcement, ownershipProbes } from 'kube-bridge/manifests'
import { missingForNode, standInKubeletAccount, standInKubeletManifests, startStandInKubelet } from 'kube-bridge/testing/node'
import { ensureCniTools, LocalplaneError } from 'kube-localplane'
import { bridgeWorkloads } from './bridge-workloads.ts'
import type { DataPlaneUse, RunningStandIn, StandInOptions } from './data-plane.ts'

const dualStack = { ipFamilies: ['IPv6', 'IPv4'], interfaceName: 'net1' }

export const bridge: DataPlaneUse = {
  name: 'bridge',
  title: 'Bridge',
  account: bridgeAccount,
  main: 'kube-bridge/main',
  manifests: bridgeManifests,
  ownership: { enforcement, probes: ownershipProbes },
  kinds: { attachment: BridgeAttachment, networkObject: BridgeNetwork },
  networkWord: 'bridge',
  attachmentNotes({ status }) {
    const { bridge: device } = (status ?? {}) as { bridge?: string }
    return device ? [`bridge device ${device}`] : []
  },
  samples: {
    networks: ['default', 'other'],
    shapes: [
      { prefix: 'web', network: 'default', spec: dualStack },
      { prefix: 'db', network: 'default', spec: dualStack },
      { prefix: 'else', network: 'other', spec: dualStack },
    ],
  },
  standIn: {
    title: 'the stand-in for kubelet and Multus',
    account: standInKubeletAccount,
    manifests: standInKubeletManifests,
    // There, kubelet and Multus run Pods by themselves.
    onGivenClusters: false,
    missing: missingForPackets,
    start: startKubelet,
  },
}

/** The CNI tools are looked for last: building them is of no use where the rest is missing. */
async function missingForPackets(options: Pick<StandInOptions, 'log' | 'signal'>): Promise<string[]> {
  const missing = await missingForNode()
  if (missing.length > 0) return missing
  return await ensureCniTools(options).then(
    () => [],
    (error: unknown) => {
      if (error instanceof LocalplaneError) return [error.message]
      throw error
    },
  )
}

async function startKubelet({ kubeconfig, log, signal }: StandInOptions): Promise<RunningStandIn> {
  const tools = await ensureCniTools({ log, signal })
  const kubelet = await startStandInKubelet({
    kubeconfig,
    tools,
    failed: (pod, why) => log(`Pod ${pod} is not attached yet: ${why}`),
  })
  const ended = kubelet.running.then(
    () => 'the stand-in for kubelet and Multus ended',
    (error: unknown) => `the stand-in for kubelet and Multus ended: ${String(error)}`,
  )
  return { ended, workloads: bridgeWorkloads(kubelet), stop: () => kubelet.stop().catch(() => {}) }
}
