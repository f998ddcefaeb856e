/** A kubeconfig for a service account on any cluster, kept valid by asking for a new token before half of its life is over. */
import { systemClock } from 'kube-control-loop'
import { type Access, connect, readKubeconfig, writeKubeconfig } from 'kube-localplane'

export type Account = { namespace: string; name: string }

const wantedSeconds = 24 * 3600

export type KeepIdentity = { kubeconfigPath: string; account: Account; file: string; log: (line: string) => void }

/**
 * Writes the kubeconfig now, and again before its token is half through, until stopped. The processes that use it read it again
 * each half minute, and after a 401.
 */
export async function keepIdentity({
  kubeconfigPath,
  account,
  file,
  log,
}: KeepIdentity): Promise<{ path: string; stop(): void }> {
  let stopped = false
  let cancel = () => {}
  const renewAfter = (ms: number) => {
    if (!stopped) cancel = systemClock.after(ms, () => void renew())
  }
  const renew = async () => {
    try {
      renewAfter(await writeAccountKubeconfig(kubeconfigPath, account, file))
    } catch (error) {
      if (!stopped) log(`no new token for ${account.name} (${String(error)}); trying again in a minute`)
      renewAfter(60_000)
    }
  }
  renewAfter(await writeAccountKubeconfig(kubeconfigPath, account, file))
  return {
    path: file,
    stop() {
      stopped = true
      cancel()
    },
  }
}

/** Resolves with the milliseconds after which it wants to be written again. */
async function writeAccountKubeconfig(adminKubeconfig: string, account: Account, file: string): Promise<number> {
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
