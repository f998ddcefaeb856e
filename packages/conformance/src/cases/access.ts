/** Cases about who may do what, by the roles that stand and by the API server’s own word. */
import { group as requesterGroup, kinds as requesterKinds } from '@nso/api'
import type { Client, Kind, Manifest } from 'kube-control-loop'
import { permissionsOf, showGrant, touchesGroup } from 'kube-control-loop'
import { auditEnd, auditLines } from '../audit-log.ts'
import type { Bench } from '../bench.ts'
import { type Case, each } from '../case.ts'
import { fail, pass, skip } from '../verdict.ts'

const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'] as const

const noUser = 'the user that the data plane acts as is not known'

export const noPermission: Case = {
  name: 'no-permission',
  needs: [],
  async run({ plane, client }, signal) {
    if (plane.user === undefined) return skip(noUser)
    const account = accountOf(plane.user)
    const rbac = await rolesAndBindings(client, signal)
    const granted = account ? permissionsOf([{ path: 'the cluster', objects: rbac }], account) : []
    const reaching = granted.filter((grant) => touchesGroup(grant, requesterGroup))
    if (reaching.length > 0) return fail(`it is granted permissions on ${requesterGroup}`, reaching.map(showGrant))
    const allowed = await allowedOn(client, plane.user, signal)
    if (allowed.length > 0) return fail(`the API server allows it: ${allowed.join(', ')}`)
    return pass({ rules: granted.length, reviews: requests().length })
  },
}

type Request = { resource: string; subresource?: string; verb: string }

/** Any resource, and each one with its status, by every verb. */
const requests = (): Request[] =>
  verbs.flatMap((verb) => [
    { verb, resource: '*' },
    ...requesterKinds.flatMap(({ plural }) => [
      { verb, resource: plural },
      { verb, resource: plural, subresource: 'status' },
    ]),
  ])

async function allowedOn(client: Client, user: string, signal: AbortSignal): Promise<string[]> {
  const allowed: string[] = []
  await each(requests(), 16, async ({ verb, resource, subresource }) => {
    if (await may(client, user, { group: requesterGroup, resource, verb, ...(subresource ? { subresource } : {}) }, signal))
      allowed.push(`${verb} ${resource}${subresource ? `/${subresource}` : ''}`)
  })
  return allowed
}

/** In all namespaces. Source: authorization.k8s.io/v1 SubjectAccessReview. */
async function may(client: Client, user: string, resourceAttributes: Access, signal: AbortSignal): Promise<boolean> {
  const apiVersion = 'authorization.k8s.io/v1'
  const body = { apiVersion, kind: 'SubjectAccessReview', spec: { user, groups: groupsOf(user), resourceAttributes } }
  const answer = await client.raw({ method: 'POST', path: `/apis/${apiVersion}/subjectaccessreviews`, body }, signal)
  return (answer as { status?: { allowed?: boolean } }).status?.allowed === true
}

function accountOf(user: string): { namespace: string; name: string } | undefined {
  const [, namespace, name] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(user) ?? []
  return namespace !== undefined && name !== undefined ? { namespace, name } : undefined
}

function groupsOf(user: string): string[] {
  const account = accountOf(user)
  const own = account ? ['system:serviceaccounts', `system:serviceaccounts:${account.namespace}`] : []
  return [...own, 'system:authenticated']
}

const rbacKinds = [
  { plural: 'clusterroles', kind: 'ClusterRole' },
  { plural: 'clusterrolebindings', kind: 'ClusterRoleBinding' },
  { plural: 'roles', kind: 'Role' },
  { plural: 'rolebindings', kind: 'RoleBinding' },
] as const

/** As they stand. A binding to a role that does not exist grants nothing, and is left out. */
async function rolesAndBindings(client: Client, signal: AbortSignal): Promise<Manifest[]> {
  const apiVersion = 'rbac.authorization.k8s.io/v1'
  const lists = await Promise.all(
    rbacKinds.map(async ({ plural, kind }) => {
      const answer = await client.raw({ method: 'GET', path: `/apis/${apiVersion}/${plural}` }, signal)
      return ((answer as { items?: Manifest[] }).items ?? []).map((item): Manifest => ({ ...item, apiVersion, kind }))
    }),
  )
  const all = lists.flat()
  const exists = ({ roleRef, metadata }: Manifest): boolean => {
    const { kind, name } = roleRef as { kind: string; name: string }
    return all.some(
      (role) =>
        role.kind === kind &&
        role.metadata.name === name &&
        (kind === 'ClusterRole' || role.metadata.namespace === metadata.namespace),
    )
  }
  return all.filter((object) => object.roleRef === undefined || exists(object))
}

export const noRequest: Case = {
  name: 'no-request',
  needs: [],
  async run(bench, signal) {
    const { user, auditLog } = bench.plane
    if (user === undefined) return skip(noUser)
    if (auditLog === undefined) return skip('there is no audit log to look through')
    let requests = 0
    for await (const line of auditLines(auditLog, { to: await auditEnd(bench, signal), having: user })) {
      if (line.user !== user) continue
      requests++
      if (line.group === requesterGroup) return fail(`it asked: ${line.verb} ${line.uri}, answered ${line.code}`)
    }
    return requests === 0 ? skip(`the audit log has no request of ${user}`) : pass({ requestsLookedAt: requests })
  },
}

/** What is done with network objects; attachments are besides changed by JSON patch. */
const made = ['get', 'list', 'watch', 'create', 'delete'] as const

type Access = { group: string; resource: string; subresource?: string; verb: string }

/** What the requester works with, and what else there is to do with these kinds. */
function expected({ attachmentKind, networkKind }: Bench): { wanted: Access[]; unwanted: Access[] } {
  const each = (kind: Kind | undefined, verbs: readonly string[]): Access[] =>
    kind ? verbs.map((verb) => ({ group: kind.group, resource: kind.plural, verb })) : []
  const wanted = [...each(attachmentKind, [...made, 'patch']), ...each(networkKind, made)]
  const isWanted = (access: Access) => wanted.some(({ resource, verb }) => resource === access.resource && verb === access.verb)
  const both = (verbs: readonly string[]) => [...each(attachmentKind, verbs), ...each(networkKind, verbs)]
  const onStatus = both(['update', 'patch']).map((access) => ({ ...access, subresource: 'status' }))
  return { wanted, unwanted: [...both(verbs).filter((access) => !isWanted(access)), ...onStatus] }
}

export const jointPermissions: Case = {
  name: 'joint-permissions',
  needs: ['kinds'],
  async run(bench: Bench, signal) {
    const { client, plane } = bench
    const { requester } = plane
    if (requester === undefined) return skip('the user that makes the requests is not known')
    const { wanted, unwanted } = expected(bench)
    const missing: string[] = []
    const tooMuch: string[] = []
    for (const access of wanted) if (!(await may(client, requester, access, signal))) missing.push(shown(access))
    for (const access of unwanted) if (await may(client, requester, access, signal)) tooMuch.push(shown(access))
    if (missing.length > 0) return fail(`${requester} may not ${missing.join(', ')}`)
    return tooMuch.length > 0 ? fail(`${requester} may ${tooMuch.join(', ')}`) : pass()
  },
}

const shown = ({ verb, resource, subresource }: Access): string => `${verb} ${resource}${subresource ? `/${subresource}` : ''}`
