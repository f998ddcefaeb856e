/** The cluster that commands which only look at things ask: the running system's, else the one that kubectl would ask. */
import {
  ApiError,
  type Client,
  ConnectionBroken,
  createAccessSource,
  createClient,
  createHttpTransport,
  systemClock,
  type Transport,
} from 'kube-control-loop'
import { Explained, reasonOf } from './failure.ts'
import { findCurrent } from './running-instance.ts'

export type Cluster = {
  readonly client: Client
  readonly transport: Transport
  /** Of the kubeconfig's context; `default` where it names none. */
  readonly namespace: string
  close(): Promise<void>
}

export type ClusterOptions = {
  kubeconfig?: string | undefined
  /** How long a call keeps trying while the server is starting, stopping or busy. */
  retryForMs?: number
}

/** Rejects with `Explained` when there is no access to be found. */
export async function openCluster({ kubeconfig, retryForMs = 3000 }: ClusterOptions = {}): Promise<Cluster> {
  const file = kubeconfig ?? runningKubeconfig()
  const access = createAccessSource({ clock: systemClock, ...(file === undefined ? {} : { kubeconfig: file }) })
  const { namespace } = await access.current().catch((cause: unknown) => {
    const where =
      file === undefined ? 'nothing runs here, and neither $KUBECONFIG nor ~/.kube/config tells where a cluster is' : file
    throw new Explained(`No cluster to ask: ${where} (${reasonOf(cause).split('\n', 1)[0]}).`, { cause })
  })
  const transport = createHttpTransport({ access, clock: systemClock, userAgent: 'nso-cli/0.1.0' })
  return {
    client: createClient(transport, { clock: systemClock, jitter: Math.random, retryForMs }),
    transport,
    namespace: namespace ?? 'default',
    close: () => transport.close(),
  }
}

/** A home that cannot be written has no running system in it. */
function runningKubeconfig(): string | undefined {
  try {
    return findCurrent()?.kubeconfigPath
  } catch {
    return undefined
  }
}

/** Why something could not be read: `forbidden`, `not served`, or else a fault. */
export type Unread = { why: 'forbidden' | 'not served' | 'failed'; message: string }

/** Takes apart why a read failed. What is no answer of a server is thrown again, as a sentence where it can be. */
export function unreadBecause(error: unknown): Unread {
  if (error instanceof ConnectionBroken) {
    throw new Explained(`The API server does not answer (${error.message}).`, { cause: error })
  }
  if (error instanceof Error && error.name === 'TimeoutError') {
    throw new Explained('The API server has not answered in time.', { cause: error })
  }
  if (!(error instanceof ApiError)) throw error
  if (error.status === 401)
    throw new Explained('The API server does not know these credentials (401 Unauthorized).', { cause: error })
  if (error.status === 403) return { why: 'forbidden', message: error.text }
  if (error.status === 404) return { why: 'not served', message: error.text }
  return { why: 'failed', message: `${error.status} ${error.text}` }
}
