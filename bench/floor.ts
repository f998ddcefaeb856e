/** The floor of a run: the chain's writes without logic, three processes as in the real one, on the same control plane. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { isTrue } from '@nso/cli/run-samples'
import { keyFor } from 'kube-control-loop'
import { installManifests, type Plane } from 'kube-localplane'
import { floorKind, floorManifests } from './floor-kinds.ts'
import type { Orders } from './floor-process.ts'
import { replay } from './replay.ts'
import { bodyAt, type Templates } from './templates.ts'
import { seen } from './until.ts'
import { startUser } from './user.ts'

export type Floor = {
  /** Milliseconds from a claim's POST until its user sees the status that follows. */
  prepare(name: string): Promise<number>
  /** Milliseconds that the same writes take one client, `atOnce` at a time; `counts` by `verb resource`, for `claims` claims. */
  replay(counts: ReadonlyMap<string, number>, claims: number, atOnce: number): Promise<number>
  stop(): Promise<void>
}

export const floorAccount = { namespace: 'floor', name: 'floor' }
/** Nobody follows this one: bursts are replayed here. */
const burstNamespace = 'floor-burst'

/** Service account, namespace and kinds of the floor. Takes some seconds, since a new kind does. */
export async function installFloor(plane: Plane, signal: AbortSignal): Promise<void> {
  const { body } = await plane.connection.request({ path: '/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies' })
  const policies = (body as { items?: unknown[] } | undefined)?.items ?? []
  const subject = { kind: 'ServiceAccount', ...floorAccount }
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' }
  await installManifests(
    plane.kubeconfigPath,
    [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: floorAccount.namespace } },
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: burstNamespace } },
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata: floorAccount },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name: 'floor' },
        roleRef,
        subjects: [subject],
      },
      ...floorManifests(policies.length > 0),
    ],
    { signal },
  )
}

export async function startFloor(
  plane: Plane,
  given: { from: string; templates: Templates },
  signal: AbortSignal,
): Promise<Floor> {
  const { from, templates } = given
  const { namespace } = floorAccount
  // The same kind of identity as the real processes have: a token, checked and authorised with each request.
  const kubeconfig = await plane.kubeconfigFor({ serviceAccount: floorAccount })
  const orders = { kubeconfig, namespace, from, templates }
  const children = await Promise.all([
    startProcess({ ...orders, does: 'allocates' }),
    startProcess({ ...orders, does: 'attaches' }),
  ])
  const user = await startUser(plane.kubeconfigPath, { claims: floorKind('claim') }, namespace, signal)
  const { client } = user
  const { claims } = user.caches
  return {
    async prepare(name) {
      const body = bodyAt(templates.claim, { from, to: name, namespace })
      const started = performance.now()
      const shown = seen([claims], () => isTrue(claims.get(keyFor(name, namespace)), 'Prepared'), `floor claim ${name}`, signal)
      await client.create(floorKind('claim'), body, { fieldManager: templates.claim.createdBy }, signal)
      return (await shown) - started
    },
    replay: (counts, count, atOnce) =>
      replay({ client, templates, from, namespace: burstNamespace }, { counts, claims: count, atOnce }, signal),
    async stop() {
      for (const child of children) child.disconnect()
      await user.stop()
    },
  }
}

async function startProcess(orders: Orders): Promise<ChildProcess> {
  const child = fork(path.join(import.meta.dirname, 'floor-process.ts'))
  child.send(orders)
  const [first] = await Promise.race([once(child, 'message'), once(child, 'exit')])
  if (first !== 'ready') throw new Error(`a process of the floor ended with status ${String(first)}`)
  return child
}
