/** What can be known before the work begins, so that nobody waits for minutes to hear it. Each check rejects with the paragraph to show. */
import { closeSync, existsSync, openSync, rmSync, statfsSync } from 'node:fs'
import { connect, LocalplaneError, readKubeconfig } from 'kube-localplane'
import { Explained, reasonOf } from './failure.ts'

const answerWithinMs = 15_000
const neededMebibytes = 300

/** Opens it for writing, as the end of the run will; leaves what stands there as it is. */
export function requireWritable(file: string): void {
  const stood = existsSync(file)
  try {
    closeSync(openSync(file, 'a'))
    if (!stood) rmSync(file)
  } catch (cause) {
    throw new Explained(
      `The report cannot be written to ${file} (${reasonOf(cause)}). Nothing was started. Choose another file with --report.`,
      { cause },
    )
  }
}

/** `free` answers the mebibytes that this user may still write where `folder` is. */
export function requireSpace(folder: string, free = freeMebibytes): void {
  const available = free(folder)
  if (available >= neededMebibytes) return
  throw new Explained(
    `There are ${available} MiB free where ${folder} is, and a running system needs ${neededMebibytes} for its data and logs. ` +
      'Make room, or set XDG_STATE_HOME to a folder on another disk.',
  )
}

function freeMebibytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return Math.floor((bavail * bsize) / 2 ** 20)
}

/** The kubeconfig can be read, its server answers in time, and its user may install CRDs and roles. */
export async function requireCluster(file: string, signal: AbortSignal, withinMs = answerWithinMs): Promise<void> {
  const access = await readKubeconfig(file).catch((cause: unknown) => {
    throw new Explained(`${file} is no kubeconfig that can be used: ${reasonOf(cause)}`, { cause })
  })
  const connection = await connect(file)
  const limit = AbortSignal.timeout(withinMs)
  try {
    const answer = await connection.must({
      method: 'POST',
      path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
      body: {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        spec: { resourceAttributes: { group: '*', resource: '*', verb: '*' } },
      },
      signal: AbortSignal.any([signal, limit]),
    })
    const { allowed } = answer.status as { allowed?: boolean }
    if (allowed) return
  } catch (cause) {
    signal.throwIfAborted()
    const reason = limit.aborted ? `no answer within ${withinMs / 1000} s` : reasonOf(cause)
    const isRefusal = cause instanceof LocalplaneError && cause.code === 'REQUEST_REFUSED'
    throw new Explained(
      isRefusal
        ? `The cluster of ${file} (${access.url}) refuses this user: ${reason}`
        : `The cluster of ${file} does not answer at ${access.url}: ${reason}. Check that it runs and that this machine reaches it.`,
      { cause },
    )
  } finally {
    connection.close()
  }
  throw new Explained(
    `The user of ${file} may not do everything at ${access.url}: installing CRDs, roles and policies needs an administrator (cluster-admin).`,
  )
}
