/** Installs the policies that enforce ownership, with the identities of this installation, and waits until they are in force. */
import { enforcement as nsoEnforcement, ownershipProbes as nsoProbes } from '@nso/api'
import {
  modeLabel,
  type OwnershipEnforcement,
  type OwnershipMode,
  type OwnershipProbe,
  ownershipInForce,
  ownershipParameters,
  ownershipPolicies,
  parametersName,
  systemClock,
} from 'kube-control-loop'
import { type ApiConnection, connect, installManifests, type KubeObject } from 'kube-localplane'
import { openCluster } from './cluster.ts'
import type { DataPlaneUse } from './planes/data-plane.ts'
import { defaultDataPlane } from './planes/index.ts'
import { servesAdmission } from './served.ts'

export type OwnershipRequest = {
  kubeconfigPath: string
  /** Whose objects it is too: Galactic's unless said otherwise. */
  dataPlane?: DataPlaneUse | undefined
  /** Absent: as the cluster has it, else Deny. */
  mode?: OwnershipMode | undefined
  log: (line: string) => void
  signal: AbortSignal
}

type App = { title: string; enforcement: OwnershipEnforcement; probes: readonly OwnershipProbe[] }

const nso: App = { title: 'NSO', enforcement: nsoEnforcement, probes: nsoProbes }

/**
 * Applied to a used cluster it changes nothing but the mode: parameters that stand, an administrator's among them, are kept.
 * Rejects with `NotInForce` where a policy does not come into force.
 */
export async function enforceOwnership(request: OwnershipRequest): Promise<void> {
  const connection = await connect(request.kubeconfigPath)
  try {
    if (!(await servesAdmission(connection, 'validatingadmissionpolicies'))) {
      request.log('ownership is not enforced: this server does not serve ValidatingAdmissionPolicy v1')
      return
    }
    const { title, ownership } = request.dataPlane ?? defaultDataPlane
    const lines = await Promise.all([nso, { title, ...ownership }].map((app) => enforceOf(app, connection, request)))
    for (const line of lines) request.log(line)
  } finally {
    connection.close()
  }
}

type Parameters = { metadata: { labels?: Record<string, string> }; data?: Record<string, string> }

const isMode = (text: string | undefined): text is OwnershipMode => text === 'Deny' || text === 'Audit' || text === 'Off'

async function enforceOf(
  { title, enforcement, probes }: App,
  connection: ApiConnection,
  request: OwnershipRequest,
): Promise<string> {
  const { kubeconfigPath, signal } = request
  const standing = await readParameters(connection, enforcement)
  const set = standing?.metadata.labels?.[modeLabel]
  const mode = request.mode ?? (isMode(set) ? set : 'Deny')
  if (mode === 'Off' && !standing) return `ownership of ${title}'s objects is not enforced`
  const parameters = ownershipParameters(enforcement, mode)
  const kept = { ...parameters, data: { ...(parameters.data as object), ...standing?.data } }
  await installManifests(kubeconfigPath, [kept, ...ownershipPolicies(enforcement)] as KubeObject[], { signal })
  if (mode === 'Off') return `ownership of ${title}'s objects is not enforced any more`
  if (mode === 'Audit') return `ownership of ${title}'s objects is watched and not enforced (Audit): violations are counted`
  const count = await untilInForce(kubeconfigPath, { enforcement, probes }, signal)
  return `ownership of ${title}'s objects is enforced (Deny): ${count} policies are in force`
}

async function readParameters(connection: ApiConnection, enforcement: OwnershipEnforcement): Promise<Parameters | undefined> {
  const path = `/api/v1/namespaces/${enforcement.namespace}/configmaps/${parametersName(enforcement)}`
  const { status, body } = await connection.request({ path })
  return status === 200 ? (body as Parameters) : undefined
}

async function untilInForce(kubeconfig: string, app: Pick<App, 'enforcement' | 'probes'>, signal: AbortSignal): Promise<number> {
  const { client, close } = await openCluster({ kubeconfig, retryForMs: 10_000 })
  try {
    return await ownershipInForce({ ...app, client, clock: systemClock, signal })
  } finally {
    await close()
  }
}
