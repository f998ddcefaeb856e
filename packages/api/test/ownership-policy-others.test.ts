/** What others do by right passes under enforcement: people with kubectl, the controllers of Kubernetes, a newer installation. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { enforcement, finalizers, managers, NetworkInterface, NetworkInterfaceClaim, nsoManifests, ownership } from '@nso/api'
import { ownershipPolicies } from 'kube-control-loop'
import { type Actor, assertPassed, assertRefused, read, type Target, write } from 'kube-control-loop/testing'
import { type KubeObject as Installable, kubectl } from 'kube-localplane'
import { eventually, testNamespace } from 'kube-localplane/testing'
import { type EnforcedWorld, startEnforcedWorld } from './support/enforced-world.ts'
import { apply, conditions, identity, status } from './support/holes.ts'

let world: EnforcedWorld
let namespace: string
let person: Actor
let personKubeconfig: string

before(async () => {
  world = await startEnforcedWorld()
  person = await world.account('person')
  personKubeconfig = await world.plane.kubeconfigFor({ serviceAccount: { namespace: 'others', name: 'person' } })
  namespace = (await testNamespace(world.plane, 'by-right')).name
  await world.enforce()
})
after(async () => await world[Symbol.asyncDispose]())

const claimKind = { ...identity, kind: NetworkInterfaceClaim.kind }
const at = (name: string, kind: Target['kind'] = NetworkInterfaceClaim): Target => ({ kind, name, namespace })
const pathOf = (name: string) => `/apis/${identity.apiVersion}/namespaces/${namespace}/${NetworkInterfaceClaim.plural}/${name}`

async function makeInterface(name: string): Promise<Target> {
  const body = {
    ...{ ...identity, spec: { network: { name: 'net' }, claimRef: { name } } },
    metadata: { name, finalizers: [finalizers.interface], labels: { 'compute.datumapis.com/instance': 'a' } },
  }
  assertPassed(await write(world.nso, at(name, NetworkInterface), { method: 'POST', manager: managers.claim, body }))
  assertPassed(await apply(world.nso, at(name, NetworkInterface), managers.interface, { status }))
  return at(name, NetworkInterface)
}

/** NSO's part in the life of a claim. */
async function nsoHolds(name: string): Promise<void> {
  const body = [{ op: 'add', path: '/metadata/finalizers/-', value: finalizers.claim }]
  const { metadata } = await read(world.nso, at(name))
  if (!metadata.finalizers?.includes(finalizers.claim)) {
    const first = metadata.finalizers ? body : [{ op: 'add', path: '/metadata/finalizers', value: [finalizers.claim] }]
    const given = { manager: managers.claim, contentType: 'application/json-patch+json', body: first }
    assertPassed(await write(world.nso, at(name), given))
  }
  const ready = conditions('False').map((each, index) => ({ ...each, type: ['Bound', 'Allocated', 'Ready'][index] }))
  assertPassed(await apply(world.nso, at(name), managers.claim, { kind: claimKind.kind, status: { conditions: ready } }))
}

async function nsoReleases(name: string): Promise<void> {
  const { metadata } = await read(world.nso, at(name))
  const left = (metadata.finalizers ?? []).filter((each) => each !== finalizers.claim)
  const body = { metadata: { finalizers: left, resourceVersion: metadata.resourceVersion } }
  assertPassed(await write(world.nso, at(name), { manager: managers.claim, body }))
}

/** What kubectl answers; `input` is its standard input. */
async function kubectlSays(args: string, input?: object): Promise<{ code: number; text: string }> {
  const target = { kubeconfigPath: personKubeconfig, programs: world.plane.programs, dir: world.plane.dir }
  const { code, stdout, stderr } = await kubectl(
    target,
    ['-n', namespace, ...args.split(' ')],
    input ? JSON.stringify(input) : '',
  )
  return { code, text: `${stdout}${stderr}` }
}

async function run(args: string, input?: object): Promise<void> {
  const { code, text } = await kubectlSays(args, input)
  assert.equal(code, 0, `${args}: ${text}`)
}

const mine = 'example.dev/mine'
const claimOf = (name: string, metadata: object) => ({
  ...{ ...claimKind, metadata: { name, ...metadata }, spec: { network: { name: 'net' } } },
})

