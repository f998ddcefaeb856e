// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the strings are templates of a DataPlane
/** The end of a DataPlane on a real API server: what keeps it, what it waits for, and one that is made again. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { DataPlane, finalizers, NetworkContext, NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import { crdOf } from 'kube-control-loop'
import { type HeldRule, type ScriptedTransport, scriptTransport } from 'kube-control-loop/testing'
import { eventually } from 'kube-localplane/testing'
import {
  acceptedOf,
  always,
  attachmentOf,
  attachmentsOf,
  bring,
  choiceOf,
  claimed,
  drop,
  life,
  networkRole,
  place,
  planeAt,
  planeIsGone,
  planeOf,
  planeSays,
  preparedOf,
  ready,
  release,
  startLife,
  toySpec,
  withNetwork,
} from './life-world.ts'
import { ToyNetwork } from './races/world.ts'
import { ToyAttachment, toyFinalizer, toyManifests } from './toy-plane.ts'
import { aClaim, claimSays, create, find, gone, merge, remove, said, strip } from './world.ts'

startLife()

describe('a DataPlane that is not in use', () => {
  test('holds NSO’s finalizer before anybody is given to it, and goes at once', async () => {
    const plane = await bring('unused')
    assert.deepEqual(plane.metadata.finalizers, [finalizers.dataPlane])
    await drop('unused')
    await planeIsGone('unused')
  })

  test('that is deleted before NSO saw it is not waited for', async () => {
    await life.nso.stop()
    await create(life.world.client, planeOf('unseen'))
    await drop('unseen')
    assert.equal(await planeAt('unseen'), undefined)
    life.nso = await life.world.startNso()
  })

  test('that others hold says whose finalizer keeps it, and that NSO is done with it', async () => {
    await bring('others')
    const where = { kind: 'DataPlane', name: 'others', path: 'metadata.finalizers' }
    life.world.recorder.expect({ ...where, why: 'the administrator adds one', maybe: true })
    await merge(life.world.client, DataPlane, undefined, 'others', {
      metadata: { finalizers: ['example.dev/mine', finalizers.dataPlane] },
    })
    await drop('others')
    const plane = await planeSays('others', 'False Deleting', /Serves nobody; finalizers of others keep it: example\.dev\/mine/)
    await eventually(
      'NSO has let go',
      async () => !(await planeAt('others'))?.metadata.finalizers?.includes(finalizers.dataPlane),
    )
    assert.ok(plane)
    await merge(life.world.client, DataPlane, undefined, 'others', { metadata: { finalizers: null } })
    await planeIsGone('others')
  })
})

describe('a DataPlane that is deleted while it serves', () => {
  test('says for whom it waits, takes nobody new, serves whom it has, and goes with the last of them', async () => {
    const namespace = await place({ prefix: 'going' })
    await bring('going', withNetwork)
    await claimed(namespace)
    await claimed(namespace, 'web-1')
    await drop('going')
    const plane = await planeSays('going', 'False Deleting', /Waits for 2 interfaces: /)
    assert.match(acceptedOf(plane), new RegExp(`${namespace}/web-0 of claim web-0, ${namespace}/web-1 of claim web-1:`))
    assert.equal(plane.status?.conditions?.find(({ type }) => type === 'Accepted')?.observedGeneration, plane.metadata.generation)

    await create(life.world.client, aClaim(namespace, 'late'))
    const late = await claimSays(life.world.client, namespace, 'late', 'Prepared', 'False NoDataPlane')
    assert.match(
      preparedOf(late),
      /location here: DataPlane going is being deleted and takes no new interface: install another for the location$/,
    )
    assert.equal(await attachmentOf(namespace, 'late'), undefined)
    assert.equal(said(await find(life.world.client, NetworkInterfaceClaim, namespace, 'web-0'), 'Ready'), 'True Ready')

    await merge(life.world.client, NetworkContext, namespace, 'net-here', { spec: { mtu: 1400 } })
    await eventually('its attachment follows', async () => (await attachmentOf(namespace))?.spec.mtu === 1400)
    await ready(namespace)

    await release(namespace, 'web-0')
    await planeSays('going', 'False Deleting', /Waits for 1 interface: [^,]*web-1 of claim web-1:/)
    await release(namespace, 'web-1')
    await planeIsGone('going')
    assert.equal(
      await find(life.world.client, ToyNetwork, namespace, 'net-here'),
      undefined,
      'its network object is gone before it',
    )
    await release(namespace, 'late')
  })

  test('gives an interface that it never attached to whoever takes its place', async () => {
    const namespace = await place({ prefix: 'moved' })
    const broken = { attachment: { ...toySpec.attachment, spec: { mtu: '${1 / 0}' } } }
    await bring('first', broken)
    await create(life.world.client, aClaim(namespace, 'web-0'))
    await eventually('its choice', async () => (await choiceOf(namespace)) === 'first')
    await drop('first')
    await planeIsGone('first')
    await claimSays(life.world.client, namespace, 'web-0', 'Prepared', 'False NoDataPlane')
    await bring('second')
    await ready(namespace)
    assert.equal(await choiceOf(namespace), 'second')
    await release(namespace, 'web-0')
    await drop('second')
    await planeIsGone('second')
  })

  test('is not kept by a retained interface that nobody holds, which its next claim finds with another plane', async () => {
    const namespace = await place({ prefix: 'retained' })
    await bring('kept')
    await claimed(namespace, 'web-0', { reclaimPolicy: 'Retain' })
    await release(namespace, 'web-0')
    await drop('kept')
    await planeIsGone('kept')
    await bring('next')
    await claimed(namespace, 'web-0', { reclaimPolicy: 'Retain' })
    assert.equal(await choiceOf(namespace), 'next')
    await merge(life.world.client, NetworkInterfaceClaim, namespace, 'web-0', { metadata: { labels: { end: 'near' } } })
    await release(namespace, 'web-0')
    await remove(life.world.client, NetworkInterface, namespace, 'web-0')
    await drop('next')
    await planeIsGone('next')
  })

  test('B38: whose data plane does not run stays, says which finalizer holds what, and goes on when that is gone', async () => {
    const namespace = await place({ prefix: 'stopped' })
    await bring('stopped')
    await claimed(namespace)
    life.world.toy.behave({ letsGo: false })
    await drop('stopped')
    await remove(life.world.client, NetworkInterfaceClaim, namespace, 'web-0')
    const held = `${namespace}/web-0 of claim web-0 \\(ToyAttachment ${namespace}/web-0 being deleted, held by finalizer ${toyFinalizer}\\)`
    await planeSays('stopped', 'False Deleting', new RegExp(held))
    life.world.toy.behave({ letsGo: true })
    await gone(life.world.client, NetworkInterfaceClaim, namespace, 'web-0')
    await planeIsGone('stopped')
  })

  test('B38: is kept by an attachment that the cache does not show', async () => {
    const namespace = await place({ prefix: 'unseen' })
    await bring('lagging', withNetwork)
    await claimed(namespace)
    await release(namespace, 'web-0')
    await life.nso.stop()
    let held: HeldRule | undefined
    life.nso = await life.world.startNso({
      wrap(transport) {
        const script = scriptTransport(transport)
        held = script.on({ method: 'GET', path: /\/toyattachments$/, query: { watch: 'true' } }, { times: always }).hold()
        return script
      },
    })
    await eventually('attachments are listed', () => attachmentsOf('lagging')?.size === 0 && held?.arrived())
    const nic = { apiVersion: 'networking.datumapis.com/v1alpha', kind: 'NetworkInterface', name: 'lost', uid: 'lost-uid' }
    const metadata = { name: 'lost', namespace, finalizers: [toyFinalizer], ownerReferences: [{ ...nic, controller: true }] }
    life.world.toy.behave({ letsGo: false })
    const made = { kind: 'ToyAttachment', namespace, name: 'lost', path: 'spec' }
    life.world.recorder.expect({ ...made, why: 'the test makes what the cache does not show', maybe: true })
    await create(life.world.client, {
      apiVersion: 'toy.example.dev/v1',
      kind: 'ToyAttachment',
      metadata,
      spec: {},
    } as ToyAttachment)
    await drop('lagging')
    await planeSays('lagging', 'False Deleting', new RegExp(`Waits for 1 attachment: ToyAttachment ${namespace}/lost`))
    assert.equal(attachmentsOf('lagging')?.size, 0)
    held?.release()
    life.world.toy.behave({ letsGo: true })
    await merge(life.world.client, ToyAttachment, namespace, 'lost', { metadata: { finalizers: null } }).catch(() => undefined)
    await remove(life.world.client, ToyAttachment, namespace, 'lost').catch(() => undefined)
    await planeIsGone('lagging')
  })

  test('B38: is kept by an attachment that is being made at that moment', async () => {
    const namespace = await place({ prefix: 'making' })
    await life.nso.stop()
    let held: HeldRule | undefined
    life.nso = await life.world.startNso({
      wrap(transport) {
        const script = scriptTransport(transport)
        held = script.on({ method: 'POST', path: /\/toyattachments$/ }).hold()
        return script
      },
    })
    await bring('making')
    await create(life.world.client, aClaim(namespace, 'web-0'))
    await held?.arrived()
    await drop('making')
    await planeSays('making', 'False Deleting', /Waits for an object that is being made/)
    held?.release()
    await ready(namespace)
    await planeSays('making', 'False Deleting', /Waits for 1 interface/)
    await release(namespace, 'web-0')
    await planeIsGone('making')
  })

  test('waits for its network objects after its interfaces, and says whose finalizer keeps them', async () => {
    const namespace = await place({ prefix: 'networks' })
    const network = { ...withNetwork.network, metadata: { finalizers: ['toy.example.dev/network'] } }
    await bring('networked', { network })
    await claimed(namespace)
    await drop('networked')
    await planeSays('networked', 'False Deleting', /Waits for 1 interface/)
    const stands = await find(life.world.client, ToyNetwork, namespace, 'net-here')
    assert.equal(stands?.metadata.deletionTimestamp, undefined, 'an interface needs it')
    await release(namespace, 'web-0')
    const held = `ToyNetwork ${namespace}/net-here being deleted, held by finalizer toy.example.dev/network`
    await planeSays('networked', 'False Deleting', new RegExp(`Waits for 1 network object: ${held}`))
    await merge(life.world.client, ToyNetwork, namespace, 'net-here', { metadata: { finalizers: null } })
    await planeIsGone('networked')
  })

  test('asks the server for nothing while it waits for a network object and others are busy', async () => {
    const namespace = await place({ prefix: 'patient' })
    const network = { ...withNetwork.network, metadata: { finalizers: ['toy.example.dev/network'] } }
    await life.nso.stop()
    let script: ScriptedTransport | undefined
    life.nso = await life.world.startNso({ wrap: (transport) => (script = scriptTransport(transport)) })
    await bring('patient', { network })
    await claimed(namespace)
    await release(namespace, 'web-0')
    await drop('patient')
    await planeSays('patient', 'False Deleting', /Waits for 1 network object/)
    await bring('busy')
    const everything = /^\/apis\/[^/]+\/[^/]+\/[a-z]+$/
    const lists = () => script?.sent({ method: 'GET', path: everything, where: ({ query }) => query?.watch === undefined }) ?? []
    const from = lists().length
    const names = Array.from({ length: 4 }, (_, at) => `web-${at}`)
    const writes = await life.world.writesDuring(async () => {
      for (const name of names) {
        await claimed(namespace, name)
        await release(namespace, name)
      }
    })
    assert.deepEqual(
      lists()
        .slice(from)
        .map(({ request }) => request.path),
      [],
    )
    assert.deepEqual(
      writes.filter(({ resource }) => resource === 'dataplanes').map(({ name, verb }) => `${verb} ${name}`),
      [],
    )
    await merge(life.world.client, ToyNetwork, namespace, 'net-here', { metadata: { finalizers: null } })
    await planeIsGone('patient')
    await drop('busy')
    await planeIsGone('busy')
  })

  test('leaves the network objects that a plane of the same kind needs', async () => {
    const namespace = await place({ prefix: 'shared' })
    await bring('exact', withNetwork)
    await claimed(namespace)
    const { uid } = (await find(life.world.client, ToyNetwork, namespace, 'net-here'))?.metadata ?? {}
    await bring('wide', { ...withNetwork, locations: ['*'] })
    await release(namespace, 'web-0')
    await drop('exact')
    await planeIsGone('exact')
    assert.equal((await find(life.world.client, ToyNetwork, namespace, 'net-here'))?.metadata.uid, uid)
    await drop('wide')
    await planeIsGone('wide')
    assert.equal(await find(life.world.client, ToyNetwork, namespace, 'net-here'), undefined)
  })

  test('whose kind is not served any more has nothing left that could keep it', async () => {
    const namespace = await place({ prefix: 'unserved' })
    const { spec, ...crd } = crdOf(ToyAttachment) as unknown as { spec: object }
    const names = { kind: 'ToyRope', listKind: 'ToyRopeList', plural: 'toyropes', singular: 'toyrope' }
    const { metadata, ...role } = networkRole
    const verbs = ['get', 'list', 'watch', 'create', 'patch', 'delete']
    await life.world.plane.apply([
      { ...crd, metadata: { name: 'toyropes.toy.example.dev' }, spec: { ...spec, names } },
      {
        ...role,
        metadata: { ...metadata, name: 'nso-data-plane-toy-ropes' },
        rules: [{ apiGroups: ['toy.example.dev'], resources: ['toyropes'], verbs }],
      },
    ] as never)
    await bring('roped', { attachment: { ...toySpec.attachment, metadata: {}, kind: 'ToyRope' } })
    await create(life.world.client, aClaim(namespace, 'web-0'))
    const nicSays = async () => (await find(life.world.client, NetworkInterface, namespace, 'web-0'))?.status?.attachmentRef?.kind
    await eventually('its attachment is recorded', async () => (await nicSays()) === 'ToyRope')
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/toyropes.toy.example.dev'
    await life.world.plane.connection.must({ method: 'DELETE', path })
    await claimSays(life.world.client, namespace, 'web-0', 'Prepared', 'False DataPlaneNotInstalled')
    await drop('roped')
    await planeIsGone('roped')
    await claimSays(life.world.client, namespace, 'web-0', 'Prepared', 'False NoDataPlane')
    await release(namespace, 'web-0')
  })

  test('and whose permissions were taken with it says what is missing, and goes when it is given back', async () => {
    const namespace = await place({ prefix: 'forbidden' })
    await bring('forbidden', withNetwork)
    await claimed(namespace)
    await release(namespace, 'web-0')
    const path = `/apis/rbac.authorization.k8s.io/v1/clusterroles/${networkRole.metadata.name}`
    await life.world.plane.connection.must({ method: 'DELETE', path })
    await eventually('NSO knows', async () => /^False/.test(said(await planeAt('forbidden'), 'Permitted') ?? ''))
    await drop('forbidden')
    await planeSays('forbidden', 'False Deleting', /toynetworks.* forbidden.*grant it in a ClusterRole/)
    await life.world.plane.apply([networkRole] as never)
    await planeIsGone('forbidden')
  })

  test('and may not be read does not ask again and again while others are busy', async () => {
    const namespace = await place({ prefix: 'refused' })
    await life.nso.stop()
    let script: ScriptedTransport | undefined
    life.nso = await life.world.startNso({ wrap: (transport) => (script = scriptTransport(transport)) })
    await bring('refused', withNetwork)
    await bring('busy', { locations: ['*'] })
    await claimed(namespace)
    await release(namespace, 'web-0')
    const path = '/apis/toy.example.dev/v1/toynetworks'
    const where = ({ query }: { query?: Record<string, unknown> }) => query?.watch === undefined
    const rule = script
      ?.on({ method: 'GET', path, where }, { times: always })
      .answer({ status: 403, headers: {}, body: { kind: 'Status', reason: 'Forbidden', code: 403, message: 'not for you' } })
    await drop('refused')
    await planeSays('refused', 'False Deleting', /Cannot see to it that no .* is left: not for you/)
    const from = rule?.count ?? 0
    for (const name of ['web-1', 'web-2', 'web-3', 'web-4', 'web-5']) {
      await claimed(namespace, name)
      await release(namespace, name)
    }
    assert.ok((rule?.count ?? 0) - from <= 2, `asked ${(rule?.count ?? 0) - from} times`)
    rule?.remove()
    await planeIsGone('refused')
    await drop('busy')
    await planeIsGone('busy')
  })

  test('at once with the role that lets NSO see its kinds: each says what is missing, and all goes when that is back', async () => {
    const namespace = await place({ prefix: 'blind' })
    await bring('blind')
    await claimed(namespace)
    const [role] = toyManifests().joint
    const path = `/apis/rbac.authorization.k8s.io/v1/clusterroles/${role?.metadata.name}`
    await life.world.plane.connection.must({ method: 'DELETE', path })
    await drop('blind')
    await planeSays('blind', 'False Deleting', /Waits for 1 interface/)
    await eventually('what is missing', async () => {
      const found = (await planeAt('blind'))?.status?.conditions?.find(({ type }) => type === 'Permitted')
      return (
        found?.reason === 'NotPermitted' && /toyattachments\.toy\.example\.dev: grant it in a ClusterRole/.test(found.message)
      )
    })
    await ready(namespace)
    await remove(life.world.client, NetworkInterfaceClaim, namespace, 'web-0')
    await eventually('the interface says why it stays', async () => {
      const nic = await find(life.world.client, NetworkInterface, namespace, 'web-0')
      assert.match(preparedOf(nic), /^Deletion waits: the attachment cannot be removed: .*toyattachments.* forbidden/)
      return true
    })
    await life.world.plane.apply(toyManifests().joint as never)
    await gone(life.world.client, NetworkInterfaceClaim, namespace, 'web-0')
    await planeIsGone('blind')
  })
})

describe('a DataPlane that is made again', () => {
  test('after its finalizer was taken away by force, takes up the attachments that stand', async () => {
    const namespace = await place({ prefix: 'forced' })
    const first = await bring('forced')
    await claimed(namespace)
    const { uid } = (await attachmentOf(namespace))?.metadata ?? {}
    await life.nso.stop()
    await drop('forced')
    await strip(life.world, DataPlane, undefined, 'forced')
    await planeIsGone('forced')
    life.nso = await life.world.startNso()
    await claimSays(life.world.client, namespace, 'web-0', 'Prepared', 'False NoDataPlane')
    const second = await bring('forced')
    assert.notEqual(second.metadata.uid, first.metadata.uid)
    await ready(namespace)
    assert.equal((await attachmentOf(namespace))?.metadata.uid, uid)
    await release(namespace, 'web-0')
    await drop('forced')
    await planeIsGone('forced')
  })
})
