/** The life of the policies on a real API server: before them, their modes, parameters, a break-glass write, a restart, an older table. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  enforcement,
  finalizers,
  managers,
  NetworkInterface,
  NetworkInterfaceClaim,
  nsoAccount,
  nsoManifests,
  ownership,
  ownershipProbes,
} from '@nso/api'
import {
  createAccessSource,
  createClient,
  createHttpTransport,
  type Manifest,
  NotInForce,
  type OwnershipTable,
  ownershipInForce,
  ownershipParameters,
  ownershipPolicies,
  parametersName,
  systemClock,
} from 'kube-control-loop'
import { type Actor, assertPassed, assertRefused, read, type Target, write } from 'kube-control-loop/testing'
import type { KubeObject as Installable, Plane } from 'kube-localplane'
import { eventually, testNamespace } from 'kube-localplane/testing'
import { type EnforcedWorld, startEnforcedWorld, untilInForce } from './support/enforced-world.ts'
import { apply, identity } from './support/holes.ts'

let world: EnforcedWorld
let namespace: string
let rogue: Actor
let early: { withCoOwner: Target; withoutEntries: Target; plain: Target }

async function makeInterface(name: string): Promise<Target> {
  const at = { kind: NetworkInterface, name, namespace }
  const metadata = { name, finalizers: [finalizers.interface] }
  const body = { ...identity, metadata, spec: { network: { name: 'net' }, claimRef: { name } } }
  assertPassed(await write(world.nso, at, { method: 'POST', manager: managers.claim, body }))
  assertPassed(await apply(world.nso, at, managers.interface, { status: { vpc: 'jU', phase: 'Bound' } }))
  return at
}

/** A change of what only NSO writes. */
const trespass = (actor: Actor, dryRun = true) =>
  write(actor, early.plain, { subresource: 'status', body: { status: { vpc: `by-${actor.user.length}` } }, dryRun })

before(async () => {
  world = await startEnforcedWorld()
  rogue = await world.account('rogue')
  namespace = (await testNamespace(world.plane, 'life')).name
  early = {
    plain: await makeInterface('plain'),
    withCoOwner: await makeInterface('with-co-owner'),
    withoutEntries: await makeInterface('without-entries'),
  }
  assertPassed(await apply(rogue, early.withCoOwner, 'rogue', { status: { vpc: 'jU' } }))
  assertPassed(await write(rogue, early.withoutEntries, { body: { metadata: { managedFields: [{}] } } }))
  await assert.rejects(
    notYetInForce(),
    (error) => error instanceof NotInForce && error.message.includes('nso-owners-networkinterfaceclaims'),
  )
  await world.enforce()
})
after(async () => await world[Symbol.asyncDispose]())

/** What the waiting says while there is no policy. */
async function notYetInForce(): Promise<number> {
  const access = createAccessSource({ clock: systemClock, kubeconfig: world.plane.kubeconfigPath })
  const transport = createHttpTransport({ access, clock: systemClock, userAgent: 'ownership-test' })
  try {
    const client = createClient(transport, { clock: systemClock, jitter: Math.random })
    const signal = AbortSignal.timeout(60_000)
    return await ownershipInForce({ client, clock: systemClock, enforcement, probes: ownershipProbes, timeoutMs: 300, signal })
  } finally {
    await transport.close()
  }
}

const managersOf = async (at: Target) =>
  ((await read(world.admin, at)).metadata.managedFields ?? []).map(({ manager }) => manager)

test('whoever was a second owner before may leave by an apply of its own', async () => {
  const at = early.withCoOwner
  assert.ok((await managersOf(at)).includes('rogue'))
  assertRefused(await apply(rogue, at, 'rogue', { status: { vpc: 'other' } }), 'status.vpc')
  assertPassed(await apply(rogue, at, 'rogue', {}))
  assert.ok(!(await managersOf(at)).includes('rogue'))
})

test('an object without any ownership: the first apply of anyone passes, and so does NSO’s', async () => {
  const at = early.withoutEntries
  assert.deepEqual(await managersOf(at), [])
  const metadata = { name: at.name, annotations: { 'example.dev/a': 'b' } }
  assertPassed(await apply(rogue, at, 'rogue', { metadata }, { subresource: '' }))
  assert.ok((await managersOf(at)).includes('before-first-apply'))
  assertPassed(await apply(world.nso, at, managers.interface, { status: { vpc: 'jV', phase: 'Bound' } }))
  assertRefused(await apply(rogue, at, 'rogue', { status: { vpc: 'jV' } }), 'status.vpc')
})

