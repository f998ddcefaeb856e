/** Ways around a comparison of values, and what must still work: against the real API server, each attempt by a real identity. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { finalizers, managers, NetworkInterface, NetworkInterfaceClaim, Subnet } from '@nso/api'
import { type Actor, assertPassed, assertRefused, read, type Target, write } from 'kube-control-loop/testing'
import { connectTo, jsonPatch } from 'kube-localplane'
import { eventually, testNamespace } from 'kube-localplane/testing'
import { enforcedVersions } from './support/enforced-objects.ts'
import { type EnforcedWorld, startEnforcedWorld } from './support/enforced-world.ts'
import { apply, byHand, conditions, entriesOf, entry, holes, identity, item, ofVpc, status } from './support/holes.ts'

let world: EnforcedWorld
let namespace: string
let rogue: Actor
let count = 0

before(async () => {
  world = await startEnforcedWorld()
  rogue = await world.account('rogue')
  namespace = (await testNamespace(world.plane, 'holes')).name
  await world.enforce()
})
after(async () => await world[Symbol.asyncDispose]())

/** An interface as NSO makes it, with its status. */
async function makeInterface(): Promise<Target> {
  const name = `web-${count++}`
  const at = { kind: NetworkInterface, name, namespace }
  const metadata = { name, finalizers: [finalizers.interface], labels: { 'compute.datumapis.com/instance': 'a' } }
  const body = { ...identity, metadata, spec: { network: { name: 'net' }, claimRef: { name } } }
  assertPassed(await write(world.nso, at, { method: 'POST', manager: managers.claim, body }))
  assertPassed(await apply(world.nso, at, managers.interface, { status }))
  return at
}

const claimBody = (name: string, metadata: object = {}, spec: object = {}) => ({
  ...{ ...identity, kind: NetworkInterfaceClaim.kind, spec: { network: { name: 'net' }, ...spec } },
  metadata: { name, ...metadata },
})

async function makeClaim(spec: object = {}): Promise<Target> {
  const name = `claim-${count++}`
  const at = { kind: NetworkInterfaceClaim, name, namespace }
  assertPassed(await write(rogue, at, { method: 'POST', body: claimBody(name, {}, spec) }))
  return at
}

const actors = () => ({ rogue, nso: world.nso, admin: world.admin })

for (const { says, words, attempt } of holes) {
  test(`refused: ${says}`, async () => {
    const at = await makeInterface()
    const stands = await read(world.admin, at)
    assertRefused(await attempt(actors(), at, stands), ...words)
    assert.deepEqual(await read(world.admin, at), stands)
  })
}

test('refused: a claim made with entries that own its status, or under a reserved name', async () => {
  const at = { kind: NetworkInterfaceClaim, name: 'taken', namespace }
  const own = { 'f:status': { 'f:conditions': { [item('Ready')]: { '.': {} } } } }
  for (const given of [{ operation: 'Apply' }, {}, { manager: 'before-first-apply', subresource: '' }] as const) {
    const body = claimBody('taken', { managedFields: [entry({ ...given, fieldsV1: own })] })
    assertRefused(await write(rogue, at, { method: 'POST', manager: 'evil', body }), `${ofVpc}conditions[Ready]`)
  }
  const body = claimBody('taken')
  assertRefused(await write(rogue, at, { method: 'POST', manager: managers.claim, body }), 'is reserved for')
})

test('the data-plane role of the original, with its rights and no more, is refused on interface and claim status', async () => {
  const name = 'networkinterface-dataplane-role'
  const group = NetworkInterface.group
  const rbac = 'rbac.authorization.k8s.io'
  const user = 'vpc-controller'
  const resources = ['networkinterfaces', 'networkinterfaceclaims']
  const rules = [
    { apiGroups: [group], resources, verbs: ['get', 'list', 'watch'] },
    { apiGroups: [group], resources: resources.map((each) => `${each}/status`), verbs: ['get', 'patch', 'update'] },
  ]
  const roleRef = { apiGroup: rbac, kind: 'ClusterRole', name }
  const subjects = [{ apiGroup: rbac, kind: 'User', name: user }]
  const common = { apiVersion: `${rbac}/v1`, metadata: { name } }
  await world.plane.apply([
    { ...common, kind: 'ClusterRole', rules },
    { ...common, kind: 'ClusterRoleBinding', roleRef, subjects },
  ])
  const old = await world.person(user)
  const nic = await makeInterface()
  const stands = await read(old, nic)
  const reported = conditions('True').map((each) => ({ ...each, message: 'programmed by the data plane' }))
  for (const manager of [undefined, 'vpc-controller']) {
    const body = { ...stands, status: { ...status, conditions: reported } }
    const given = { method: 'PUT', subresource: 'status', body, ...(manager ? { manager } : {}) } as const
    const who = `not by ${user} ${manager ? `as ${manager}` : '(no field manager)'}`
    assertRefused(await write(old, nic, given), 'status.conditions[Programmed]', who)
  }
  const claim = await makeClaim()
  const body = { status: { conditions: [{ ...reported[2], type: 'Ready' }] } }
  assertRefused(await write(old, claim, { subresource: 'status', body }), 'status.conditions[Ready]')
})

