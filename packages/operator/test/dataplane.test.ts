// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the strings are templates of a DataPlane
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import type { NetworkInterface } from '@nso/api'
import { galacticManifests } from 'galactic/manifests'
import { type KubeObject, keyOf } from 'kube-control-loop'
import { type AuditEntry, parseManifests, readAudit, tailAudit } from 'kube-localplane'
import { eventually, type TestNamespace, testNamespace } from 'kube-localplane/testing'
import type { TemplateScope } from '../src/dataplane/types.ts'
import {
  otherGrant,
  planeSays,
  read,
  startControllers,
  startWorld,
  toyCrd,
  toyGroup,
  toyPlane,
  toyRole,
  type World,
} from './dataplane-world.ts'
import { aContext, anInterface, aSubnet } from './objects.ts'

const nso = '/apis/networking.datumapis.com/v1alpha'
const signal = new AbortController().signal

let plane: Awaited<ReturnType<typeof startWorld>>
let world: World
let namespace: TestNamespace

before(async () => {
  plane = await startWorld('dataplane')
  world = await startControllers(plane)
  namespace = await testNamespace(plane, 'planes')
})
after(async () => {
  await world?.stop()
  await plane?.stop()
})

/** Stored as a user would store it: without what only the server gives. */
async function store(plural: string, object: KubeObject): Promise<KubeObject> {
  const { uid: _, resourceVersion: __, generation: ___, ...metadata } = object.metadata
  const body = { ...object, metadata: { ...metadata, namespace: namespace.name } }
  return (await plane.connection.must({
    method: 'POST',
    path: `${nso}/namespaces/${namespace.name}/${plural}`,
    body,
  })) as KubeObject
}

/** The test plays the controllers of claims. */
const interfaceNamed = async (name: string, spec: Partial<NetworkInterface['spec']> = {}) => {
  const played = { kind: 'NetworkInterface', namespace: namespace.name, name, why: 'the test plays the claim controller' }
  for (const path of ['spec', 'metadata']) plane.recorder.expect({ ...played, path })
  return (await store('networkinterfaces', anInterface({ metadata: { name }, spec }))) as NetworkInterface
}

const remove = (path: string) => plane.connection.must({ method: 'DELETE', path })
const crdPath = (plural: string) => `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plural}.${toyGroup}`
const wire = (plural: string, name: string) => `/apis/${toyGroup}/v1/namespaces/${namespace.name}/${plural}/${name}`

const scopeFor = (nic: NetworkInterface): TemplateScope => ({ interface: nic, context: aContext(), subnets: [] })

function ensure(name: string, nic: NetworkInterface, writer = world.module.attachmentWriter('networkinterface')) {
  const found = world.module.planes.get(name)
  assert.ok(found)
  return writer.ensureAttachment({ plane: found.plane, interface: nic, scope: scopeFor(nic) }, signal)
}

function report(name: string, nic: NetworkInterface) {
  const found = world.module.planes.get(name)
  assert.ok(found)
  const attachment = found.plane.attachments?.get(keyOf(nic))
  return found.plane.translate({ interface: nic, attachment, scope: scopeFor(nic) })
}

type Told = { type: string; reason: string; note: string; series?: object; regarding: { uid?: string } }

const ours = 'system:serviceaccount:nso-system:nso'
const isAboutLate = ({ name, resource }: AuditEntry) => name === 'late' || resource === 'selfsubjectaccessreviews'

/** What NSO wrote since a point in the audit log. */
async function writesSince(from: number, about: (entry: AuditEntry) => boolean) {
  const to = await tailAudit(plane)
  const entries = await readAudit(plane.auditLogPath ?? '', { from, to })
  return entries
    .filter(({ user, verb, resource }) => user === ours && !['get', 'list', 'watch'].includes(verb) && resource !== 'leases')
    .filter(about)
    .map(({ verb, resource, name, code }) => ({ verb, resource, name, code }))
}

