/** What NSO itself may do with a data plane's kinds. Source: authorization.k8s.io/v1 SelfSubjectAccessReview. */
import { labels } from '@nso/api'
import type { Client, Kind } from 'kube-control-loop'

export type Verb = 'get' | 'list' | 'watch' | 'create' | 'patch' | 'delete'

/** What is done with attachments; network objects are made, never changed, and deleted with their DataPlane. */
export const attachmentVerbs: readonly Verb[] = ['get', 'list', 'watch', 'create', 'patch', 'delete']
export const networkVerbs: readonly Verb[] = ['get', 'list', 'watch', 'create', 'delete']

export type Needed = { readonly kind: Kind; readonly verbs: readonly Verb[] }

export type Missing = { readonly kind: Kind; readonly verbs: readonly Verb[] }

/** Asks for each verb, in all namespaces. Rejects when the server cannot be asked. */
export async function review(client: Client, needed: readonly Needed[], signal: AbortSignal): Promise<readonly Missing[]> {
  const missing: Missing[] = []
  for (const { kind, verbs } of needed) {
    const answers = await Promise.all(verbs.map((verb) => isAllowed(client, kind, verb, signal)))
    const denied = verbs.filter((_, index) => !answers[index])
    if (denied.length > 0) missing.push({ kind, verbs: denied })
  }
  return missing
}

async function isAllowed(client: Client, { group, plural }: Kind, verb: Verb, signal: AbortSignal): Promise<boolean> {
  const apiVersion = 'authorization.k8s.io/v1'
  const answer = await client.raw(
    {
      method: 'POST',
      path: `/apis/${apiVersion}/selfsubjectaccessreviews`,
      body: { apiVersion, kind: 'SelfSubjectAccessReview', spec: { resourceAttributes: { group, resource: plural, verb } } },
    },
    signal,
  )
  return (answer as { status?: { allowed?: boolean } } | undefined)?.status?.allowed === true
}

/** For people: what is missing and where it is granted. */
export function explain(missing: readonly Missing[]): string {
  const what = missing.map(({ kind, verbs }) => `${verbs.join(', ')} ${kind.plural}.${kind.group}`).join('; ')
  return `NSO may not ${what}: grant it in a ClusterRole with the label ${labels.aggregateToNso}: "true"`
}
