/** Lists of any length, page by page: neither the server nor this process ever holds more than one page of it. */
import { ApiError, apiVersionOf, type Client, type Kind, type KubeObject, pathOf } from 'kube-control-loop'
import { Explained } from './failure.ts'
import { isFields } from './owners/stored.ts'

const pageSize = '500'

type Page = { items: KubeObject[]; metadata?: { continue?: string } }

/** A page of a login, with status 200, must not pass for a list of nothing. An empty list of some servers has null for items. */
function pageIn(answer: unknown, path: string): Page {
  const isList = isFields(answer) && typeof answer.kind === 'string' && answer.kind.endsWith('List')
  if (!isList) throw new Explained(`What answers at this address is no API server: it has no list for ${path}.`)
  return { ...answer, items: (answer.items ?? []) as KubeObject[] }
}

async function* pagesOf(client: Client, kind: Kind, namespace: string | undefined, signal: AbortSignal) {
  const named = { apiVersion: apiVersionOf(kind), kind: kind.kind }
  const path = pathOf(kind, namespace === undefined ? {} : { namespace })
  let token: string | undefined
  do {
    const query = { limit: pageSize, ...(token === undefined ? {} : { continue: token }) }
    const { items, metadata } = pageIn(await client.raw({ method: 'GET', path, query }, signal), path)
    yield items.map((item): KubeObject => ({ ...named, ...item }))
    token = metadata?.continue || undefined
  } while (token !== undefined)
}

export type Listing = { client: Client; kind: Kind; namespace?: string | undefined }

/**
 * Takes a value from every object of the list, in its order. A list whose next page is no longer to be had (410) is begun
 * anew, as often as that happens: it is rare. Rejects with `Explained` what is no answer of an API server.
 */
export async function collect<T>(
  { client, kind, namespace }: Listing,
  take: (object: KubeObject) => readonly T[],
  signal: AbortSignal,
): Promise<T[]> {
  for (;;) {
    const taken: T[] = []
    try {
      for await (const page of pagesOf(client, kind, namespace, signal)) for (const object of page) taken.push(...take(object))
      return taken
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 410)) throw error
    }
  }
}
