/** A control plane on which ownership is enforced, and identities for which only that stands in the way. */
import { enforcement, nsoAccount, nsoManifests, ownershipProbes } from '@nso/api'
import {
  createAccessSource,
  createClient,
  createHttpTransport,
  type Manifest,
  ownershipInForce,
  ownershipParameters,
  systemClock,
} from 'kube-control-loop'
import type { Actor } from 'kube-control-loop/testing'
import { type ApiConnection, connect, type KubeObject as Installable, mergePatch, type Plane, startPlane } from 'kube-localplane'

export type EnforcedWorld = {
  readonly plane: Plane
  /** An administrator, of system:masters. */
  readonly admin: Actor
  /** NSO's account. */
  readonly nso: Actor
  /** Others' accounts, which permissions keep from nothing. */
  account(name: string): Promise<Actor>
  person(user: string, ...groups: string[]): Promise<Actor>
  /** Changes the parameters; `mode` is a label of them. */
  setParameters(change: { mode?: string | null; data?: Record<string, string | null> }): Promise<void>
  enforce(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

const othersNamespace = 'others'

const binding = (name: string, namespace: string): Manifest => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: `everything-${name}` },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
  subjects: [{ kind: 'ServiceAccount', name, namespace }],
})

const account = (name: string): Manifest => ({
  ...{ apiVersion: 'v1', kind: 'ServiceAccount' },
  metadata: { name, namespace: othersNamespace },
})

/** The definitions and accounts; nothing is enforced yet. */
export async function startEnforcedWorld(): Promise<EnforcedWorld> {
  const plane = await startPlane({ name: 'ownership' })
  const { crds, rbac, ownership } = nsoManifests()
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: othersNamespace } }
  await plane.apply([...crds, ...rbac, namespace, binding(nsoAccount.name, nsoAccount.namespace)] as Installable[])
  const connections: ApiConnection[] = [plane.connection]
  const actor = async (user: string, kubeconfig: string): Promise<Actor> => {
    const connection = await connect(kubeconfig)
    connections.push(connection)
    return { user, connection }
  }
  const accountActor = async ({ namespace, name }: { namespace: string; name: string }) =>
    actor(`system:serviceaccount:${namespace}:${name}`, await plane.kubeconfigFor({ serviceAccount: { namespace, name } }))
  const parameters = ownershipParameters(enforcement, 'Deny')
  const parametersPath = `/api/v1/namespaces/${nsoAccount.namespace}/configmaps/${parameters.metadata.name}`
  return {
    plane,
    admin: { connection: plane.connection, user: 'admin' },
    nso: await accountActor(nsoAccount),
    async account(name) {
      await plane.apply([account(name), binding(name, othersNamespace)] as Installable[])
      return await accountActor({ namespace: othersNamespace, name })
    },
    person: async (user, ...groups) => actor(user, await plane.kubeconfigFor({ user, groups })),
    async setParameters({ mode, data }) {
      const body = { ...(mode !== undefined ? { metadata: { labels: { mode } } } : {}), ...(data ? { data } : {}) }
      await plane.connection.must({ method: 'PATCH', path: parametersPath, body, contentType: mergePatch })
    },
    async enforce() {
      await plane.apply([parameters, ...ownership] as Installable[])
      await untilInForce(plane)
    },
    async [Symbol.asyncDispose]() {
      for (const connection of connections) connection.close()
      await plane[Symbol.asyncDispose]()
    },
  }
}

export async function untilInForce({ kubeconfigPath }: Pick<Plane, 'kubeconfigPath'>): Promise<number> {
  const access = createAccessSource({ clock: systemClock, kubeconfig: kubeconfigPath })
  const transport = createHttpTransport({ access, clock: systemClock, userAgent: 'ownership-test' })
  try {
    const client = createClient(transport, { clock: systemClock, jitter: Math.random })
    const signal = AbortSignal.timeout(60_000)
    return await ownershipInForce({ client, clock: systemClock, enforcement, probes: ownershipProbes, signal })
  } finally {
    await transport.close()
  }
}
