/** Installs NSO, a data plane and its stand-in into a cluster, and takes care of what others may have there already. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { DataPlane, nsoManifests, ServingLocation } from '@nso/api'
import { apiVersionOf, type OwnershipMode } from 'kube-control-loop'
import { type ApiConnection, connect, installManifests, type KubeObject, parseManifests } from 'kube-localplane'
import { type AddressSource, requireNoOtherService, serviceManifests } from './address-service.ts'
import { Explained } from './failure.ts'
import { enforceOwnership } from './ownership.ts'
import type { DataPlaneUse } from './planes/data-plane.ts'
import { defaultDataPlane } from './planes/index.ts'
import { servesAdmission } from './served.ts'

export type InstallRequest = {
  kubeconfigPath: string
  /** Galactic unless said otherwise. */
  dataPlane?: DataPlaneUse | undefined
  /** Built in unless said otherwise. */
  addresses?: AddressSource | undefined
  /** Whether the admission policy that adds the claim's finalizer is installed (absent: where the server can). */
  policy?: boolean | undefined
  /** Whether writes of others than the documented writers are refused (absent: as the cluster has it, else they are). */
  ownership?: OwnershipMode | undefined
  log: (line: string) => void
  signal: AbortSignal
}

const root = path.resolve(import.meta.dirname, '..', '..', '..')

/** Everything that NSO, the data plane and its stand-in need, by server-side apply: on a used cluster a no-op. */
export async function install({ kubeconfigPath, policy, ownership, log, signal, ...request }: InstallRequest): Promise<void> {
  const { dataPlane = defaultDataPlane, addresses = 'builtin' } = request
  const nso = nsoManifests()
  const own = dataPlane.manifests()
  const joint = parseManifests(await readFile(path.join(root, 'deploy', 'data-planes', `${dataPlane.name}.yaml`), 'utf8'))
  await withConnection(kubeconfigPath, (connection) => requireRoom(connection, dataPlane))
  if (addresses === 'ipam') await withConnection(kubeconfigPath, requireNoOtherService)
  const { localCrds, withPolicy } = await withConnection(kubeconfigPath, async (connection) => ({
    localCrds: await missingCrds(connection, own.local as KubeObject[]),
    withPolicy: policy ?? (await servesAdmission(connection, 'mutatingadmissionpolicies')),
  }))
  const manifests = [
    ...[...nso.crds, ...own.crds, ...localCrds],
    ...[...nso.rbac, ...own.rbac, ...dataPlane.standIn.manifests()],
    ...(withPolicy ? nso.policies : []),
    ...(addresses === 'ipam' ? serviceManifests() : []),
    ...joint,
  ] as KubeObject[]
  await installManifests(kubeconfigPath, manifests, { signal })
  const note = withPolicy ? '' : '; not the admission policy, since this server does not serve MutatingAdmissionPolicy v1'
  log(
    `installed ${manifests.length} manifests: CRDs, roles${withPolicy ? ', admission policy' : ''}, the DataPlane ${dataPlane.name}${note}`,
  )
  await enforceOwnership({ kubeconfigPath, dataPlane, mode: ownership, log, signal })
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

/** Of two DataPlanes for the same locations the older serves them, and the samples would wait for ever for the younger. */
async function requireRoom(connection: ApiConnection, { name }: DataPlaneUse): Promise<void> {
  const { status, body } = await connection.request({ path: `/apis/${apiVersionOf(DataPlane)}/${DataPlane.plural}` })
  const { items = [] } = (status === 200 ? body : {}) as { items?: KubeObject[] }
  const everywhere = ({ spec }: KubeObject) => (spec as { locations?: string[] }).locations?.includes('*')
  const other = items.find((each) => each.metadata.name !== name && everywhere(each))
  if (other && !items.some(({ metadata }) => metadata.name === name))
    throw new Explained(
      `DataPlane ${other.metadata.name} serves every location of this cluster, so that ${name} would serve none: of two the older is chosen. ` +
        `Nothing was installed. Give ${other.metadata.name} locations of its own, or run with --data-plane ${other.metadata.name}.`,
    )
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