/** How often the API server counted a violation: policy, binding and action in one line each. */
async function counted(...words: string[]): Promise<number> {
  const { text } = await world.admin.connection.request({ path: '/metrics' })
  const lines = text.split('\n').filter((line) => line.startsWith('apiserver_validating_admission_policy_check_total{'))
  const found = lines.filter((line) => words.every((word) => line.includes(word)))
  return found.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

const passes = (actor: Actor) => eventually('it passes', async () => (await trespass(actor)).status === 200)
const isRefused = (actor: Actor, ...words: string[]) =>
  eventually('it is refused', async () => {
    assertRefused(await trespass(actor), ...words)
    return true
  })

test('Audit: nothing is refused, everything is counted; one label of the parameters changes it', async () => {
  const policy = 'policy="nso-owners-networkinterfaces"'
  assertRefused(await trespass(rogue), 'status.vpc')
  assert.ok((await counted(policy, 'enforcement_action="deny"')) > 0)
  await world.setParameters({ mode: 'Audit' })
  await passes(rogue)
  const before = await counted(policy, 'enforcement_action="audit"', 'policy_binding="nso-owners-networkinterfaces-audit"')
  assertPassed(await trespass(rogue))
  assert.equal(
    await counted(policy, 'enforcement_action="audit"', 'policy_binding="nso-owners-networkinterfaces-audit"'),
    before + 1,
  )
  await world.setParameters({ mode: 'Off' })
  await eventually('it is counted no more', async () => {
    const count = await counted(policy)
    assertPassed(await trespass(rogue))
    return (await counted(policy)) === count
  })
  await world.setParameters({ mode: 'Deny' })
  await isRefused(rogue, 'status.vpc')
})

test('a mode that is misspelt or missing refuses', async () => {
  for (const mode of ['deny', 'audit', null] as const) {
    await world.setParameters({ mode: 'Off' })
    await passes(rogue)
    await world.setParameters({ mode })
    await isRefused(rogue, 'status.vpc')
  }
  await world.setParameters({ mode: 'Deny' })
})

/** A policy that refuses a ConfigMap `witness` once the server finds this one among the parameters. */
function witnessOf(name: string): Manifest[] {
  const { metadata } = ownershipParameters(enforcement, 'Deny')
  const common = { apiVersion: 'admissionregistration.k8s.io/v1', metadata: { name: 'witness' } }
  const resourceRules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }]
  const spec = {
    ...{ failurePolicy: 'Fail', paramKind: { apiVersion: 'v1', kind: 'ConfigMap' }, matchConstraints: { resourceRules } },
    matchConditions: [{ name: 'witness', expression: `object.metadata.name == 'witness'` }],
    validations: [{ expression: `params.metadata.name != '${name}'` }],
  }
  const selector = { matchLabels: metadata.labels }
  const paramRef = { namespace: nsoAccount.namespace, selector, parameterNotFoundAction: 'Allow' }
  const binding = { policyName: 'witness', validationActions: ['Deny'], paramRef }
  return [
    { ...common, kind: 'ValidatingAdmissionPolicy', spec },
    { ...common, kind: 'ValidatingAdmissionPolicyBinding', spec: binding },
  ]
}

test('a ConfigMap of somebody else with the labels of the parameters refuses nothing and allows nothing', async () => {
  const path = `/api/v1/namespaces/${nsoAccount.namespace}/configmaps`
  const { metadata } = ownershipParameters(enforcement, 'Deny')
  const body = {
    ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...metadata, name: 'another' } },
    data: { nso: rogue.user, breakGlassGroup: 'system:authenticated' },
  }
  await world.plane.apply(witnessOf('another') as Installable[])
  await rogue.connection.request({ method: 'POST', path, body })
  const seen = { ...body, metadata: { name: 'witness' } }
  await eventually('the server knows the second one', async () => {
    const { status } = await rogue.connection.request({ method: 'POST', path: `${path}?dryRun=All`, body: seen })
    return status === 422
  })
  assertRefused(await trespass(rogue), `status.vpc written only by ${world.nso.user} as`)
  const own = { status: { vpc: 'jU', phase: 'Bound' } }
  assertPassed(await apply(world.nso, early.plain, managers.interface, own, { dryRun: true }))
  await world.plane.connection.must({ method: 'DELETE', path: `${path}/another` })
})

