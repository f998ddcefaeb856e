/** A kubeconfig for a service account on any cluster, kept valid by asking for a new token before half of its life is over. */
import { systemClock } from 'kube-control-loop'
import { type Access, connect, readKubeconfig, writeKubeconfig } from 'kube-localplane'

export type Account = { namespace: string; name: string }

const wantedSeconds = 24 * 3600

export type KeepIdentity = {
  kubeconfigPath: string
  account: Account
  file: string
  /** Where the account goes instead of the cluster's own address: to what stands in front of it on this machine. */
  through?: string | undefined
  log: (line: string) => void
}

/**
 * Writes the kubeconfig now, and again before its token is half through, until stopped. The processes that use it read it again
 * each half minute, and after a 401.
 */
export async function keepIdentity({
  kubeconfigPath,
  account,
  file,
  through,
  log,
}: KeepIdentity): Promise<{ path: string; stop(): void }> {
  let stopped = false
  let cancel = () => {}
  const renewAfter = (ms: number) => {
    if (!stopped) cancel = systemClock.after(ms, () => void renew())
  }
  const renew = async () => {
    try {
      renewAfter(await writeAccountKubeconfig({ kubeconfigPath, account, file, through }))
    } catch (error) {
      if (!stopped) log(`no new token for ${account.name} (${String(error)}); trying again in a minute`)
      renewAfter(60_000)
    }
  }
  renewAfter(await writeAccountKubeconfig({ kubeconfigPath, account, file, through }))
  return {
    path: file,
    stop() {
      stopped = true
      cancel()
    },
  }
}

/** Resolves with the milliseconds after which it wants to be written again. */
async function writeAccountKubeconfig(request: Omit<KeepIdentity, 'log'>): Promise<number> {
  const { kubeconfigPath, account, file, through } = request
  const { url, ca, insecure }: Access = await readKubeconfig(kubeconfigPath)
  const { token, seconds } = await requestToken(kubeconfigPath, account)
  const trust = { ...(ca === undefined ? {} : { ca }), ...(insecure === undefined ? {} : { insecure }) }
  await writeKubeconfig(file, {
    // On this machine, without TLS, there is nothing to verify, and some clients want to be told so.
    ...(through === undefined ? { url, ...trust } : { url: through, insecure: true }),
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
