/**
 * NSO's side of each joint, as shipped: on a real server with ownership enforced it is accepted, and its role grants what NSO
 * needs for its kinds, all of it, and nothing else.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { type DataPlane, enforcement, labels, nsoAccount, nsoManifests } from '@nso/api'
import { createOperator, type Operator } from '@nso/operator'
import { enforcement as galacticEnforcement, galacticManifests } from 'galactic/manifests'
import { enforcement as bridgeEnforcement, bridgeManifests } from 'kube-bridge/manifests'
import { createAccessSource, createHttpTransport, ownershipParameters, silentLogger, systemClock } from 'kube-control-loop'
import { type KubeObject, type Plane, parseManifests, startPlane } from 'kube-localplane'
import { eventually } from 'kube-localplane/testing'

const root = path.resolve(import.meta.dirname, '..', '..')
const read = (file: string) => parseManifests(readFileSync(path.join(root, file), 'utf8'))
const files = globSync(['deploy/data-planes/*.yaml', 'examples/*/manifests/data-plane.yaml'], { cwd: root }).sort()

type Rule = { apiGroups: string[]; resources: string[]; verbs: string[] }
type Role = KubeObject & { rules: Rule[] }

/** The two objects of which a joint is made. */
function jointOf(file: string): { plane: DataPlane; role: Role } {
  const objects = read(file)
  assert.deepEqual(objects.map(({ kind }) => kind).sort(), ['ClusterRole', 'DataPlane'], file)
  const [plane, role] = ['DataPlane', 'ClusterRole'].map((kind) => objects.find((object) => object.kind === kind))
  return { plane: plane as unknown as DataPlane, role: role as Role }
}

let plane: Plane
let running: { operator: Operator; stop(): Promise<void> }

before(async () => {
  plane = await startPlane({ name: 'joints' })
  const [nso, galactic, bridge] = [nsoManifests(), galacticManifests(), bridgeManifests()]
  const examples = globSync('examples/*/manifests/{crd,rbac}.yaml', { cwd: root }).flatMap(read)
  await plane.apply([...nso.crds, ...galactic.crds, ...bridge.crds, ...galactic.local, ...examples] as never)
  await plane.apply([...nso.rbac, ...galactic.rbac, ...bridge.rbac] as never)
  const parameters = [enforcement, galacticEnforcement, bridgeEnforcement].map((app) => ownershipParameters(app, 'Deny'))
  await plane.apply([...parameters, ...nso.ownership, ...galactic.ownership, ...bridge.ownership] as never)
  const access = createAccessSource({ clock: systemClock, kubeconfig: await plane.kubeconfigFor({ serviceAccount: nsoAccount }) })
  const operator = createOperator({
    transport: createHttpTransport({ access, clock: systemClock, userAgent: 'joints' }),
    ...{ identity: 'joints', settings: { location: 'here', networkControllers: false }, log: silentLogger },
  })
  const ending = new AbortController()
  const ended = operator.run(ending.signal)
  running = {
    operator,
    async stop() {
      ending.abort(new Error('the test is over'))
      await ended
    },
  }
})
after(async () => {
  await running?.stop()
  await plane[Symbol.asyncDispose]()
})

const api = '/apis/networking.datumapis.com/v1alpha/dataplanes'
const conditions = ['Accepted', 'Installed', 'Permitted'] as const

async function says(name: string, wanted: Partial<Record<(typeof conditions)[number], string>>): Promise<string> {
  return await eventually(
    `DataPlane ${name} says ${JSON.stringify(wanted)}`,
    async () => {
      const { status, metadata } = (await plane.connection.must({ path: `${api}/${name}` })) as unknown as DataPlane
      const said = new Map(status?.conditions?.map((each) => [each.type as string, each]))
      for (const [type, what] of Object.entries(wanted)) {
        const condition = said.get(type)
        assert.equal(condition?.observedGeneration, metadata.generation)
        assert.equal(`${condition?.status} ${condition?.reason}`, what, condition?.message ?? 'no message')
      }
      return said.get('Permitted')?.message ?? ''
    },
    { timeoutMs: 60_000 },
  )
}