for (const [name, how, finalizersOf] of [
  // A client-side apply replaces the whole list of finalizers by that of the manifest.
  ['client-side', 'apply -f -', () => ({})],
  ['server-side', 'apply --server-side -f -', (...own: string[]) => ({ finalizers: own })],
] as const)
  test(`kubectl: a claim of one’s own, applied ${name}, changed, labelled`, async () => {
    await run(how, claimOf(name, { labels: { a: 'b' }, annotations: { a: 'b' }, ...finalizersOf(mine) }))
    await nsoHolds(name)
    await run(how, claimOf(name, { labels: { a: 'c', d: 'e' }, ...finalizersOf(mine, 'example.dev/second') }))
    await run(`label ${NetworkInterfaceClaim.plural} ${name} team=x`)
    await run(`annotate ${NetworkInterfaceClaim.plural} ${name} note=x`)
    await run(how, claimOf(name, { labels: { d: 'e' } }))
    const { metadata } = await read(person, at(name))
    assert.deepEqual(metadata.finalizers, [finalizers.claim])
    assert.deepEqual(metadata.labels, { d: 'e', team: 'x' })
    await nsoReleases(name)
  })

test('kubectl: a client-side apply that would take NSO’s finalizer out with its list is refused, and says so', async () => {
  const name = 'with-list'
  await run('apply -f -', claimOf(name, { finalizers: [mine] }))
  await nsoHolds(name)
  const { code, text } = await kubectlSays('apply -f -', claimOf(name, { finalizers: [mine, 'example.dev/second'] }))
  assert.equal(code, 1)
  assert.ok(text.includes(`metadata.finalizers/${finalizers.claim} written only by ${world.nso.user}`), text)
  assert.deepEqual((await read(person, at(name))).metadata.finalizers, [mine, finalizers.claim])
})

test('kubectl: labels and annotations on an interface, which stay when NSO writes', async () => {
  const nic = await makeInterface('labelled')
  await run(`label ${NetworkInterface.plural} labelled team=x`)
  await run(`annotate ${NetworkInterface.plural} labelled note=x`)
  const labels = { 'compute.datumapis.com/instance': 'b' }
  assertPassed(await write(world.nso, nic, { manager: managers.claim, body: { metadata: { labels } } }))
  assert.deepEqual((await read(person, nic)).metadata.labels, { ...labels, team: 'x' })
  await run(`label ${NetworkInterface.plural} labelled team-`)
})

for (const propagationPolicy of ['Background', 'Foreground', 'Orphan'])
  test(`a claim is deleted (${propagationPolicy}) with what depends on it, and NSO lets it go`, async () => {
    const name = `deleted-${propagationPolicy.toLowerCase()}`
    const body = { ...claimKind, metadata: { name }, spec: { network: { name: 'net' } } }
    assertPassed(await write(person, at(name), { method: 'POST', body }))
    await nsoHolds(name)
    const { metadata } = await read(person, at(name))
    const reference = { apiVersion: identity.apiVersion, kind: claimKind.kind, name, uid: metadata.uid, blockOwnerDeletion: true }
    const child = { ...body, metadata: { name: `${name}-child`, ownerReferences: [reference] } }
    assertPassed(await write(person, at(`${name}-child`), { method: 'POST', body: child }))
    const request = { method: 'DELETE', path: pathOf(name), body: { propagationPolicy } } as const
    assert.ok((await world.plane.connection.request(request)).status < 300)
    const collected = propagationPolicy === 'Orphan' ? 'orphan' : 'foregroundDeletion'
    if (propagationPolicy !== 'Background')
      await eventually('the collector has done its part', async () => {
        return !(await read(person, at(name))).metadata.finalizers?.includes(collected)
      })
    await nsoReleases(name)
    await eventually('it is gone', async () => (await person.connection.request({ path: pathOf(name) })).status === 404)
    await eventually('its dependent is gone, or is free', async () => {
      const { status: code, body: left } = await person.connection.request({ path: pathOf(`${name}-child`) })
      if (propagationPolicy !== 'Orphan') return code === 404
      return !(left as { metadata: { ownerReferences?: unknown[] } }).metadata.ownerReferences
    })
  })

