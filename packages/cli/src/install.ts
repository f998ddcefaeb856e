/** Installs NSO, Galactic and the stand-in node into a cluster, and takes care of what others may have there already. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { nsoManifests, ServingLocation } from '@nso/api'
import { galacticManifests } from 'galactic/manifests'
import { standInNodeManifests } from 'galactic/testing'
import { apiVersionOf, type OwnershipMode } from 'kube-control-loop'
import { type ApiConnection, connect, installManifests, type KubeObject, parseManifests } from 'kube-localplane'
import { enforceOwnership } from './ownership.ts'
import { servesAdmission } from './served.ts'

export type InstallRequest = {
  kubeconfigPath: string
  /** Whether the admission policy that adds the claim's finalizer is installed (absent: where the server can). */
  policy?: boolean | undefined
  /** Whether writes of others than the documented writers are refused (absent: as the cluster has it, else they are). */
  ownership?: OwnershipMode | undefined
  log: (line: string) => void
  signal: AbortSignal
}

const root = path.resolve(import.meta.dirname, '..', '..', '..')

/** Everything that NSO, Galactic and the stand-in node need, by server-side apply: on a used cluster a no-op. */
export async function install({ kubeconfigPath, policy, ownership, log, signal }: InstallRequest): Promise<void> {
  const nso = nsoManifests()
  const galactic = galacticManifests()
  const joint = parseManifests(await readFile(path.join(root, 'deploy', 'data-planes', 'galactic.yaml'), 'utf8'))
  const { localCrds, withPolicy } = await withConnection(kubeconfigPath, async (connection) => ({
    localCrds: await missingCrds(connection, galactic.local as KubeObject[]),
    withPolicy: policy ?? (await servesAdmission(connection, 'mutatingadmissionpolicies')),
  }))
  const manifests = [
    ...[...nso.crds, ...galactic.crds, ...localCrds],
    ...[...nso.rbac, ...galactic.rbac, ...standInNodeManifests()],
    ...(withPolicy ? nso.policies : []),
    ...joint,
  ] as KubeObject[]
  await installManifests(kubeconfigPath, manifests, { signal })
  const note = withPolicy ? '' : '; not the admission policy, since this server does not serve MutatingAdmissionPolicy v1'
  log(
    `installed ${manifests.length} manifests: CRDs, roles${withPolicy ? ', admission policy' : ''}, the DataPlane galactic${note}`,
  )
  await enforceOwnership({ kubeconfigPath, mode: ownership, log, signal })
}

/**
 * Where a cluster has several ServingLocations an NSO must be told its own: the first by name, which is also where the samples
 * go. Undefined where one or none leaves no choice.
 */
export async function chooseLocation(kubeconfigPath: string): Promise<string | undefined> {
  const { items } = await withConnection(kubeconfigPath, (connection) =>
    connection.must({ path: `/apis/${apiVersionOf(ServingLocation)}/${ServingLocation.plural}` }),
  )
  const names = (items as KubeObject[]).map(({ metadata }) => metadata.name).sort()
  return names.length > 1 ? names[0] : undefined
}

async function withConnection<T>(kubeconfigPath: string, use: (connection: ApiConnection) => Promise<T>): Promise<T> {
  const connection = await connect(kubeconfigPath)
  try {
    return await use(connection)
  } finally {
    connection.close()
  }
}

/** CRDs of others (Multus, the node's router) are installed where they are missing and left alone where they stand. */
async function missingCrds(connection: ApiConnection, crds: readonly KubeObject[]): Promise<KubeObject[]> {
  const stands = async ({ metadata }: KubeObject) => {
    const { status } = await connection.request({
      path: `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${metadata.name}`,
    })
    return status === 200
  }
  const found = await Promise.all(crds.map(stands))
  return crds.filter((_, index) => !found[index])
}