test('an apply to the status with spec and labels in it takes nothing there', async () => {
  const at = await makeInterface()
  const labels = { 'compute.datumapis.com/instance': 'a' }
  const { spec, metadata } = await read(world.admin, at)
  assertPassed(await apply(rogue, at, 'other', { spec, metadata: { name: at.name, labels } }))
  assert.deepEqual(entriesOf(await read(world.admin, at)), entriesOf({ ...identity, metadata, spec }))
})

test('entries edited by hand in a write to the status change nothing', async () => {
  const at = await makeInterface()
  const stands = await read(world.admin, at)
  for (const managedFields of [[{}], [...entriesOf(stands), entry({})], entriesOf(stands).slice(1)]) {
    const metadata = { ...stands.metadata, managedFields }
    assertPassed(await write(rogue, at, { subresource: 'status', manager: 'evil', body: { metadata: { managedFields } } }))
    assertPassed(await write(rogue, at, { method: 'PUT', subresource: 'status', manager: 'evil', body: { ...stands, metadata } }))
    assert.deepEqual(entriesOf(await read(world.admin, at)), entriesOf(stands))
  }
})

test('an entry that has the status, or the list of conditions, and nothing in them: it keeps nothing there', async () => {
  const at = await makeInterface()
  const stands = await read(world.admin, at)
  const bare = [
    { 'f:status': {} },
    { 'f:status': { 'f:conditions': {} } },
    { 'f:status': { '.': {}, 'f:conditions': { '.': {} } } },
  ]
  const entries = bare.map((fieldsV1, index) => entry({ manager: `evil-${index}`, fieldsV1 }))
  assertPassed(await byHand(actors(), at, [...entriesOf(stands), ...entries]))
  const left = { phase: 'Bound', conditions: conditions('True').slice(0, 1) }
  assertPassed(await apply(world.nso, at, managers.interface, { status: left }))
  assert.deepEqual((await read(world.admin, at)).status, left)
})

test('a condition of a type that nobody documents belongs to whoever adds it', async () => {
  const at = await makeInterface()
  const condition = { ...conditions('True')[0], type: 'example.dev/Checked' }
  assertPassed(await apply(rogue, at, 'checker', { status: { conditions: [condition] } }))
  assertPassed(await apply(rogue, at, 'checker', { status: { conditions: [{ ...condition, message: 'again' }] } }))
  assertPassed(await apply(rogue, at, 'checker', {}))
  const { conditions: left } = (await read(world.admin, at)).status as { conditions: { type: string }[] }
  assert.ok(!left.some(({ type }) => type === 'example.dev/Checked'))
})

test('a creator changes labels and annotations of its claim, and others leave labels and annotations on an interface', async () => {
  const claim = await makeClaim()
  const metadata = { labels: { a: 'b' }, annotations: { a: 'b' } }
  assertPassed(await write(rogue, claim, { body: { metadata } }))
  assertPassed(
    await apply(
      rogue,
      claim,
      'kubectl',
      { kind: NetworkInterfaceClaim.kind, metadata: { name: claim.name, ...metadata } },
      { subresource: '' },
    ),
  )
  const nic = await makeInterface()
  for (const value of ['b', 'c', null]) {
    const given = { labels: { a: value }, annotations: { a: value } }
    assertPassed(await write(rogue, nic, { manager: 'kubectl-label', body: { metadata: given } }))
    assertPassed(await write(rogue, nic, { body: { metadata: { labels: { 'example.dev/b': value } } } }))
  }
  assertPassed(await apply(rogue, nic, 'kubectl', { metadata: { name: nic.name, labels: { a: 'b' } } }, { subresource: '' }))
})

test('more Update managers than the server keeps: it gathers their entries, and nobody is refused', async () => {
  const at = await makeInterface()
  for (let n = 0; n < 13; n++)
    assertPassed(
      await write(rogue, at, { manager: `user-${n}`, body: { metadata: { annotations: { [`example.dev/${n}`]: 'x' } } } }),
    )
  const stands = await read(world.admin, at)
  const gathered = entriesOf(stands).find(({ manager }) => manager === 'ancient-changes')
  assert.ok(gathered?.fieldsV1?.['f:spec'], 'what NSO made is among what was gathered')
  assert.ok(!entriesOf(stands).some(({ manager }) => manager === managers.claim))
  assertPassed(await apply(world.nso, at, managers.interface, { status: { ...status, vpc: 'other' } }))
  // Still no way in.
  assertRefused(await byHand(actors(), at, [...entriesOf(stands), entry({ manager: 'ancient-changes', subresource: '' })]), ofVpc)
})

