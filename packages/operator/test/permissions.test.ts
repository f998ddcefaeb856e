/**
 * Permissions as the API server gives them: NSO and Galactic ask with their own tokens, after installation; and then a claim goes
 * the whole way up and down while the audit log tells what each of them asked for.
 */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import {
  AddressLease,
  DataPlane,
  kinds,
  NetworkContext,
  NetworkInterface,
  NetworkInterfaceClaim,
  nsoAccount,
  nsoManifests,
  ServingLocation,
  Subnet,
} from '@nso/api'
import { createGalactic, galacticAccount, galacticManifests } from 'galactic'
import { standInNodeAccount, standInNodeManifests, startStandInNode } from 'galactic/testing'
import { type Manifest, silentLogger } from 'kube-control-loop'
import { permissionsOf } from 'kube-control-loop/testing'
import { type ApiConnection, type AuditEntry, connect, parseManifests, readAudit, tailAudit } from 'kube-localplane'
import { eventually } from 'kube-localplane/testing'
import { toyManifests } from './toy-plane.ts'
import { aClaim, claimSays, create, gone, know, remove, startWorld, type World } from './world.ts'

know(NetworkContext, Subnet, NetworkInterface, NetworkInterfaceClaim, AddressLease, DataPlane, ServingLocation)

type Account = { namespace: string; name: string }

let world: World
let installed: { path: string; objects: Manifest[] }[]
before(async () => {
  world = await startWorld()
  const galactic = galacticManifests()
  const joint = await readFile(new URL('../../../deploy/data-planes/galactic.yaml', import.meta.url), 'utf8')
  const here = joint.replace('locations: ["*"]', 'locations: ["here"]')
  await world.plane.apply([...galactic.crds, ...galactic.local, ...galactic.rbac, ...standInNodeManifests()] as never)
  await world.plane.apply(here)
  installed = [
    { path: 'nso', objects: nsoManifests().rbac },
    { path: 'toy', objects: toyManifests().joint },
    { path: 'galactic', objects: galactic.rbac },
    { path: 'joint', objects: parseManifests(here) as Manifest[] },
  ]
})
after(() => world[Symbol.asyncDispose]())

async function asked<T>(account: Account, ask: (connection: ApiConnection) => Promise<T>): Promise<T> {
  const connection = await connect(await world.plane.kubeconfigFor({ serviceAccount: account }))
  try {
    return await ask(connection)
  } finally {
    connection.close()
  }
}

async function review(connection: ApiConnection, kind: string, spec: unknown): Promise<Record<string, unknown>> {
  const apiVersion = 'authorization.k8s.io/v1'
  const path = `/apis/${apiVersion}/${kind.toLowerCase()}s`
  const answer = await connection.must({ method: 'POST', path, body: { apiVersion, kind, spec } })
  return answer.status as Record<string, unknown>
}

type Rule = { apiGroups?: string[]; resources?: string[]; verbs?: string[]; resourceNames?: string[] }

/** One line for each group, resource and verb. */
const spread = (rules: readonly Rule[]): string[] => {
  const lines = rules.flatMap(({ apiGroups = [], resources = [], verbs = [], resourceNames = [''] }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        verbs.flatMap((verb) => resourceNames.map((name) => `${verb} ${group}/${resource} ${name}`.trim())),
      ),
    ),
  )
  return [...new Set(lines)].sort()
}

const inNamespace = (namespace: string | undefined, account: Account) =>
  permissionsOf(installed, account)
    .filter((grant) => grant.namespace === undefined || grant.namespace === namespace)
    .map(({ rule }) => rule)

/** Every account may ask what it may do. */
const ofEverybody = ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'].map((one) => `create authorization.k8s.io/${one}`)
const nsoGroup = 'networking.datumapis.com'
const ofEverybodyElse = 'create authentication.k8s.io/selfsubjectreviews'

for (const account of [nsoAccount, galacticAccount]) {
  for (const namespace of ['default', account.namespace]) {
    test(`the API server gives ${account.name} in ${namespace} what the manifests say, and nothing else`, async () => {
      const wanted = [...new Set([...spread(inNamespace(namespace, account)), ...ofEverybody, ofEverybodyElse])].sort()
      await eventually('roles are gathered', async () => {
        const { resourceRules, incomplete } = await asked(account, (one) => review(one, 'SelfSubjectRulesReview', { namespace }))
        assert.equal(incomplete, false)
        assert.deepEqual(spread(resourceRules as Rule[]), wanted)
        return true
      })
    })
  }
}

const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection']

type Question = { group: string; resource: string; subresource?: string; verb: string }

/** Of these, what is allowed: one line each. */
function allowed(account: Account, questions: readonly Question[]): Promise<string[]> {
  return asked(account, async (connection) => {
    const answers = await Promise.all(
      questions.map(async (question) => {
        const resourceAttributes = { ...question, namespace: 'default' }
        const { allowed } = await review(connection, 'SelfSubjectAccessReview', { resourceAttributes })
        const { verb, group, resource, subresource } = question
        return allowed ? [`${verb} ${group}/${resource}${subresource ? `/${subresource}` : ''}`] : []
      }),
    )
    return answers.flat()
  })
}