/** Whether a controller has no key in hand or waiting, as its own metrics say. */
async function isIdle({ manager }: World, controller: string): Promise<boolean> {
  const page = await manager.metrics.page()
  const value = (metric: string, label: string) =>
    Number(new RegExp(`^${metric}\\{[^}]*${label}="${controller}"[^}]*\\} (\\S+)$`, 'm').exec(page)?.[1] ?? 'NaN')
  return value('workqueue_depth', 'name') === 0 && value('controller_runtime_active_workers', 'controller') === 0
}

describe('Galactic’s DataPlane, as it is delivered,', () => {
  test('is made after the context and its subnets, and the VPC comes at once, owned by the context', async () => {
    const { crds } = galacticManifests()
    await plane.apply(crds)
    await store('networkcontexts', aContext({ metadata: { name: 'net-here' }, spec: { ipFamilies: ['IPv6', 'IPv4'] } }))
    await store('subnets', aSubnet({ metadata: { name: 'net-here-ipv6' } }))
    await plane.apply(
      parseManifests(await readFile(new URL('../../../deploy/data-planes/galactic.yaml', import.meta.url), 'utf8')),
    )
    await planeSays(world, 'galactic', { Accepted: 'True/Accepted', Installed: 'True/Installed', Permitted: 'True/Permitted' })

    const vpc = `/apis/cloud.datumapis.com/v1alpha1/namespaces/${namespace.name}/vpcs/net-here`
    assert.equal(await read(plane, vpc), undefined, 'made before every family has a subnet')
    await store(
      'subnets',
      aSubnet({ metadata: { name: 'net-here-ipv4' }, spec: { ipFamily: 'IPv4', startAddress: '10.128.0.0', prefixLength: 20 } }),
    )
    const made = await eventually('the VPC', () => read(plane, vpc))
    const context = await read(plane, `${nso}/namespaces/${namespace.name}/networkcontexts/net-here`)
    assert.deepEqual(made.spec, { networks: ['10.128.0.0/20', 'fd20:0:0:1::/64'] })
    assert.deepEqual(made.metadata.finalizers, ['cloud.datumapis.com/finalizer'])
    assert.deepEqual(made.metadata.ownerReferences, [
      {
        apiVersion: 'networking.datumapis.com/v1alpha',
        kind: 'NetworkContext',
        name: 'net-here',
        uid: context?.metadata.uid,
        controller: true,
        blockOwnerDeletion: false,
      },
    ])
    assert.deepEqual(
      made.metadata.managedFields?.map(({ manager, operation }) => `${manager} ${operation}`),
      ['nso-dataplane Update'],
    )
  })

  test('and the VPC is never changed, whatever ranges come later', async () => {
    const path = `/apis/cloud.datumapis.com/v1alpha1/namespaces/${namespace.name}/vpcs/net-here`
    const before = await read(plane, path)
    const from = await tailAudit(plane)
    await store('subnets', aSubnet({ metadata: { name: 'net-here-more' }, spec: { startAddress: 'fd20:0:0:2::' } }))
    await eventually('the cache', () => world.caches.subnets.get(`${namespace.name}/net-here-more`))
    await eventually('the pass over the context', () => isIdle(world, 'dataplane-network'))
    assert.deepEqual(await writesSince(from, ({ resource }) => resource === 'vpcs'), [])
    assert.deepEqual(await read(plane, path), before)
  })

  test('gives an interface an attachment that Galactic’s own schema accepts, made once', async () => {
    const nic = await interfaceNamed('gal-0')
    const made = await ensure('galactic', nic)
    assert.equal(made.result, 'created')
    const stored = await read(plane, `/apis/cloud.datumapis.com/v1alpha1/namespaces/${namespace.name}/vpcattachments/gal-0`)
    assert.deepEqual(stored?.spec, {
      vpc: { name: 'net-here' },
      interfaceRef: { name: 'gal-0' },
      interface: {
        name: 'eth0',
        mode: 'Netns',
        mtu: 1460,
        addresses: ['fd20:0:0:1::1:0:0/96'],
        gateways: ['fd20:0:0:1::1'],
      },
    })
    assert.equal((await ensure('galactic', nic)).result, 'unchanged')
    assert.deepEqual(report('galactic', nic).prepared.reason, 'Pending')
  })
})

