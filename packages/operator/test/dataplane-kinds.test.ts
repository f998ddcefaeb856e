/** Kinds of a data plane that come, go and change under live claims, on the real API server; the test plays the data plane. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { AddressLease, NetworkContext, NetworkInterface, NetworkInterfaceClaim, Subnet } from '@nso/api'
import type { KubeObject } from 'kube-control-loop'
import { type AuditEntry, readAudit, tailAudit } from 'kube-localplane'
import { eventually } from 'kube-localplane/testing'
import {
  crdPath,
  dataPlanePath,
  mergeAt,
  planeCondition,
  readAt,
  ready,
  reportAt,
  type WireVersion,
  wireAt,
  wireCrd,
  wirePath,
  wirePlane,
  wireRole,
} from './support/wires.ts'
import {
  aClaim,
  claimSays,
  create,
  find,
  gone,
  know,
  listed,
  type Running,
  remove,
  said,
  startWorld,
  type World,
} from './world.ts'

know(NetworkInterfaceClaim, NetworkContext, Subnet)

const nsoUser = 'system:serviceaccount:nso-system:nso'
const finalizer = 'wires.example.dev/hold'
const notInstalled = 'False DataPlaneNotInstalled'

let world: World
let nso: Running
let namespace: string
let from: number

before(async () => {
  world = await startWorld()
  from = await tailAudit(world.plane)
  await world.plane.apply([wireRole, wirePlane('wire', 'Wire', { here: true })])
  nso = await world.startNso()
  namespace = await world.place()
})
after(async () => {
  await world?.[Symbol.asyncDispose]()
})

const pathOf = (name: string, { plural = 'wires', version = 'v1' } = {}) => wirePath(plural, namespace, name, version)
const installed = (wanted: string) => planeCondition(world.plane, 'wire', 'Installed', wanted)
const define = (versions: readonly WireVersion[], more: { plural?: string; scope?: 'Cluster' } = {}) =>
  world.plane.apply([wireCrd({ kind: 'Wire', versions, ...more })])
const undefine = (plural = 'wires') => world.plane.connection.must({ method: 'DELETE', path: crdPath(plural) })
const untilUndefined = (plural = 'wires') =>
  eventually('the definition to be gone', async () => (await readAt(world.plane, crdPath(plural))) === undefined)
const says = (name: string, type: string, what: string) => claimSays(world.client, namespace, name, type, what)
const claim = (name: string) => create(world.client, aClaim(namespace, name))
const lease = async (name: string) =>
  (await listed(world.client, AddressLease, namespace)).filter(({ spec }) => spec.holder.claimName === name).length

/** The data plane does its work: the claim is Ready with this attachment. */
async function serve(name: string, at: { plural?: string; version?: string } = {}): Promise<KubeObject> {
  const path = pathOf(name, at)
  const attachment = await wireAt(world.plane, path)
  await reportAt(world.plane, path, { conditions: [ready(attachment.metadata.generation)] })
  await says(name, 'Ready', 'True Ready')
  return (await readAt(world.plane, path)) as KubeObject
}

async function oursSince(start: number, about: (entry: AuditEntry) => boolean): Promise<string[]> {
  const entries = await readAudit(world.plane.auditLogPath ?? '', { from: start, to: await tailAudit(world.plane) })
  return entries
    .filter(
      ({ user, stage, verb }) => user === nsoUser && stage === 'ResponseComplete' && !['get', 'list', 'watch'].includes(verb),
    )
    .filter(about)
    .map(({ verb, resource, name, code }) => `${verb} ${resource} ${name} ${code}`)
}

describe('A kind that is not there yet', () => {
  test('keeps claims waiting for it by name, and serves them within seconds when it appears', async () => {
    await claim('web')
    await says('web', 'Prepared', notInstalled)
    const waiting = await find(world.client, NetworkInterfaceClaim, namespace, 'web')
    const message = waiting?.status?.conditions?.find(({ type }) => type === 'Prepared')?.message ?? ''
    assert.match(message, /kind Wire \(wires\.example\.dev\) is not installed/)
    assert.equal(said(waiting, 'Bound'), 'True Bound')
    await define([{}])
    await serve('web')
  })
})