const every = (group: string, resources: readonly string[], subresource?: string): Question[] =>
  resources.flatMap((resource) => verbs.map((verb) => ({ group, resource, verb, ...(subresource ? { subresource } : {}) })))

test('Galactic may do nothing with any kind of NSO, statuses included', async () => {
  const plurals = kinds.map(({ plural }) => plural)
  const group = 'networking.datumapis.com'
  const questions = [...every(group, plurals), ...every(group, plurals, 'status'), ...every(group, ['*'])]
  assert.deepEqual(await allowed(galacticAccount, questions), [])
})

test('NSO may do nothing with statuses of data planes or with network definitions', async () => {
  const own = (verb: string) => ({ group: 'cloud.datumapis.com', resource: 'vpcattachments', verb })
  await eventually('the joint is gathered', async () => (await allowed(nsoAccount, [own('create')])).length > 0)
  const questions = [
    ...every('cloud.datumapis.com', ['vpcs', 'vpcattachments'], 'status'),
    ...every('toy.example.dev', ['toyattachments'], 'status'),
    ...every('k8s.cni.cncf.io', ['network-attachment-definitions']),
    ...every('network.datumapis.com', ['bgpadvertisements', 'bgprouters']),
  ]
  assert.deepEqual(await allowed(nsoAccount, questions), [])
})

test('the question can be answered with yes: a rule that is planted shows', async () => {
  const role = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'planted' },
    rules: [{ apiGroups: ['networking.datumapis.com'], resources: ['networkinterfaceclaims'], verbs: ['get'] }],
  }
  const binding = {
    apiVersion: role.apiVersion,
    kind: 'RoleBinding',
    metadata: { name: 'planted', namespace: 'default' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'planted' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:serviceaccounts:galactic-system' }],
  }
  await world.plane.apply([role, binding] as never)
  const path = '/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings/planted'
  const questions = every('networking.datumapis.com', ['networkinterfaceclaims'])
  try {
    const now = await eventually('it is told', async () => {
      const found = await allowed(galacticAccount, questions)
      return found.length > 0 && found
    })
    assert.deepEqual(now, ['get networking.datumapis.com/networkinterfaceclaims'])
  } finally {
    await world.plane.connection.must({ method: 'DELETE', path })
    await eventually('it is forgotten', async () => (await allowed(galacticAccount, questions)).length === 0)
  }
})

const userOf = ({ namespace, name }: Account) => `system:serviceaccount:${namespace}:${name}`
const shown = ({ verb, uri, code }: AuditEntry) => `${verb} ${uri} ${code}`

test('a claim’s whole life: Galactic asks for nothing of NSO’s, NSO writes no status and no network definition of others', async () => {
  const { client, plane } = world
  const from = await tailAudit(plane)
  const nso = await world.startNso()
  const galactic = createGalactic({
    kubeconfig: await plane.kubeconfigFor({ serviceAccount: galacticAccount }),
    log: silentLogger,
  })
  const node = startStandInNode({
    kubeconfig: await plane.kubeconfigFor({ serviceAccount: standInNodeAccount }),
    log: silentLogger,
  })
  const stop = new AbortController()
  const working = galactic.run(stop.signal)
  try {
    const namespace = await world.place({ families: ['IPv6', 'IPv4'] })
    await create(client, aClaim(namespace, 'web-0', { ipFamilies: ['IPv6', 'IPv4'] }))
    await claimSays(client, namespace, 'web-0', 'Ready', 'True Ready')
    await remove(client, NetworkInterfaceClaim, namespace, 'web-0')
    await gone(client, NetworkInterfaceClaim, namespace, 'web-0')
  } finally {
    stop.abort(new Error('the test is over'))
    await working
    await node.stop()
    await nso.stop()
  }
  const to = await tailAudit(plane)
  const entries = await readAudit(plane.auditLogPath ?? '', { from, to })
  const by = (account: Account) => entries.filter(({ user }) => user === userOf(account))

  const ofGalactic = by(galacticAccount)
  assert.ok(ofGalactic.some(({ resource, subresource }) => resource === 'vpcattachments' && subresource === 'status'))
  const ofNsoGroup = ({ group, uri }: AuditEntry) => group === nsoGroup || uri.includes(nsoGroup)
  assert.deepEqual(ofGalactic.filter(ofNsoGroup).map(shown), [])

  const ofNso = by(nsoAccount)
  assert.ok(ofNso.some(({ resource, verb }) => resource === 'vpcattachments' && verb === 'create'))
  assert.deepEqual(
    ofNso
      .filter(({ group, subresource }) => group === 'k8s.cni.cncf.io' || (subresource === 'status' && group !== nsoGroup))
      .map(shown),
    [],
  )
  // Each asks only for what it may, save where NSO asks whether a permission was given.
  assert.deepEqual([...ofGalactic, ...ofNso].filter(({ code }) => code === 403).map(shown), [])
})