test('someone else’s object under the name of a context is left alone, and told of once where users look', async () => {
  const vpcs = `/apis/cloud.datumapis.com/v1alpha1/namespaces/${namespace.name}/vpcs`
  const body = { apiVersion: 'cloud.datumapis.com/v1alpha1', kind: 'VPC', metadata: { name: 'net-taken' } }
  const taken = { kind: 'VPC', namespace: namespace.name, name: 'net-taken', path: 'spec' }
  plane.recorder.expect({ ...taken, why: 'the test plays someone else' })
  await plane.connection.must({ method: 'POST', path: vpcs, body: { ...body, spec: { networks: ['fd99::/64'] } } })
  await eventually('the cache', () => world.module.planes.get('galactic')?.plane.networks?.get(`${namespace.name}/net-taken`))
  const context = await store('networkcontexts', aContext({ metadata: { name: 'net-taken' }, spec: { ipFamilies: ['IPv6'] } }))
  const events = async () => {
    const path = `/apis/events.k8s.io/v1/namespaces/${namespace.name}/events`
    const { items } = (await plane.connection.must({ method: 'GET', path })) as { items: Told[] }
    return items
      .filter(({ regarding }) => regarding.uid === context.metadata.uid)
      .map(({ type, reason, note, series }) => ({ type, reason, note, ...(series ? { series } : {}) }))
  }
  const note = `VPC ${namespace.name}/net-taken exists and is not this context’s: it is not taken over`
  const told = { type: 'Warning', reason: 'NetworkObjectForeign', note }
  await eventually('an event', async () => (await events()).length > 0)
  // What alters nothing wakes the controller, which then has nothing new to say.
  const path = `${nso}/namespaces/${namespace.name}/networkcontexts/net-taken`
  for (const touched of ['1', '2']) {
    const patch = { metadata: { annotations: { touched } } }
    await plane.connection.must({ method: 'PATCH', path, contentType: 'application/merge-patch+json', body: patch })
    await eventually(
      'the cache',
      () => world.caches.contexts.get(`${namespace.name}/net-taken`)?.metadata.annotations?.touched === touched,
    )
    await eventually('the pass over the context', () => isIdle(world, 'dataplane-network'))
  }
  await world.manager.events.flush(5_000)
  assert.deepEqual(await events(), [told])
  assert.deepEqual((await read(plane, `${vpcs}/net-taken`))?.spec, { networks: ['fd99::/64'] })

  await remove(`${vpcs}/net-taken`)
  await store('subnets', aSubnet({ metadata: { name: 'net-taken-ipv6' }, spec: { networkContext: { name: 'net-taken' } } }))
  const made = await eventually('the VPC', () => read(plane, `${vpcs}/net-taken`))
  assert.equal(made.metadata.ownerReferences?.[0]?.uid, context.metadata.uid)
})

