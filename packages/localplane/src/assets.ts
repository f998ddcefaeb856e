/** Programs that the user already has: the directory that KUBEBUILDER_ASSETS names. */
import { access, constants } from 'node:fs/promises'
import { join } from 'node:path'
import type { ControlPlane } from './control-plane.ts'
import { LocalplaneError } from './errors.ts'
import type { Program } from './processes.ts'

/** Rejects with `ASSETS_INCOMPLETE` when kube-apiserver or etcd is missing; says what will not work without the others. */
export async function findAssets(dir: string, log: (line: string) => void): Promise<ControlPlane> {
  const find = async (name: string): Promise<Program | undefined> => {
    const command = join(dir, name)
    return await access(command, constants.X_OK).then(
      () => ({ command, args: [], tether: 'shell' as const }),
      () => undefined,
    )
  }
  const apiServer = await find('kube-apiserver')
  const etcd = await find('etcd')
  if (!apiServer || !etcd) {
    const missing = [apiServer ? [] : ['kube-apiserver'], etcd ? [] : ['etcd']].flat().join(' and ')
    throw new LocalplaneError(
      'ASSETS_INCOMPLETE',
      `KUBEBUILDER_ASSETS is ${dir}, which has no ${missing}; unset it to build a control plane`,
    )
  }
  const controllerManager = await find('kube-controller-manager')
  const kubectl = await find('kubectl')
  if (!controllerManager) {
    log(`${dir} has no kube-controller-manager: owner references, namespace deletion and aggregated roles will not work`)
  }
  return { apiServer, etcd, ...(controllerManager ? { controllerManager } : {}), ...(kubectl ? { kubectl } : {}) }
}
