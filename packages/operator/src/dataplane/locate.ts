/** Where the objects of a kind can be asked for, when the version that a DataPlane names may no longer be served. */
import type { Client, Kind } from 'kube-control-loop'
import type { Definitions } from './definitions.ts'
import { discover, versionsOf } from './discovery.ts'
import type { KindRef } from './types.ts'

/** Objects of the kind may be stored, and no version of it is served: nothing can be said of them. */
export class KindUnreachable extends Error {
  override readonly name = 'KindUnreachable'
  readonly code = 'KIND_UNREACHABLE'
  constructor({ apiVersion, kind }: KindRef) {
    super(`kind ${kind} (${apiVersion}) is defined, but no version of it is served: its objects may still stand`)
  }
}

export type LocatorParts = { readonly client: Client; readonly definitions: Pick<Definitions, 'stands'> }

/**
 * The kind in its own version or else in another that is served; undefined: it has no objects, since the server has no such
 * kind. Throws KindUnreachable, and what the server answers when it cannot be asked.
 */
export async function locate(
  { client, definitions }: LocatorParts,
  ref: KindRef,
  signal: AbortSignal,
): Promise<Kind | undefined> {
  for (const apiVersion of [ref.apiVersion, ...(await versionsOf(client, ref, signal))]) {
    const found = await discover(client, { ...ref, apiVersion }, signal)
    if (found.state === 'served') return found.kind
    if (found.state === 'not-namespaced') return undefined
  }
  if (definitions.stands(ref)) throw new KindUnreachable(ref)
  return undefined
}
