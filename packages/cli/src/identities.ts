/** A kubeconfig for a service account on any cluster, kept valid by asking for a new token before half of its life is over. */
import { type Access, connect, readKubeconfig, writeKubeconfig } from 'kube-localplane'

export type Account = { namespace: string; name: string }

const wantedSeconds = 24 * 3600

/**
 * Writes the kubeconfig and resolves with the milliseconds after which it wants to be written again. Reads the processes that
 * use it make pick up the new token (they read it again each half minute, and after a 401).
 */
export async function writeAccountKubeconfig(adminKubeconfig: string, account: Account, file: string): Promise<number> {
  const admin: Access = await readKubeconfig(adminKubeconfig)
  const { token, seconds } = await requestToken(adminKubeconfig, account)
  await writeKubeconfig(file, {
    url: admin.url,
    ...(admin.ca === undefined ? {} : { ca: admin.ca }),
    ...(admin.insecure === undefined ? {} : { insecure: admin.insecure }),
    credential: { token },
    cluster: 'cluster',
    user: `system:serviceaccount:${account.namespace}:${account.name}`,
  })
  return (seconds / 2) * 1000
}

async function requestToken(adminKubeconfig: string, { namespace, name }: Account): Promise<{ token: string; seconds: number }> {
  const connection = await connect(adminKubeconfig)
  try {
    const answer = await connection.must({
      method: 'POST',
      path: `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: wantedSeconds } },
    })
    const { token, expirationTimestamp } = (answer.status ?? {}) as { token?: string; expirationTimestamp?: string }
    if (!token || !expirationTimestamp) throw new Error(`the server gave no token for ${namespace}/${name}`)
    return { token, seconds: Math.max(600, (Date.parse(expirationTimestamp) - Date.now()) / 1000) }
  } finally {
    connection.close()
  }
}