test('the collector may take a reference away, and nothing else', async () => {
  const at = await makeInterface()
  const reference = { apiVersion: 'v1', kind: 'Secret', name: 'gone', uid: 'gone' }
  assertPassed(await write(world.nso, at, { manager: managers.claim, body: { metadata: { ownerReferences: [reference] } } }))
  for (const user of ['system:serviceaccount:kube-system:generic-garbage-collector', 'system:kube-controller-manager']) {
    const collector = await world.person(user, 'system:masters')
    assertPassed(await write(collector, at, { body: { metadata: { ownerReferences: null } }, dryRun: true }))
    assertRefused(await write(collector, at, { body: { metadata: { finalizers: null } } }), 'metadata.finalizers/')
  }
  assertRefused(await write(rogue, at, { body: { metadata: { ownerReferences: null } } }), 'metadata.ownerReferences')
})

test('a namespace with its objects goes', async () => {
  const { name } = await testNamespace(world.plane, 'going')
  const found = enforcedVersions.find(({ kind }) => kind.kind === Subnet.kind)
  assert.ok(found)
  assertPassed(
    await write(
      rogue,
      { kind: Subnet, name: 'web', namespace: name },
      { method: 'POST', body: { ...found.before, status: undefined } },
    ),
  )
  const path = `/api/v1/namespaces/${name}`
  await world.plane.connection.must({ method: 'DELETE', path })
  await eventually('the namespace is gone', async () => (await world.admin.connection.request({ path })).status === 404)
})

test('NSO puts entries right on the main resource, under any of its names; another component may not', async () => {
  const at = await makeInterface()
  const patch = async (actor: Actor, manager: string) => {
    const stands = await read(world.admin, at)
    const value = [
      ...entriesOf(stands),
      entry({ manager: 'old', fieldsV1: { 'f:status': { 'f:conditions': { [item('Prepared')]: { '.': {} } } } } }),
    ]
    const body = [
      { op: 'test', path: '/metadata/resourceVersion', value: stands.metadata.resourceVersion },
      { op: 'replace', path: '/metadata/managedFields', value },
    ]
    return await write(actor, at, { contentType: jsonPatch, manager, body, dryRun: true })
  }
  for (const manager of [managers.interface, managers.claim]) assertPassed(await patch(world.nso, manager))
  assertRefused(await patch(rogue, 'galactic-vpcattachment'), ofVpc)
})

test('somebody without a name is refused like everyone', async () => {
  const anonymous = {
    user: 'system:anonymous',
    connection: connectTo({ url: world.plane.url, ca: world.plane.ca, credential: {} }),
  }
  await world.plane.apply([
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'anonymous' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'system:anonymous' }],
    },
  ])
  const at = await makeInterface()
  const answer = await eventually('permissions are there', async () => {
    const given = await write(anonymous, at, { subresource: 'status', body: { status: { vpc: 'other' } } })
    return (given.body as { message: string }).message.includes('ValidatingAdmissionPolicy') && given
  })
  assertRefused(answer, 'status.vpc written only by', 'not by system:anonymous (no field manager)')
  anonymous.connection.close()
})

test('an object with 16 conditions, the most addresses and long messages is judged within the cost limits', async () => {
  const classes = ['a', 'b', 'c', 'd']
  const at = await makeClaim({ externalAddressClasses: classes, ipFamilies: ['IPv6', 'IPv4'] })
  const long = 'm'.repeat(32_000)
  const own = ['Bound', 'Allocated', 'Prepared', 'Programmed', 'Ready'].map((type) => ({
    ...conditions('True')[0],
    type,
    message: long,
  }))
  const foreign = Array.from({ length: 11 }, (_, n) => ({ ...conditions('True')[0], type: `example.dev/T${n}`, message: long }))
  const kind = { kind: NetworkInterfaceClaim.kind }
  const full = {
    ...{ networkInterfaceRef: { name: 'web' }, conditions: own },
    addresses: ['fd20::7/128', 'fd20::8/128', '10.0.0.7/32', '10.0.0.8/32'].map((address, n) => ({
      ...{ family: address.includes(':') ? 'IPv6' : 'IPv4', address, primary: n === 0 },
    })),
    externalAddresses: classes.map((name, n) => ({ family: 'IPv4', address: `198.51.100.${n}`, class: name })),
  }
  assertPassed(await apply(world.nso, at, managers.claim, { ...kind, status: full }))
  for (const condition of foreign)
    assertPassed(await apply(rogue, at, condition.type.replace('/', '-'), { ...kind, status: { conditions: [condition] } }))
  const stands = await read(world.admin, at)
  assert.equal((stands.status as { conditions: unknown[] }).conditions.length, 16)
  // The dearest side: everything differs, and no name helps.
  const flipped = [...own, ...foreign].map((each) => ({ ...each, status: 'False' }))
  const body = { ...stands, status: { ...full, networkInterfaceRef: { name: 'other' }, conditions: flipped } }
  assertRefused(
    await write(rogue, at, { method: 'PUT', subresource: 'status', body }),
    'status.networkInterfaceRef, status.conditions[Bound]',
  )
  assertRefused(await apply(rogue, at, 'evil', { ...kind, status: full }), 'second owner of status.networkInterfaceRef')
})
