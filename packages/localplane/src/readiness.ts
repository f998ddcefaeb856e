/** When a server that was started can be used. */
import type { ApiConnection } from './api-connection.ts'
import type { Child } from './processes.ts'
import { eventually } from './wait.ts'

const timeoutMs = 60_000

/**
 * readyz says that the start-up hooks have run; two probes say that a client can work: the store has the default namespace,
 * and RBAC allows an ordinary user what it should. Resolves with how the server ended when it did so before.
 */
export async function waitUntilServing(
  server: Child,
  connection: ApiConnection,
  signal?: AbortSignal,
): Promise<{ serving: true } | { ended: string }> {
  let ended: string | undefined
  void server.exited.then(({ code, signal: by }) => {
    ended = `ended (${by ?? `status ${code}`})`
  })
  const probe = async () => {
    if (ended) return { ended }
    if ((await connection.request({ path: '/readyz' })).status !== 200) return undefined
    if ((await connection.request({ path: '/api/v1/namespaces/default' })).status !== 200) return undefined
    return (await allowsOrdinaryUsers(connection)) && { serving: true as const }
  }
  return await eventually('kube-apiserver is ready', probe, { timeoutMs, everyMs: 50, ...(signal ? { signal } : {}) })
}

async function allowsOrdinaryUsers(connection: ApiConnection): Promise<boolean> {
  const spec = { user: 'probe', groups: ['system:authenticated'], nonResourceAttributes: { path: '/version', verb: 'get' } }
  const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec }
  const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
  const { status } = await connection.must({ method: 'POST', path, body })
  return (status as { allowed?: boolean } | undefined)?.allowed === true
}