const allWell = { Accepted: 'True Accepted', Installed: 'True Installed', Permitted: 'True Permitted' }

async function removed(name: string): Promise<void> {
  await plane.connection.must({ method: 'DELETE', path: `${api}/${name}` })
  await eventually(
    `DataPlane ${name} is gone`,
    async () => (await plane.connection.request({ path: `${api}/${name}` })).status === 404,
  )
}

/** Group and plurals of the kinds that the templates make. */
async function resourcesOf({ spec }: DataPlane): Promise<{ group: string; networks: string[]; attachments: string }> {
  const kinds = [spec.network, spec.attachment].flatMap((each) => (each ? [each] : []))
  const [group, ...others] = new Set(kinds.map(({ apiVersion }) => apiVersion.split('/')[0] ?? ''))
  assert.deepEqual(others, [], 'one API group')
  const apiVersion = spec.attachment.apiVersion
  const { resources = [] } = (await plane.connection.must({ path: `/apis/${apiVersion}` })) as {
    resources?: { kind: string; name: string }[]
  }
  const plural = (of: string) => resources.find(({ kind, name }) => kind === of && !name.includes('/'))?.name ?? of
  const networks = spec.network ? [plural(spec.network.kind)] : []
  return { group: group ?? '', networks, attachments: plural(spec.attachment.kind) }
}

/** Network objects are made and deleted, never changed. */
const networkVerbs = ['create', 'delete', 'get', 'list', 'watch']
const attachmentVerbs = [...networkVerbs, 'patch'].sort()

/** As `resource verb`. */
const granted = (rules: readonly Rule[]) =>
  rules.flatMap(({ resources, verbs }) => resources.flatMap((resource) => verbs.map((verb) => `${resource} ${verb}`))).sort()

assert.ok(files.length >= 4, files.join())
for (const file of files) {
  test(`${file}: accepted, installed and permitted, with the rights it needs and no others`, async () => {
    const { plane: joint, role } = jointOf(file)
    await plane.apply([joint, role] as never)
    await says(joint.metadata.name, allWell)
    const { group, networks, attachments } = await resourcesOf(joint)
    assert.equal(role.metadata.labels?.[labels.aggregateToNso], 'true')
    for (const { apiGroups } of role.rules) assert.deepEqual(apiGroups, [group])
    const needed = [
      { apiGroups: [group], resources: networks, verbs: networkVerbs },
      { apiGroups: [group], resources: [attachments], verbs: attachmentVerbs },
    ]
    assert.deepEqual(granted(role.rules), granted(needed), 'its own kinds, no status and no network definitions')
    assert.match(readFileSync(path.join(root, file), 'utf8'), /^ {2}contract: v1$/m, 'it says which contract it follows')
    await removed(joint.metadata.name)
  })
}

test('each right is needed: a role without it is told by name, and what is told is enough to mend it', async () => {
  const { plane: joint, role } = jointOf('deploy/data-planes/bridge.yaml')
  await plane.apply([joint, role] as never)
  await says('bridge', allWell)
  const all = role.rules.flatMap(({ resources, verbs }) =>
    resources.flatMap((resource) => verbs.map((verb) => ({ resource, verb, verbs }))),
  )
  assert.equal(all.length, 11)
  for (const { resource, verb, verbs } of all) {
    const without = role.rules.map((rule) =>
      rule.resources.includes(resource) ? { ...rule, verbs: verbs.filter((each) => each !== verb) } : rule,
    )
    await plane.apply([{ ...role, rules: without }] as never)
    const message = await says('bridge', { Accepted: 'True Accepted', Permitted: 'False NotPermitted' })
    assert.match(message, new RegExp(`NSO may not ${verb} ${resource}\\.bridge\\.datumapis\\.com: .*${labels.aggregateToNso}`))
    await plane.apply([role] as never)
    await says('bridge', allWell)
  }
  await removed('bridge')
})
