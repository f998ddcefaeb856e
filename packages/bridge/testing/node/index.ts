/** A node made of network namespaces on this machine, with the real CNI plugins. Needs root on Linux: see `missingForNode`. */
export type { CniResult, CniTools } from './cni.ts'
export { standInKubeletAccount, standInKubeletManifests } from './manifests.ts'
export { missingForNode } from './missing.ts'
export { type Attached, type AttachRequest, type Device, type Node, openNode, type Workload } from './node.ts'
export { answerProbes, ask, type Question, type Reach } from './probe.ts'
export {
  type StandInKubelet,
  type StandInKubeletOptions,
  standInNodeName,
  startStandInKubelet,
} from './stand-in-kubelet.ts'
