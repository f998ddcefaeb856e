/** Using a plane that runs, whichever process started it. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ApiConnection, connect } from './api-connection.ts'
import { type Identity, issueClientCertificate, readAuthority } from './certificates.ts'
import type { ControlPlane } from './control-plane.ts'
import { hasCode, LocalplaneError } from './errors.ts'
import { type Installed, type InstallOptions, installManifests, type KubeObject } from './install-manifests.ts'
import { writeKubeconfig } from './kubeconfig.ts'
import { findRunningPlane, type PlaneState } from './plane-state.ts'
import { isAlive } from './processes.ts'
import { planeFiles } from './server-flags.ts'
import { eventually } from './wait.ts'

export type ServiceAccount = { namespace: string; name: string }

export type PlaneAccess = {
  readonly name: string
  readonly dir: string
  readonly url: string
  readonly caPath: string
  /** PEM. */
  readonly ca: string
  /** Of the user `admin`, who may do everything. */
  readonly kubeconfigPath: string
  /** Absent when it was started without one. */
  readonly auditLogPath?: string
  readonly programs: ControlPlane
  /** Requests as the admin. */
  readonly connection: ApiConnection
  /**
   * Writes a kubeconfig for an identity and resolves with its path. A user gets a client certificate and may belong to any
   * groups; a service account, which must exist, gets a token for a week.
   */
  kubeconfigFor(identity: Identity | { serviceAccount: ServiceAccount }): Promise<string>
  /** `installManifests` as the admin, and `restartControllers` when a definition is new. */
  apply(manifests: string | readonly KubeObject[], options?: InstallOptions): Promise<Installed>
  /**
   * Restarts the controller manager only. Its garbage collector looks for new kinds each 30 s; after a restart it knows
   * those that are served now. Resolves when the new one has been started; without a controller manager it does nothing.
   */
  restartControllers(): Promise<void>
}

const tokenSeconds = 7 * 86_400

/** Takes a plane's directory or its plane.json. Rejects with `NOT_RUNNING`. */
export async function attachPlane(dirOrFile: string): Promise<PlaneAccess> {
  const state = await findRunningPlane(dirOrFile)
  if (!state) throw new LocalplaneError('NOT_RUNNING', `no control plane runs in ${dirOrFile}`)
  return await openPlane(state)
}

export async function openPlane(state: PlaneState): Promise<PlaneAccess> {
  const connection = await connect(state.kubeconfigPath)
  const ca = await readFile(state.caPath, 'utf8')
  return {
    name: state.name,
    dir: state.dir,
    url: state.url,
    caPath: state.caPath,
    ca,
    kubeconfigPath: state.kubeconfigPath,
    ...(state.auditLogPath ? { auditLogPath: state.auditLogPath } : {}),
    programs: state.programs,
    connection,
    restartControllers: () => restartControllers(state.dir),
    async apply(manifests, options = {}) {
      const installed = await installManifests(state.kubeconfigPath, manifests, options)
      if (installed.newDefinitions.length > 0) await restartControllers(state.dir)
      return installed
    },
    async kubeconfigFor(identity) {
      const isAccount = 'serviceAccount' in identity
      const user = isAccount ? accountUser(identity.serviceAccount) : identity.user
      const credential = isAccount
        ? { token: await requestToken(connection, identity.serviceAccount) }
        : await issueClientCertificate(await readAuthority(join(state.dir, planeFiles.pki)), identity)
      const path = join(state.dir, planeFiles.kubeconfigs, fileName(user, isAccount ? [] : (identity.groups ?? [])))
      await writeKubeconfig(path, { url: state.url, ca, cluster: state.name, user, credential })
      return path
    },
  }
}

/** Whoever started the plane sees its controller manager end and starts another. */
async function restartControllers(dir: string): Promise<void> {
  const find = async () => (await findRunningPlane(dir))?.processes.controllers
  const before = await find()
  if (!before || !isAlive(before)) return
  try {
    process.kill(before.pid, 'SIGTERM')
  } catch (error) {
    // Another process has just asked for the same.
    if (!hasCode(error, 'ESRCH')) throw error
  }
  await eventually('the controller manager is started again', async () => {
    const now = await find()
    return now && now.pid !== before.pid
  })
}

const accountUser = ({ namespace, name }: ServiceAccount) => `system:serviceaccount:${namespace}:${name}`

/** One file for each user and set of groups, so that two of them do not overwrite each other's. */
function fileName(user: string, groups: readonly string[]): string {
  return `${[user, ...groups].map(encodeURIComponent).join('+').slice(0, 200)}.kubeconfig`
}

async function requestToken(connection: ApiConnection, { namespace, name }: ServiceAccount): Promise<string> {
  const answer = await connection.must({
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: tokenSeconds } },
  })
  return String((answer.status as { token?: string } | undefined)?.token)
}