describe('A DataPlane says of itself', () => {
  test('that its kind is missing, that it may not use it, and that it is well, as these come and go', async () => {
    await plane.apply([toyPlane('late', 'Wire')])
    const missing = await planeSays(world, 'late', {
      Accepted: 'True/Accepted',
      Installed: 'False/KindNotServed',
      Permitted: 'Unknown/NotInstalled',
    })
    assert.match(missing.Installed, /Wire \(planes\.example\.dev\/v1\)/)
    const nic = await interfaceNamed('late-0')
    assert.deepEqual(
      [report('late', nic).prepared.status, report('late', nic).prepared.reason],
      ['False', 'DataPlaneNotInstalled'],
    )
    assert.equal((await ensure('late', nic)).result, 'waiting')

    await plane.apply([toyCrd('Wire', 'wires')])
    const denied = await planeSays(world, 'late', { Installed: 'True/Installed', Permitted: 'False/NotPermitted' })
    assert.match(denied.Permitted, /get, list, watch, create, patch, delete wires\.planes\.example\.dev/)
    assert.match(denied.Permitted, /networking\.datumapis\.com\/aggregate-to-nso: "true"/)
    assert.match(report('late', nic).prepared.message, /does not exist yet: NSO may not get/)
    assert.equal((await ensure('late', nic)).result, 'waiting')

    await plane.apply([toyRole('wires', ['get', 'list', 'watch'])])
    await eventually(
      'the role in part',
      async () =>
        /NSO may not create, patch, delete wires/.test(
          (await planeSays(world, 'late', { Permitted: 'False/NotPermitted' })).Permitted,
        ),
      { timeoutMs: 30_000 },
    )
    await plane.apply([toyRole('wires')])
    await planeSays(world, 'late', { Installed: 'True/Installed', Permitted: 'True/Permitted' })
    const made = await eventually('an attachment', async () => {
      const ensured = await ensure('late', nic)
      return ensured.result === 'waiting' ? undefined : ensured
    })
    assert.equal(made.result, 'created')
  })

  test('that the kind went, without its controllers stopping, and is well again when it returns', async () => {
    const nic = world.caches.interfaces.get(`${namespace.name}/late-0`) as NetworkInterface
    const woken = new Set<string>()
    const unsubscribe = world.module.planes.onAttachment((key) => woken.add(key))
    await remove(crdPath('wires'))
    await planeSays(world, 'late', {
      Accepted: 'True/Accepted',
      Installed: 'False/KindNotServed',
      Permitted: 'Unknown/NotInstalled',
    })
    assert.ok(woken.has(keyOf(nic)), 'the interface hears that its attachment went with the kind')
    unsubscribe()
    assert.equal(report('late', nic).prepared.reason, 'DataPlaneNotInstalled')
    const writer = world.module.attachmentWriter('networkinterface')
    assert.equal(await writer.removeAttachment({ interface: nic, plane: world.module.planes.get('late')?.plane }, signal), 'gone')

    await plane.apply([toyCrd('Wire', 'wires')])
    await planeSays(world, 'late', { Installed: 'True/Installed', Permitted: 'True/Permitted' })
    const made = await eventually('an attachment again', async () => {
      const ensured = await ensure('late', nic)
      return ensured.result === 'waiting' ? undefined : ensured
    })
    assert.equal(made.result, 'created')
  })

  test('that a permission was withdrawn from NSO’s role, before any write is refused', async () => {
    await plane.apply([toyPlane('revoked', 'Rope'), toyCrd('Rope', 'ropes'), toyRole('ropes')])
    await planeSays(world, 'revoked', { Installed: 'True/Installed', Permitted: 'True/Permitted' })
    const nic = await interfaceNamed('revoked-0')
    await remove('/apis/rbac.authorization.k8s.io/v1/clusterroles/toy-ropes')
    await planeSays(world, 'revoked', { Installed: 'True/Installed', Permitted: 'False/NotPermitted' })
    assert.equal((await ensure('revoked', nic)).result, 'waiting')
    await plane.apply([toyRole('ropes')])
    await planeSays(world, 'revoked', { Permitted: 'True/Permitted' })
  })

  test('that a permission granted elsewhere was withdrawn, when a write is refused for it', async () => {
    await plane.apply([toyCrd('Cord', 'cords'), ...otherGrant('cords')])
    const review = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user: ours, resourceAttributes: { group: toyGroup, resource: 'cords', verb: 'create' } },
    }
    const reviews = { method: 'POST', path: '/apis/authorization.k8s.io/v1/subjectaccessreviews', body: review } as const
    await eventually('the grant', async () => {
      const { status } = (await plane.connection.must(reviews)) as { status: { allowed: boolean } }
      return status.allowed
    })
    await plane.apply([toyPlane('elsewhere', 'Cord')])
    await planeSays(world, 'elsewhere', { Installed: 'True/Installed', Permitted: 'True/Permitted' })
    const nic = await interfaceNamed('elsewhere-0')
    await remove('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/other-cords')
    const refused = await eventually('a refusal', async () => {
      try {
        await ensure('elsewhere', nic)
      } catch (error) {
        return error as Error & { status?: number }
      }
      await remove(wire('cords', 'elsewhere-0')).catch(() => undefined)
      return undefined
    })
    assert.equal(refused.status, 403, String(refused))
    await planeSays(world, 'elsewhere', { Installed: 'True/Installed', Permitted: 'False/NotPermitted' })
    assert.equal((await ensure('elsewhere', nic)).result, 'waiting', 'no more refused writes')
    await plane.apply([toyRole('cords')])
    await planeSays(world, 'elsewhere', { Permitted: 'True/Permitted' })
  })

  test('that a template does not compile, where, and that it is accepted once corrected', async () => {
    await plane.apply([toyPlane('broken', 'Wire', { spec: { mtu: '${interface.spec.mtu +}', mode: '${nobody.knows}' } })])
    const broken = await planeSays(world, 'broken', { Accepted: 'False/InvalidTemplate' })
    assert.match(broken.Accepted, /spec\.attachment\.spec\.mtu, column 23: /)
    assert.match(broken.Accepted, /spec\.attachment\.spec\.mode, column 3: Unknown variable: nobody/)
    assert.equal(world.module.planes.choose('broken-1')?.ref.name, 'galactic', 'one that is not accepted takes no part')
    await plane.apply([toyPlane('broken', 'Wire')])
    await planeSays(world, 'broken', { Accepted: 'True/Accepted', Installed: 'True/Installed', Permitted: 'True/Permitted' })
    assert.equal(world.module.planes.choose('broken-1')?.ref.name, 'broken')
  })

  test('to whom it lost a tie, and takes over when that one goes', async () => {
    await plane.apply([toyPlane('rival-a', 'Wire', { locations: ['dock-*'] })])
    await planeSays(world, 'rival-a', { Accepted: 'True/Accepted' })
    await eventually('a second that the age of both differs', async () => {
      const first = await read(plane, `${nso}/dataplanes/rival-a`)
      return Date.now() - Date.parse(first?.metadata.creationTimestamp ?? '') > 1_000
    })
    await plane.apply([toyPlane('rival-0', 'Wire', { locations: ['dock-*'] })])
    const lost = await planeSays(world, 'rival-0', { Accepted: 'False/LocationsServedByAnother' })
    assert.match(lost.Accepted, /dock-\* by DataPlane rival-a/)
    assert.equal(world.module.planes.choose('dock-1')?.ref.name, 'rival-a')
    await remove(`${nso}/dataplanes/rival-a`)
    await planeSays(world, 'rival-0', { Accepted: 'True/Accepted' })
    assert.equal(world.module.planes.choose('dock-1')?.ref.name, 'rival-0')
  })

  test('that its kind is not namespaced', async () => {
    await plane.apply([toyCrd('Grid', 'grids', 'Cluster'), toyPlane('wide', 'Grid')])
    await planeSays(world, 'wide', { Installed: 'False/KindNotNamespaced', Permitted: 'Unknown/NotInstalled' })
  })
})