test('an identity without users: nobody writes its paths, and the message says which parameter to fill', async () => {
  const [user = ''] = enforcement.identities.nso ?? []
  await world.setParameters({ data: { nso: '' } })
  await isRefused(world.nso, 'nobody until parameter nso of ConfigMap nso-system/nso-ownership names a user')
  await world.setParameters({ data: { nso: `${user}\nsystem:serviceaccount:others:rogue` } })
  await passes(rogue)
  await world.setParameters({ data: { nso: user } })
  await isRefused(rogue, `written only by ${user} as`)
})

test('a holder is nobody until the parameters name one', async () => {
  const condition = {
    type: 'HolderAvailable',
    status: 'True',
    reason: 'Available',
    message: '',
    lastTransitionTime: '2026-08-21T10:00:00Z',
  }
  const hold = () => apply(rogue, early.plain, 'compute', { status: { conditions: [condition] } }, { dryRun: true })
  assertRefused(await hold(), 'nobody until parameter holder of ConfigMap nso-system/nso-ownership names a user')
  await world.setParameters({ data: { holder: rogue.user } })
  await eventually('the holder may', async () => (await hold()).status === 200)
  assertRefused(await apply(rogue, early.plain, 'compute', { status: { vpc: 'jU', conditions: [condition] } }), 'status.vpc')
  await world.setParameters({ data: { holder: '' } })
})

test('without parameters nothing is enforced, and with them it is again', async () => {
  const path = `/api/v1/namespaces/${nsoAccount.namespace}/configmaps/${parametersName(enforcement)}`
  await world.plane.connection.must({ method: 'DELETE', path })
  await passes(rogue)
  await world.enforce()
  assertRefused(await trespass(rogue), 'status.vpc')
})

test('break-glass: without a group in the parameters there is none; a blank around its name does not matter', async () => {
  const helper = await world.person('blank', 'system:masters', '')
  const member = await world.person('member', 'system:masters', 'rescue')
  for (const breakGlassGroup of ['', ' \n', null]) {
    await world.setParameters({ data: { breakGlassGroup: 'rescue\n' } })
    await passes(member)
    await world.setParameters({ data: { breakGlassGroup } })
    await isRefused(member, 'status.vpc')
    assertRefused(await trespass(helper), 'status.vpc')
  }
  await world.setParameters({ data: { breakGlassGroup: 'ownership:break-glass' } })
  await passes(await world.person('rescuer', 'system:masters', 'ownership:break-glass'))
})

test('break-glass: the group of the parameters passes, and each of its writes is counted', async () => {
  const helper = await world.person('helper', 'ownership:break-glass', 'system:masters')
  const other = await world.person('other', 'system:masters')
  const told = () => counted('policy="nso-break-glass"', 'enforcement_action="audit"')
  const before = await told()
  assertRefused(await trespass(other), 'status.vpc')
  assert.equal(await told(), before)
  assertPassed(await trespass(helper))
  assert.equal(await told(), before + 1)
  assertRefused(await trespass(other), 'status.vpc')
})

/** The first answer that comes from behind the start of the server. */
const answered = (attempt: () => ReturnType<typeof trespass>) =>
  eventually('it answers', async () => {
    const answer = await attempt()
    return [200, 403].includes(answer.status) ? answer : undefined
  })

test('after a restart of the API server the first writes that are answered are judged rightly', async () => {
  await world.plane.restart()
  const [foreign, own] = await Promise.all([
    answered(() => trespass(rogue)),
    answered(() =>
      apply(world.nso, early.plain, managers.interface, { status: { vpc: 'jU', phase: 'Bound' } }, { dryRun: true }),
    ),
  ])
  assertRefused(foreign, 'status.vpc written only by')
  assertPassed(own)
})

const without = (...paths: string[]): OwnershipTable =>
  ownership.map((row) => ({
    ...row,
    status: row.status.map((owner) => ({ ...owner, owns: owner.owns.filter((path) => !paths.includes(path)) })),
    metadata: row.metadata.filter(({ path }) => !paths.includes(path)),
  }))

