/**
 * Takes up an IPClaim that stands from before, on the way to an interface that will list it. It is written to first, so that
 * every deletion decided earlier is refused: by a pass that rolled back, by a process that is dead and whose request is still on
 * its way. Whoever only looks whether an address stands writes nothing.
 */
import { ApiError, keyOf } from 'kube-control-loop'
import { IPClaim } from 'kube-ipam'
import { changeEntries } from '../../json-patch.ts'
import { takenUpAt } from './ip-claim.ts'
import { fieldManager, type IpamParts } from './parts.ts'
import { raced } from './raced.ts'

/**
 * `stands`: as read live. Answers it as it stands then. Throws WriteRaced when it is gone or moved, to be looked at anew, and
 * what the service answers else.
 */
export async function takeUp({ service }: IpamParts, stands: IPClaim, signal: AbortSignal): Promise<IPClaim> {
  const { uid, resourceVersion, annotations } = stands.metadata
  const { claims, client } = service
  const done = claims.writing(keyOf(stands))
  try {
    const operations = [
      { op: 'test', path: '/metadata/uid', value: uid },
      // What was read is never what the annotation says: writing it moved the version.
      ...changeEntries('/metadata/annotations', annotations, { [takenUpAt]: resourceVersion }),
    ] as const
    const taken = await client.jsonPatch(IPClaim, stands.metadata, operations, { fieldManager }, signal)
    claims.absorb(taken)
    return taken
  } catch (error) {
    if (!(error instanceof ApiError) || !isRaced(error)) throw error
    if (error.status === 404) claims.absorbGone(stands)
    throw raced(service, { verb: 'patch', kind: IPClaim, object: stands, cause: 'stale' })
  } finally {
    done()
  }
}

/** A failed test says nothing of any field; a refusal of the server's schema or admission does. */
function isRaced({ status, isStatus, causes }: ApiError): boolean {
  return isStatus && (status === 404 || status === 409 || (status === 422 && causes.length === 0))
}
