/** What can be known before the first case, so that no rule is said to be broken by what the suite itself lacks. */
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import type { Client, Kind } from 'kube-control-loop'
import type { Bench } from './bench.ts'
import { NothingTried } from './verdict.ts'

type Attributes = { group: string; resource: string; subresource?: string; verb: string }

const rbac = ['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings']

/** What the suite does itself. */
function needed({ plane, attachmentKind, networkKind }: Pick<Bench, 'plane' | 'attachmentKind' | 'networkKind'>): Attributes[] {
  const on = (group: string, resource: string, verbs: readonly string[]) => verbs.map((verb) => ({ group, resource, verb }))
  const asked = [attachmentKind, networkKind].filter((kind): kind is Kind => kind !== undefined)
  const reviewed = plane.user !== undefined || plane.requester !== undefined
  return [
    ...on('', 'namespaces', ['create', 'delete']),
    ...on('', 'configmaps', ['create']),
    ...asked.flatMap(({ group, plural }) => [
      ...on(group, plural, ['get', 'list', 'watch', 'create', 'patch', 'delete']),
      { group, resource: plural, subresource: 'status', verb: 'patch' },
    ]),
    ...(reviewed ? on('authorization.k8s.io', 'subjectaccessreviews', ['create']) : []),
    ...(plane.user === undefined ? [] : rbac.flatMap((resource) => on('rbac.authorization.k8s.io', resource, ['list']))),
  ]
}

/** Rejects with `NothingTried` and all that is missing: permissions of the suite’s user, the audit log. */
export async function requireMeans(bench: Bench, signal: AbortSignal): Promise<void> {
  const { plane, client } = bench
  if (plane.auditLog !== undefined) await requireReadable(plane.auditLog)
  const missing: string[] = []
  for (const attributes of needed(bench)) {
    if (await isAllowed(client, attributes, signal)) continue
    const { group, resource, subresource, verb } = attributes
    missing.push(`${verb} ${resource}${subresource ? `/${subresource}` : ''}${group ? ` (${group})` : ''}`)
  }
  if (missing.length > 0)
    throw new NothingTried(`The suite needs an administrator’s rights; this user may not ${missing.join(', ')}.`)
}

async function requireReadable(file: string): Promise<void> {
  try {
    await access(file, constants.R_OK)
  } catch (cause) {
    throw new NothingTried(`The audit log cannot be read: ${cause instanceof Error ? cause.message : String(cause)}.`, { cause })
  }
}

/** In all namespaces. Source: authorization.k8s.io/v1 SelfSubjectAccessReview. */
async function isAllowed(client: Client, resourceAttributes: Attributes, signal: AbortSignal): Promise<boolean> {
  const apiVersion = 'authorization.k8s.io/v1'
  const body = { apiVersion, kind: 'SelfSubjectAccessReview', spec: { resourceAttributes } }
  const answer = await client.raw({ method: 'POST', path: `/apis/${apiVersion}/selfsubjectaccessreviews`, body }, signal)
  return (answer as { status?: { allowed?: boolean } }).status?.allowed === true
}
