/** Which requests are writes that a crash can fall on, and which of them are counted. */

/** A request that may change what is stored. */
export type Write = {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly resource: string
  readonly subresource?: string
  readonly namespace?: string
  /** Absent: in the body of a POST, or a whole collection. */
  readonly name?: string
  /** Of a DELETE: the very object that is meant. */
  readonly uid?: string
  readonly dryRun: boolean
}

const methods: readonly string[] = ['POST', 'PUT', 'PATCH', 'DELETE']
const isMethod = (text: string): text is Write['method'] => methods.includes(text)

/** Undefined for a read. `url` is the request's path with its query. */
export function writeOf(method: string, url: string, body = ''): Write | undefined {
  if (!isMethod(method)) return undefined
  const { pathname, searchParams } = new URL(url, 'http://loopback')
  const parts = pathname.split('/').filter(Boolean).map(decodeURIComponent)
  // api/VERSION/… or apis/GROUP/VERSION/…
  const below = parts.slice(parts[0] === 'api' ? 2 : 3)
  const isInNamespace = below[0] === 'namespaces' && below.length > 2
  const [resource = pathname, name, subresource] = isInNamespace ? below.slice(2) : below
  return {
    method,
    resource,
    ...(subresource === undefined ? {} : { subresource }),
    ...(isInNamespace ? { namespace: below[1] as string } : {}),
    ...(name === undefined ? {} : { name }),
    ...(method === 'DELETE' ? meant(body) : {}),
    dryRun: searchParams.has('dryRun'),
  }
}

function meant(body: string): { uid?: string } {
  if (body === '') return {}
  const { preconditions } = JSON.parse(body) as { preconditions?: { uid?: string } }
  return preconditions?.uid === undefined ? {} : { uid: preconditions.uid }
}

export const isRead = (method: string): boolean => !isMethod(method)

/** `patch networkinterfaces/status web-0`; without the namespace, whose name is another in each run. */
export function showWrite({ method, resource, subresource, name }: Write): string {
  const what = subresource === undefined ? resource : `${resource}/${subresource}`
  return [method.toLowerCase(), what, ...(name === undefined ? [] : [name])].join(' ')
}

/**
 * Why a write is not one of those at which a process is killed: it changes nothing that a scenario's world is made of. Undefined:
 * it counts.
 */
export function leftOutBecause({ resource, dryRun }: Write): string | undefined {
  if (dryRun) return 'dry runs'
  if (resource === 'events') return 'Events'
  if (resource === 'leases') return 'Leases of leader election'
  if (resource.startsWith('selfsubject')) return 'reviews of own permissions'
  return undefined
}
