/** All that the server serves and that can be listed and watched. Source: Kubernetes discovery. */
import type { Client, Kind } from 'kube-control-loop'

type Resource = { name: string; kind: string; namespaced: boolean; verbs?: readonly string[] }
type Group = { name: string; preferredVersion: { groupVersion: string } }

/** Preferred versions, without subresources. A group whose server does not answer is left out. */
export async function servedKinds(client: Client, signal: AbortSignal): Promise<readonly Kind[]> {
  const { groups = [] } = (await client.raw({ method: 'GET', path: '/apis' }, signal)) as { groups?: readonly Group[] }
  const versions = ['v1', ...groups.map(({ preferredVersion }) => preferredVersion.groupVersion)]
  const found = await Promise.all(versions.map((groupVersion) => kindsOf(client, groupVersion, signal).catch(() => [])))
  signal.throwIfAborted()
  return found.flat()
}

async function kindsOf(client: Client, groupVersion: string, signal: AbortSignal): Promise<Kind[]> {
  const path = groupVersion.includes('/') ? `/apis/${groupVersion}` : `/api/${groupVersion}`
  const { resources = [] } = (await client.raw({ method: 'GET', path }, signal)) as { resources?: readonly Resource[] }
  const [group = '', version = ''] = groupVersion.includes('/') ? groupVersion.split('/') : ['', groupVersion]
  return resources
    .filter(({ name, verbs = [] }) => !name.includes('/') && verbs.includes('list') && verbs.includes('watch'))
    .map(({ name, kind, namespaced }) => ({
      ...{ group, version, kind, plural: name },
      scope: namespaced ? ('Namespaced' as const) : ('Cluster' as const),
    }))
}

/** The names of a group version’s resources with their subresources, e.g. `wires/status`. */
export async function resourceNames(client: Client, { group, version }: Kind, signal: AbortSignal): Promise<readonly string[]> {
  const answer = await client.raw({ method: 'GET', path: `/apis/${group}/${version}` }, signal)
  return ((answer as { resources?: readonly Resource[] }).resources ?? []).map(({ name }) => name)
}