test('the holder reports by apply, by patch and by putting the object, and with a name of its own or none', async () => {
  const nic = await makeInterface('held')
  await world.setParameters({ data: { holder: person.user } })
  const condition = { ...conditions('True')[0], type: 'HolderAvailable' }
  const given = { kind: NetworkInterface.kind, status: { conditions: [condition] } }
  await eventually('the holder may', async () => (await apply(person, nic, 'compute', given, { dryRun: true })).status === 200)
  assertPassed(await apply(person, nic, 'compute', given))
  assertPassed(await apply(world.nso, nic, managers.interface, { status: { ...status, vpc: 'k' } }))
  for (const manager of ['compute', 'agent', undefined]) {
    const stands = await read(person, nic)
    const { conditions: all } = stands.status as { conditions: { type: string; message: string }[] }
    const said = all.map((each) => (each.type === 'HolderAvailable' ? { ...each, message: `by ${manager}` } : each))
    const body = { ...stands, status: { ...(stands.status as object), conditions: said } }
    const named = manager === undefined ? {} : { manager }
    assertPassed(await write(person, nic, { method: 'PUT', subresource: 'status', body, ...named }))
    assertPassed(await write(person, nic, { subresource: 'status', body: { status: { conditions: all } }, ...named }))
    assertPassed(await apply(world.nso, nic, managers.interface, { status: { ...status, vpc: `k${manager}` } }))
  }
  await world.setParameters({ data: { holder: '' } })
})

test('a newer table installed over the policies: not one write slips through, and none of NSO’s is refused', async () => {
  const nic = await makeInterface('upgraded')
  const newer = ownership.map((row) => ({
    ...row,
    status: row.status.map((owner) => ({ ...owner, formerly: [...(owner.formerly ?? []), 'older-still'] })),
  }))
  const own = () => apply(world.nso, nic, managers.interface, { status }, { dryRun: true })
  const older = () => apply(world.nso, nic, 'older-still', { status: { ...status, vpc: 'z' } }, { dryRun: true })
  const trespass = () => write(person, nic, { subresource: 'status', body: { status: { vpc: 'z' } }, dryRun: true })
  for (const [table, isNew] of [
    [newer, true],
    [ownership, false],
  ] as const) {
    await world.plane.apply(ownershipPolicies({ ...enforcement, table }) as Installable[])
    await eventually('the table of now is in force', async () => {
      assertRefused(await trespass(), 'status.vpc')
      assertPassed(await own())
      return ((await older()).status === 200) === isNew
    })
  }
})

test('conditions that the schema should never have let in: without a type, of an odd type, twice the same', async () => {
  const [claims, interfaces] = [NetworkInterfaceClaim, NetworkInterface].map(
    ({ plural, group }) => `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plural}.${group}`,
  )
  assert.ok(claims && interfaces)
  const nic = await makeInterface('odd')
  type Schema = { properties: { status: Record<string, unknown> } }
  const crd = (await world.plane.connection.must({ path: interfaces })) as {
    spec: { versions: { schema: { openAPIV3Schema: Schema } }[] }
  }
  for (const version of crd.spec.versions)
    version.schema.openAPIV3Schema.properties.status = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  await world.plane.connection.must({ method: 'PUT', path: interfaces, body: crd })
  const prepared = { type: 'Prepared', status: 'True' }
  const odd = [{}, { status: 'True' }, { type: 5 }, { type: null }, { type: ['Prepared'] }, prepared, prepared]
  await eventually('the schema lets everything in', async () => {
    const body = { status: { ...status, conditions: odd } }
    const given = { subresource: 'status', manager: managers.interface, body } as const
    assertPassed(await write(world.nso, nic, given))
    return JSON.stringify((await read(person, nic)).status).includes('{"type":5}')
  })
  for (const vpc of ['a', 'b'])
    assertPassed(await write(world.nso, nic, { subresource: 'status', manager: managers.interface, body: { status: { vpc } } }))
  assertPassed(await write(person, nic, { subresource: 'status', body: { status: { note: 'x' } } }))
  const fewer = { status: { conditions: odd.slice(0, -1) } }
  assertRefused(await write(person, nic, { subresource: 'status', body: fewer }), 'status.conditions[Prepared]')
  assertPassed(await write(world.nso, nic, { manager: managers.interface, body: { metadata: { finalizers: null } } }))
  await world.plane.apply(nsoManifests().crds as Installable[])
})