describe('An attachment', () => {
  test('follows its interface, value by value, and keeps what others put there', async () => {
    const nic = await interfaceNamed('follow-0')
    const writer = world.module.attachmentWriter('networkinterface')
    assert.equal((await ensure('late', nic, writer)).result, 'created')
    await plane.connection.must({
      method: 'PATCH',
      path: wire('wires', 'follow-0'),
      contentType: 'application/merge-patch+json',
      body: { metadata: { labels: { foreign: 'x' }, annotations: { note: 'y' } } },
    })
    const spec = async () => {
      const stored = await read(plane, wire('wires', 'follow-0'))
      return { spec: stored?.spec, labels: stored?.metadata.labels }
    }
    const labels = { ...nic.metadata.labels, foreign: 'x' }
    const ends = [{ at: 'fd20:0:0:1::1:0:0/96', weight: 1 }]
    assert.deepEqual(await spec(), { spec: { mode: 'plain', mtu: 1460, ends }, labels })

    const settledAt = async (changed: NetworkInterface, want: object) => {
      await eventually('a patch', async () => (await ensure('late', changed, writer)).result === 'unchanged')
      assert.deepEqual(await spec(), want)
    }
    const longer: NetworkInterface = { ...nic, spec: { ...nic.spec, mtu: 1500, attachmentMode: 'Hypervisor' } }
    await settledAt(longer, { spec: { mode: 'tap', mtu: 1500, ends }, labels })
    const { mtu: _, ...rest } = nic.spec
    await settledAt({ ...nic, spec: rest }, { spec: { mode: 'plain', ends }, labels })
  })

  test('whose default stands where the template yields nothing is patched at most once by a new process', async () => {
    const nic = world.caches.interfaces.get(`${namespace.name}/follow-0`) as NetworkInterface
    const { mtu: _, ...rest } = nic.spec
    const bare = { ...nic, spec: rest }
    const fresh = world.module.attachmentWriter('networkinterface')
    assert.equal((await ensure('late', bare, fresh)).result, 'patched')
    assert.equal((await ensure('late', bare, fresh)).result, 'unchanged')
  })

  test('of someone else is reported and left alone', async () => {
    const nic = await interfaceNamed('foreign-0')
    const body = { apiVersion: `${toyGroup}/v1`, kind: 'Wire', metadata: { name: 'foreign-0' }, spec: { mode: 'theirs' } }
    await plane.connection.must({ method: 'POST', path: wire('wires', '').slice(0, -1), body })
    const ensured = await eventually('a verdict', async () => {
      try {
        return await ensure('late', nic)
      } catch (error) {
        assert.equal((error as Error).name, 'WriteRaced')
        return undefined
      }
    })
    assert.equal(ensured.result, 'foreign')
    assert.match('message' in ensured ? ensured.message : '', /^Wire .*foreign-0 exists and has no controlling owner/)
    assert.deepEqual((await read(plane, wire('wires', 'foreign-0')))?.spec, { mode: 'theirs' })
    assert.equal(report('late', nic).prepared.reason, 'ReportStale')
    const writer = world.module.attachmentWriter('networkinterface')
    assert.equal(await writer.removeAttachment({ interface: nic, plane: world.module.planes.get('late')?.plane }, signal), 'gone')
    assert.ok(await read(plane, wire('wires', 'foreign-0')), 'it still stands')
  })

  test('goes only when its data plane lets it go, and then is gone for sure, also without its DataPlane', async () => {
    const nic = await interfaceNamed('held-0')
    assert.equal((await ensure('late', nic)).result, 'created')
    const finalizers = (list: string[]) =>
      plane.connection.must({
        method: 'PATCH',
        path: wire('wires', 'held-0'),
        contentType: 'application/merge-patch+json',
        body: { metadata: { finalizers: list } },
      })
    await finalizers(['planes.example.dev/hold'])
    const writer = world.module.attachmentWriter('networkinterface')
    const attachmentRef = { apiGroup: toyGroup, kind: 'Wire' }
    assert.equal(await writer.removeAttachment({ interface: nic, attachmentRef }, signal), 'going')
    const again = await ensure('late', nic)
    assert.equal(again.result, 'waiting')
    const woken = new Promise<void>((resolve) => {
      const stop = world.module.planes.onAttachment((key) => {
        if (key !== keyOf(nic)) return
        stop()
        resolve()
      })
    })
    await finalizers([])
    await woken
    await eventually('its end', async () => (await writer.removeAttachment({ interface: nic }, signal)) === 'gone')
  })

  test('of a kind that no server knows counts as gone', async () => {
    const nic = await interfaceNamed('never-0')
    const writer = world.module.attachmentWriter('networkinterface')
    const attachmentRef = { apiGroup: 'gone.example.dev', kind: 'Wire' }
    assert.equal(await writer.removeAttachment({ interface: nic, attachmentRef }, signal), 'gone')
  })
})

