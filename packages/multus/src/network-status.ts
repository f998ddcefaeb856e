/**
 * What the annotations of a Pod say about network definitions: which it asks for, and which Multus has attached, with what.
 * Anyone who may write the Pod may have written them: nothing is taken for granted, and nothing throws.
 * Source: Kubernetes Network Custom Resource Definition De-facto Standard, version 1.3 (sections 4 and 5).
 */

/** Annotations of a Pod. The first is its author's, the second Multus'. */
export const podAnnotations = {
  networks: 'k8s.v1.cni.cncf.io/networks',
  networkStatus: 'k8s.v1.cni.cncf.io/network-status',
} as const

/** One entry of the network-status annotation, as far as it is well formed. */
export type AttachedNetwork = {
  /** `namespace/name` of the definition; a bare name for the cluster's own network. */
  readonly name: string
  readonly interface: string | undefined
  /** Without prefix length. */
  readonly ips: readonly string[]
}

export type NetworkStatus =
  | { readonly is: 'read'; readonly attached: readonly AttachedNetwork[] }
  | { readonly is: 'absent' }
  /** Not as the standard says; `why` is one phrase for people. */
  | { readonly is: 'malformed'; readonly why: string }

/** What is looked at of a Pod. */
export type AnnotatedPod = {
  readonly metadata: { readonly namespace?: string; readonly annotations?: Readonly<Record<string, string>> }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** For messages: what somebody wrote, without what a terminal would obey, and not longer than this. */
export const printable = (text: string, longest: number): string => text.slice(0, longest).replaceAll(/[^\x21-\x7e]/g, '?')

/** Reads the network-status annotation. Unknown members of an entry are left alone. */
export function networkStatusOf({ metadata }: AnnotatedPod): NetworkStatus {
  const text = metadata.annotations?.[podAnnotations.networkStatus]
  if (text === undefined || text.trim() === '') return { is: 'absent' }
  let entries: unknown
  try {
    entries = JSON.parse(text)
  } catch {
    return { is: 'malformed', why: 'it is no JSON' }
  }
  if (!Array.isArray(entries)) return { is: 'malformed', why: 'it is no list' }
  const attached: AttachedNetwork[] = []
  for (const entry of entries) {
    if (!isRecord(entry) || typeof entry.name !== 'string') return { is: 'malformed', why: 'an entry has no name' }
    const { name, interface: device, ips = [] } = entry
    const areTexts = Array.isArray(ips) && ips.every((ip): ip is string => typeof ip === 'string')
    if (!areTexts) return { is: 'malformed', why: `the entry of ${printable(name, 80)} has no list of addresses` }
    attached.push({ name, interface: typeof device === 'string' && device !== '' ? device : undefined, ips })
  }
  return { is: 'read', attached }
}

/** Definitions that a Pod asks for, as `namespace/name`. An annotation that makes no sense asks for none: Multus refuses such a Pod. */
export function requestedDefinitions({ metadata }: AnnotatedPod): readonly string[] {
  const text = metadata.annotations?.[podAnnotations.networks]?.trim() ?? ''
  const here = metadata.namespace ?? ''
  if (text.startsWith('[')) return fromList(text, here)
  return text
    .split(',')
    .map((item) => item.trim())
    .flatMap((item) => {
      // [namespace/]name[@device]
      const [, namespace = here, name] = /^(?:([^/@\s]+)\/)?([^/@\s]+)(?:@[^/@\s]*)?$/.exec(item) ?? []
      return name === undefined ? [] : [`${namespace}/${name}`]
    })
}

function fromList(text: string, here: string): string[] {
  try {
    const items: unknown = JSON.parse(text)
    if (!Array.isArray(items)) return []
    return items.flatMap((item) => {
      if (!isRecord(item) || typeof item.name !== 'string') return []
      return [`${typeof item.namespace === 'string' && item.namespace !== '' ? item.namespace : here}/${item.name}`]
    })
  } catch {
    return []
  }
}
