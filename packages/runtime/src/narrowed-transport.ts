/** For tests: a process that would follow all namespaces sees one, so that many can run side by side on one control plane. */
import type { ApiRequest, Transport } from './transport.ts'

const collection = /^\/apis\/[^/]+\/[^/]+\/([^/]+)$/

/**
 * Lists and watches of whole kinds are asked for in `namespace` only. `cluster` names the kinds without a namespace: one object
 * of the kind is seen, or, where it says `all`, every one. Other requests pass as they are.
 */
export function narrowTransport(
  inner: Transport,
  namespace: string,
  cluster: Readonly<Record<string, { only: string } | 'all'>>,
): Transport {
  const narrow = (request: ApiRequest): ApiRequest => {
    const plural = request.method === 'GET' ? collection.exec(request.path)?.[1] : undefined
    if (plural === undefined) return request
    const seen = cluster[plural]
    if (seen === 'all') return request
    if (seen) return { ...request, query: { ...request.query, fieldSelector: `metadata.name=${seen.only}` } }
    return { ...request, path: request.path.replace(/[^/]+$/, `namespaces/${namespace}/${plural}`) }
  }
  return {
    send: (request, signal) => inner.send(narrow(request), signal),
    stream: (request, signal) => inner.stream(narrow(request), signal),
    close: () => inner.close(),
  }
}