test('a plane in order is written and asked about only when something changes', async () => {
  await planeSays(world, 'late', { Permitted: 'True/Permitted' })
  const from = await tailAudit(plane)
  // A change that alters nothing: the controllers see it and pass over it.
  for (const value of ['1', '2', '3']) {
    await plane.connection.must({
      method: 'PATCH',
      path: `${nso}/dataplanes/late`,
      contentType: 'application/merge-patch+json',
      body: { metadata: { annotations: { touched: value } } },
    })
    await eventually('the cache', () => world.caches.dataPlanes.get('late')?.metadata.annotations?.touched === value)
  }
  assert.deepEqual(await writesSince(from, isAboutLate), [])
})

test('a restart of the API server loses no kind: nothing is ever taken for gone', async () => {
  const states = new Set<string>()
  const stop = world.module.kinds.onKind(({ ref, state }) => states.add(`${ref.kind} ${state}`))
  const gone: string[] = []
  const stopObjects = world.module.kinds.onObject((kind, key) => {
    if (!kind.cache?.get(key)) gone.push(`${kind.ref.kind} ${key}`)
  })
  await plane.restart()
  const nic = await interfaceNamed('restart-0')
  const made = await eventually('an attachment', async () => {
    try {
      const ensured = await ensure('late', nic)
      return ensured.result === 'waiting' ? undefined : ensured.result
    } catch {
      return undefined
    }
  })
  assert.ok(made === 'created' || made === 'unchanged', made)
  await eventually('all caches to follow again', () =>
    ['galactic', 'late'].every((name) => world.module.planes.get(name)?.plane.attachments?.state === 'synced'),
  )
  stop()
  stopObjects()
  assert.deepEqual(
    [...states].filter((state) => /unserved|unknown/.test(state) && !state.startsWith('Grid')),
    [],
  )
  assert.deepEqual(gone, [])
})

