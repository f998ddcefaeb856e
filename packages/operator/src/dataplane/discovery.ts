/** What the API server serves under a kind's name. Source: Kubernetes discovery (APIGroup, APIResourceList). */
import { ApiError, type Client, type Kind } from 'kube-control-loop'
import type { KindRef } from './types.ts'

export type Discovered =
  | { state: 'served'; kind: Kind }
  | { state: 'not-namespaced' }
  /** The answer lacks the kind: no object of it can exist. */
  | { state: 'unserved' }

/** Asks the server. Throws when it cannot be asked: then nothing is known, and nothing may be concluded. */
export async function discover(client: Client, ref: KindRef, signal: AbortSignal): Promise<Discovered> {
  const [group, version] = ref.apiVersion.includes('/') ? ref.apiVersion.split('/') : ['', ref.apiVersion]
  if (!version || group === undefined) return { state: 'unserved' }
  const answer = await ask(client, group ? `/apis/${group}/${version}` : `/api/${version}`, signal)
  const found = resourcesIn(answer).find((resource) => resource.kind === ref.kind && !resource.name.includes('/'))
  if (!found) return { state: 'unserved' }
  if (!found.namespaced) return { state: 'not-namespaced' }
  return { state: 'served', kind: { group, version, kind: ref.kind, plural: found.name, scope: 'Namespaced' } }
}

/** The version that the server prefers for a group, as a kind's reference; undefined when it serves no such group. */
export async function preferred(
  client: Client,
  of: { apiGroup: string; kind: string },
  signal: AbortSignal,
): Promise<KindRef | undefined> {
  const answer = await ask(client, `/apis/${of.apiGroup}`, signal)
  const apiVersion = (answer as { preferredVersion?: { groupVersion?: string } } | undefined)?.preferredVersion?.groupVersion
  return apiVersion ? { apiVersion, kind: of.kind } : undefined
}

/** What else the kind's group is served as, the server's preference first. */
export async function versionsOf(client: Client, { apiVersion }: KindRef, signal: AbortSignal): Promise<readonly string[]> {
  const [group] = apiVersion.split('/')
  const answer = (await ask(client, `/apis/${group}`, signal)) as { versions?: readonly { groupVersion?: unknown }[] } | undefined
  const all = Array.isArray(answer?.versions) ? answer.versions.map(({ groupVersion }) => groupVersion) : []
  return all.filter((one): one is string => typeof one === 'string' && one !== apiVersion)
}

/** Undefined on 404, which here is the answer of a server that serves no such thing. */
async function ask(client: Client, path: string, signal: AbortSignal): Promise<unknown> {
  try {
    return await client.raw({ method: 'GET', path }, signal)
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined
    throw error
  }
}

type Resource = { name: string; kind: string; namespaced: boolean }

function resourcesIn(answer: unknown): readonly Resource[] {
  const { resources } = (answer ?? {}) as { resources?: readonly Resource[] }
  return Array.isArray(resources) ? resources : []
}
