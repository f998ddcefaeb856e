/** A real Kubernetes control plane as a library: start it, install into it, look at what was asked of it. */
export {
  type ApiAnswer,
  type ApiConnection,
  type ApiRequest,
  applyPatch,
  connect,
  connectTo,
  jsonPatch,
  mergePatch,
} from './api-connection.ts'
export {
  type AuditEntry,
  type AuditedKinds,
  type AuditRange,
  followAudit,
  parseAuditLine,
  readAudit,
  tailAudit,
} from './audit.ts'
export type { Identity } from './certificates.ts'
export { type CniTools, ensureCniTools } from './cni-tools.ts'
export { type ControlPlane, ensureControlPlane } from './control-plane.ts'
export { LocalplaneError, type LocalplaneErrorCode } from './errors.ts'
export { cacheRoot, type EnsureOptions, type Log } from './go-program.ts'
export {
  type Installed,
  type InstallOptions,
  installManifests,
  type KubeObject,
  parseManifests,
  requireAnswer,
} from './install-manifests.ts'
export { type Access, type Credential, readKubeconfig, writeKubeconfig } from './kubeconfig.ts'
export { type KubectlResult, type KubectlTarget, kubectl, kubectlCommand } from './kubectl.ts'
export { type Lock, tryLock, waitForLock } from './lock.ts'
export { type Plane, type PlaneOptions, startPlane } from './plane.ts'
export { attachPlane, type PlaneAccess, type ServiceAccount } from './plane-access.ts'
export { findRunningPlane, type PlaneState } from './plane-state.ts'
export { freePorts } from './ports.ts'
export { findProcess, isAlive, type ProcessIdentity } from './processes.ts'
export { ensurePromtool } from './promtool.ts'