describe('A version', () => {
  test('that is not served for a while takes no attachment with it, and gives no address back', async () => {
    await claim('doomed')
    const [stood] = [await serve('web'), await serve('doomed')]
    await define([{ served: false }])
    await installed('False/KindNotServed')
    await says('web', 'Prepared', notInstalled)
    await remove(world.client, NetworkInterfaceClaim, namespace, 'doomed')
    await eventually('the pass that finds no way to remove it', async () => {
      const page = await nso.operator.manager.metrics.page()
      return Number(/controller_runtime_reconcile_errors_total\{[^}]*networkinterface"[^}]*\} (\d+)/.exec(page)?.[1] ?? 0) > 0
    })
    assert.equal(await lease('doomed'), 1, 'its attachment may stand')
    assert.ok(await find(world.client, NetworkInterface, namespace, 'doomed'))

    await define([{}])
    await installed('True/Installed')
    await says('web', 'Ready', 'True Ready')
    assert.equal((await readAt(world.plane, pathOf('web')))?.metadata.uid, stood.metadata.uid)
    await eventually(
      'the end of the other',
      async () => (await find(world.client, NetworkInterface, namespace, 'doomed')) === undefined,
      {
        timeoutMs: 40_000,
      },
    )
    await gone(world.client, NetworkInterfaceClaim, namespace, 'doomed')
    assert.equal(await readAt(world.plane, pathOf('doomed')), undefined)
  })

  test('that is stored in place of another changes nothing', async () => {
    const stood = await readAt(world.plane, pathOf('web'))
    const start = await tailAudit(world.plane)
    const gonePaths: string[] = []
    const stop = nso.operator.planes.onAttachment((key) => {
      if (!nso.operator.planes.get('wire')?.plane.attachments?.get(key)) gonePaths.push(key)
    })
    await define([{}, { name: 'v2' }])
    await define([{ storage: false }, { name: 'v2', storage: true }])
    await eventually('an attachment as the second version', () => readAt(world.plane, pathOf('web', { version: 'v2' })))
    // Rewritten as the new version, as a storage migration does.
    await mergeAt(world.plane, pathOf('web', { version: 'v2' }), { metadata: { labels: { moved: 'yes' } } })
    await eventually(
      'the change to be seen',
      () => nso.operator.planes.get('wire')?.plane.attachments?.get(`${namespace}/web`)?.metadata.labels?.moved === 'yes',
    )
    stop()
    assert.equal((await readAt(world.plane, pathOf('web')))?.metadata.uid, stood?.metadata.uid)
    assert.deepEqual(gonePaths, [])
    assert.deepEqual(await oursSince(start, ({ resource }) => resource === 'wires'), [])
    await says('web', 'Ready', 'True Ready')
  })

  test('that goes for good leaves attachments to the next: they are removed through it, and go on when the DataPlane names it', async () => {
    await claim('leaves')
    await serve('leaves')
    const stood = await readAt(world.plane, pathOf('web'))
    await define([
      { served: false, storage: false },
      { name: 'v2', storage: true },
    ])
    await installed('False/KindNotServed')
    await says('web', 'Prepared', notInstalled)
    await remove(world.client, NetworkInterfaceClaim, namespace, 'leaves')
    await gone(world.client, NetworkInterfaceClaim, namespace, 'leaves')
    assert.equal(await readAt(world.plane, pathOf('leaves', { version: 'v2' })), undefined)

    const start = await tailAudit(world.plane)
    await world.plane.apply([wirePlane('wire', 'Wire', { here: true, version: 'v2' })])
    await installed('True/Installed')
    await says('web', 'Ready', 'True Ready')
    assert.equal((await readAt(world.plane, pathOf('web', { version: 'v2' })))?.metadata.uid, stood?.metadata.uid)
    assert.deepEqual(await oursSince(start, ({ resource }) => resource === 'wires'), [])
  })
})

describe('A kind that is removed', () => {
  test('while a data plane holds its objects lets nothing be made, and is back when it is defined again', async () => {
    const path = pathOf('web', { version: 'v2' })
    await mergeAt(world.plane, path, { metadata: { finalizers: [finalizer] } })
    const start = await tailAudit(world.plane)
    await undefine()
    await eventually('the attachment to go', async () => (await readAt(world.plane, path))?.metadata.deletionTimestamp)
    await says('web', 'Prepared', 'Unknown Pending')
    assert.deepEqual(
      await oursSince(start, ({ resource }) => resource === 'wires'),
      [],
      'it stands in the way, so nothing is tried',
    )
    await mergeAt(world.plane, path, { metadata: { finalizers: null } })
    await untilUndefined()
    await installed('False/KindNotServed')
    await says('web', 'Prepared', notInstalled)
    assert.equal(await lease('web'), 1)

    await define([{ name: 'v2' }])
    await installed('True/Installed')
    await serve('web', { version: 'v2' })
    const tries = await oursSince(start, ({ resource, verb }) => resource === 'wires' && verb === 'create')
    assert.ok(tries.length < 10, tries.join(', '))
    assert.equal(tries.filter((each) => each.endsWith(' 201')).length, 1)
  })

  test('and comes back for whole clusters is said to be of no use, until it is namespaced again, then under another plural', async () => {
    await undefine()
    await untilUndefined()
    await define([{ name: 'v2' }], { scope: 'Cluster' })
    await installed('False/KindNotNamespaced')
    const waiting = await find(world.client, NetworkInterfaceClaim, namespace, 'web')
    assert.notEqual(said(waiting, 'Prepared'), 'True AttachmentReady')
    assert.equal(said(waiting, 'Bound'), 'True Bound')
    await undefine()
    await untilUndefined()
    await define([{ name: 'v2' }], { plural: 'wirelines' })
    await installed('True/Installed')
    await serve('web', { plural: 'wirelines', version: 'v2' })
  })

  test('while NSO is away is missed by the next NSO: it takes nothing back that it cannot know, and says what it waits for', async () => {
    await nso.stop()
    await undefine('wirelines')
    await untilUndefined('wirelines')
    nso = await world.startNso()
    await installed('False/KindNotServed')
    await says('web', 'Prepared', notInstalled)
    assert.equal(await lease('web'), 1)
    await define([{ name: 'v2' }])
    await serve('web', { version: 'v2' })
  })
})

test('in all of this NSO removed the attachments of claims that were removed, and nothing else', async () => {
  const removed = await oursSince(from, ({ verb }) => verb === 'delete' || verb === 'deletecollection')
  const names = new Set(removed.map((each) => each.split(' ')[2]))
  assert.deepEqual(
    [...names].filter((name) => name !== undefined && /^(web|wire)$/.test(name)),
    [],
  )
  await remove(world.client, NetworkInterfaceClaim, namespace, 'web')
  await gone(world.client, NetworkInterfaceClaim, namespace, 'web')
  assert.equal(await readAt(world.plane, pathOf('web', { version: 'v2' })), undefined)
  await world.plane.connection.must({ method: 'DELETE', path: dataPlanePath('wire') })
  await eventually('the end of the DataPlane', async () => (await readAt(world.plane, dataPlanePath('wire'))) === undefined)
})
