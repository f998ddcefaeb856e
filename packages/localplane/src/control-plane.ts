/**
 * The programs of a control plane: the user's own (KUBEBUILDER_ASSETS), or one that is built from the Go module proxy the
 * first time and kept in the user's cache.
 */
import { findAssets } from './assets.ts'
import { readSources } from './build-inputs.ts'
import { controlPlaneNeeds } from './disk-space.ts'
import { LocalplaneError } from './errors.ts'
import { type EnsureOptions, ensureGoProgram } from './go-program.ts'
import type { Program } from './processes.ts'

/** `etcd` is absent when it is part of the API server's program. Without a controller manager nothing collects garbage. */
export type ControlPlane = { apiServer: Program; etcd?: Program; controllerManager?: Program; kubectl?: Program }

/** The three roles of the built binary. */
export function linkedPrograms(binary: string): ControlPlane {
  const role = (...args: string[]): Program => ({ command: binary, args, tether: 'stdin' })
  return { apiServer: role('serve'), controllerManager: role('controller-manager'), kubectl: role('kubectl') }
}

/**
 * Finds the programs, or builds them with progress to `log` (minutes, once for each user and version).
 * Rejects with `NO_TOOLCHAIN`, `NO_DISK_SPACE`, `BUILD_FAILED` or `ASSETS_INCOMPLETE`.
 */
export async function ensureControlPlane(options: EnsureOptions = {}): Promise<ControlPlane> {
  const { log = () => {}, env = process.env } = options
  const assets = env.KUBEBUILDER_ASSETS
  if (assets) return await findAssets(assets, log)
  const sources = await readSources()
  const version = `Kubernetes ${sources.kubernetesVersion}`
  const binary = await ensureGoProgram({ name: 'localplane', version, sources, needs: controlPlaneNeeds }, options)
  return linkedPrograms(binary ?? noToolchain())
}

function noToolchain(): never {
  throw new LocalplaneError(
    'NO_TOOLCHAIN',
    [
      'a local control plane needs one of these, and none was found:',
      '  - Go 1.24 or later on PATH (https://go.dev/dl): the control plane is then built once, in some minutes',
      '  - KUBEBUILDER_ASSETS: a directory with kube-apiserver and etcd (and kube-controller-manager, kubectl)',
      '  - a kubeconfig of a cluster that you have, instead of a local control plane (--kubeconfig FILE)',
    ].join('\n'),
  )
}
