/**
 * Deletions at the service. One that was not answered may be carried out at any later time, by then also for a process that is
 * dead: so each names the version that was judged, and whoever takes up what stands writes to it first (take-up.ts). What was
 * decided before is refused then.
 */
import { ApiError, type Kind, type KubeObject } from 'kube-control-loop'
import type { IpamParts } from './parts.ts'
import { raced } from './raced.ts'

type Deletion<S, T> = {
  readonly kind: Kind<S, T>
  readonly judged: KubeObject<S, T>
  /** Whether one of another version, of the same uid, would be judged as that one was. */
  isAsJudged(live: KubeObject<S, T>): boolean
}

/** The version moves with each condition that somebody writes. */
const mostTries = 4

/**
 * Deletes exactly this one, as it was judged. Answers it as it stands afterwards (finalizers may hold it); undefined when it is
 * gone, or another has its name. Throws WriteRaced when it is to be judged anew.
 */
export async function removeJudged<S, T>(
  service: Pick<IpamParts['service'], 'client' | 'counts'>,
  { kind, judged, isAsJudged }: Deletion<S, T>,
  signal: AbortSignal,
): Promise<KubeObject<S, T> | undefined> {
  const { client } = service
  const { uid } = judged.metadata
  let { resourceVersion } = judged.metadata
  for (let tries = 1; tries <= mostTries; tries += 1) {
    try {
      const preconditions = { ...(uid ? { uid } : {}), ...(resourceVersion ? { resourceVersion } : {}) }
      return await client.remove(kind, judged.metadata, preconditions, signal)
    } catch (error) {
      if (!(error instanceof ApiError) || (error.status !== 404 && !isMoved(error))) throw error
    }
    // Also after a 404: a server that does not serve the kind for a moment says so too.
    const live = await client.find(kind, judged.metadata, signal)
    if (!live || live.metadata.uid !== uid) return undefined
    if (live.metadata.deletionTimestamp !== undefined) return live
    if (!isAsJudged(live)) break
    resourceVersion = live.metadata.resourceVersion
  }
  throw raced(service, { verb: 'delete', kind, object: judged, cause: 'stale' })
}

/** A precondition does not hold: another uid or version stands. A refusal of the service's own says something else. */
function isMoved({ status, text }: ApiError): boolean {
  return status === 409 && /precondition/i.test(text)
}