test('a new process writes nothing where all is as it was, and takes no report back', async () => {
  const nic = await interfaceNamed('again-0', { attachmentMode: 'Hypervisor' })
  await eventually('an attachment', async () => (await ensure('late', nic)).result === 'unchanged')
  await world.stop()
  const from = await tailAudit(plane)
  world = await startControllers(plane)
  await planeSays(world, 'late', { Accepted: 'True/Accepted', Installed: 'True/Installed', Permitted: 'True/Permitted' })
  await eventually('the cache', () => world.caches.interfaces.get(keyOf(nic)))
  await eventually('attachments', () => world.module.planes.get('late')?.plane.attachments?.get(keyOf(nic)))
  assert.equal((await ensure('late', nic)).result, 'unchanged')
  await eventually('the pass over the context', () => isIdle(world, 'dataplane-network'))
  await eventually('the passes over planes', () => isIdle(world, 'dataplane'))
  assert.deepEqual(await writesSince(from, ({ resource }) => resource !== 'selfsubjectaccessreviews'), [])
})

test('an NSO whose role is older, and lets it watch neither kinds nor the role, finds both by asking', async () => {
  const path = '/apis/rbac.authorization.k8s.io/v1/clusterroles/nso-core'
  const role = (await read(plane, path)) as KubeObject & { rules: { resources: string[] }[] }
  const watched = ['customresourcedefinitions', 'clusterroles']
  const rules = role.rules.map((rule) => ({ ...rule, resources: rule.resources.filter((one) => !watched.includes(one)) }))
  const patch = { rules: rules.filter(({ resources }) => resources.length > 0) }
  assert.notEqual(patch.rules.length, role.rules.length)
  await world.stop()
  const contentType = 'application/merge-patch+json'
  await plane.connection.must({ method: 'PATCH', path, contentType, body: patch })
  const mayRead = async () => {
    const attributes = { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions', verb: 'watch' }
    const spec = { user: ours, resourceAttributes: attributes }
    const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec }
    const review = { method: 'POST', path: '/apis/authorization.k8s.io/v1/subjectaccessreviews', body } as const
    return ((await plane.connection.must(review)) as { status: { allowed: boolean } }).status.allowed
  }
  await eventually('the older role', async () => !(await mayRead()))
  world = await startControllers(plane)
  await plane.apply([toyPlane('older', 'Hemp')])
  await planeSays(world, 'older', { Installed: 'False/KindNotServed' })
  await plane.apply([toyCrd('Hemp', 'hemps')])
  await planeSays(world, 'older', { Installed: 'True/Installed', Permitted: 'False/NotPermitted' })
  await plane.apply([toyRole('hemps')])
  await planeSays(world, 'older', { Permitted: 'True/Permitted' })
})