test('a path that the table does not have is not enforced: each of these tests can fail', async () => {
  const finalizer = `metadata.finalizers/${finalizers.interface}`
  const install = (objects: Manifest[]) => world.plane.apply(objects as Installable[])
  await install(ownershipPolicies({ ...enforcement, table: without('vpc', 'conditions/Prepared', finalizer) }))
  await passes(rogue)
  const condition = { type: 'Prepared', status: 'True', reason: 'Is', message: '', lastTransitionTime: '2026-08-21T10:00:00Z' }
  assertPassed(await apply(rogue, early.plain, 'rogue', { status: { conditions: [condition] } }, { dryRun: true }))
  assertPassed(await write(rogue, early.plain, { body: { metadata: { finalizers: null } }, dryRun: true }))
  assertRefused(
    await write(rogue, early.plain, { subresource: 'status', body: { status: { phase: 'Available' } }, dryRun: true }),
    'status.phase',
  )
  await install(nsoManifests().ownership)
  await isRefused(rogue, 'status.vpc')
})

test('the API server finds no fault in the policies’ types', async () => {
  const policies = nsoManifests().ownership.filter(({ kind }) => kind === 'ValidatingAdmissionPolicy')
  for (const { metadata } of policies) {
    const path = `/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/${metadata.name}`
    const checked = await eventually(`${metadata.name} is checked`, async () => {
      const { status, metadata: stands } = (await world.plane.connection.must({ path })) as {
        metadata: { generation: number }
        status?: { observedGeneration?: number; typeChecking?: { expressionWarnings?: unknown[] } }
      }
      return status?.observedGeneration === stands.generation && status.typeChecking ? status.typeChecking : undefined
    })
    assert.deepEqual(checked.expressionWarnings ?? [], [], metadata.name)
  }
})

/** A rule that stored claims break. */
async function tighten(plane: Plane, rules: object[] | null): Promise<void> {
  const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${NetworkInterfaceClaim.plural}.${NetworkInterfaceClaim.group}`
  const crd = (await plane.connection.must({ path })) as {
    spec: { versions: { schema: { openAPIV3Schema: { properties: { spec: Record<string, unknown> } } } }[] }
  }
  const spec = crd.spec.versions[0]?.schema.openAPIV3Schema.properties.spec
  assert.ok(spec)
  const own = spec['x-kubernetes-validations'] as object[] | undefined
  spec['x-kubernetes-validations'] = [...(own ?? []), ...(rules ?? [])]
  await plane.connection.must({ method: 'PUT', path, body: crd })
}

test('B41: a stored claim that breaks a newer rule still loses its finalizer and goes; nothing of ours stands in the way of a delete', async () => {
  const at = { kind: NetworkInterfaceClaim, name: 'old', namespace }
  const body = {
    ...{ ...identity, kind: NetworkInterfaceClaim.kind, spec: { network: { name: 'old' } } },
    metadata: { name: 'old', finalizers: [finalizers.claim] },
  }
  assertPassed(await write(rogue, at, { method: 'POST', body }))
  await tighten(world.plane, [{ rule: `self.network.name != 'old'`, message: 'no old networks' }])
  const fresh = { ...body, metadata: { name: 'fresh' } }
  await eventually(
    'the rule is there',
    async () => (await write(rogue, { ...at, name: 'fresh' }, { method: 'POST', body: fresh, dryRun: true })).status === 422,
  )
  const path = `/apis/${identity.apiVersion}/namespaces/${namespace}/${NetworkInterfaceClaim.plural}/old`
  await world.plane.connection.must({ method: 'DELETE', path })
  const remove = [{ op: 'remove', path: '/metadata/finalizers/0' }]
  const given = { contentType: 'application/json-patch+json', body: remove }
  assertRefused(await write(rogue, at, given), `metadata.finalizers/${finalizers.claim}`)
  assertPassed(await write(world.nso, at, { ...given, manager: managers.claim }))
  assert.equal((await rogue.connection.request({ path })).status, 404)
})

test('the policies can be installed again and again', async () => {
  await world.enforce()
  assert.equal(await untilInForce(world.plane), ownershipProbes.length)
})
