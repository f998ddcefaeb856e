// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the strings are templates of a DataPlane
/** A DataPlane that changes, on a real API server: under live attachments, beside another, in what it offers. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { AddressLease, NetworkContext, NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import { crdOf } from 'kube-control-loop'
import { eventually } from 'kube-localplane/testing'
import {
  attachmentOf,
  attachmentWritesDuring,
  bring,
  change,
  choiceOf,
  claimed,
  context,
  drop,
  life,
  place,
  planeIsGone,
  planeOf,
  planeSays,
  preparedOf,
  ready,
  release,
  startLife,
  subnet,
  toySpec,
  withNetwork,
} from './life-world.ts'
import { ToyNetwork } from './races/world.ts'
import { ToyAttachment } from './toy-plane.ts'
import { aClaim, claimSays, create, find, listed, location, merge, remove } from './world.ts'

startLife()

describe('a DataPlane that changes under live attachments', () => {
  test('keeps the interfaces of locations that it no longer names, and gives new ones to who serves them now', async () => {
    const namespace = await place({ prefix: 'places' })
    await bring('here', withNetwork)
    await bring('all', { locations: ['*'] })
    await claimed(namespace)
    await change('here', { locations: ['elsewhere'] })
    await planeSays('here', 'True Accepted')
    await claimed(namespace, 'web-1')
    assert.deepEqual([await choiceOf(namespace), await choiceOf(namespace, 'web-1')], ['here', 'all'])
    await merge(life.world.client, NetworkContext, namespace, 'net-here', { spec: { mtu: 1300 } })
    await eventually('both attachments follow', async () => {
      const both = await Promise.all(['web-0', 'web-1'].map((name) => attachmentOf(namespace, name)))
      return both.every((each) => each?.spec.mtu === 1300)
    })
    await remove(life.world.client, ToyNetwork, namespace, 'net-here')
    await eventually('the network object of whom it keeps is made again', () =>
      find(life.world.client, ToyNetwork, namespace, 'net-here'),
    )
    await drop('here')
    await planeSays('here', 'False Deleting', /Waits for 1 interface: [^,]*web-0/)
    await release(namespace, 'web-0', 'web-1')
    await planeIsGone('here')
    await drop('all')
    await planeIsGone('all')
  })

  test('patches each attachment once for a new template, and none for a broken one, whose claims keep their report', async () => {
    const namespace = await place({ prefix: 'templates' })
    await bring('changing')
    await claimed(namespace)
    await claimed(namespace, 'web-1')
    const noted = { ...toySpec.attachment.spec, note: 'one' }
    const patches = await attachmentWritesDuring(namespace, async () => {
      await change('changing', { attachment: { spec: noted } })
      await eventually('both have it', async () => {
        const both = await Promise.all(['web-0', 'web-1'].map((name) => attachmentOf(namespace, name)))
        return both.every((each) => each?.spec.note === 'one')
      })
      await ready(namespace)
      await ready(namespace, 'web-1')
    })
    assert.deepEqual(patches.sort(), ['patch web-0', 'patch web-1'])
    const none = await attachmentWritesDuring(namespace, async () => {
      await change('changing', { attachment: { spec: { ...noted, note: '${nobody.knows}' } } })
      await planeSays('changing', 'False InvalidTemplate', /nobody/)
      await life.nso.stop()
      life.nso = await life.world.startNso()
      await merge(life.world.client, NetworkContext, namespace, 'net-here', { spec: { mtu: 1300 } })
      await eventually('the interface follows', async () => {
        return (await find(life.world.client, NetworkInterface, namespace, 'web-0'))?.spec.mtu === 1300
      })
      await ready(namespace)
    })
    assert.deepEqual(none, [])
    assert.equal((await attachmentOf(namespace))?.spec.note, 'one')
    await change('changing', { attachment: { spec: { ...noted, note: 'two' } } })
    await eventually('mended', async () => {
      const stands = await attachmentOf(namespace)
      return stands?.spec.note === 'two' && stands.spec.mtu === 1300
    })
    await release(namespace, 'web-0', 'web-1')
    await drop('changing')
    await planeIsGone('changing')
  })

  test('goes on with the same attachments in another version of their kind', async () => {
    const crd = crdOf(ToyAttachment) as unknown as { spec: { versions: object[] } }
    const [v1] = crd.spec.versions
    await life.world.plane.apply([
      { ...crd, spec: { ...crd.spec, versions: [v1, { ...v1, name: 'v2', storage: false }] } },
    ] as never)
    const namespace = await place({ prefix: 'versions' })
    await bring('versioned')
    await claimed(namespace)
    const { uid } = (await attachmentOf(namespace))?.metadata ?? {}
    await change('versioned', { attachment: { apiVersion: 'toy.example.dev/v2' } })
    const nicSays = async () => {
      const nic = await find(life.world.client, NetworkInterface, namespace, 'web-0')
      return nic?.status?.conditionSources?.find(({ type }) => type === 'Prepared')?.object.apiVersion
    }
    await eventually('the report is read in that version', async () => (await nicSays()) === 'toy.example.dev/v2')
    await ready(namespace)
    assert.equal((await attachmentOf(namespace))?.metadata.uid, uid)
    await merge(life.world.client, NetworkContext, namespace, 'net-here', { spec: { mtu: 1300 } })
    await eventually('it follows', async () => (await attachmentOf(namespace))?.spec.mtu === 1300)
    await drop('versioned')
    await planeSays('versioned', 'False Deleting', /Waits for 1 interface/)
    await release(namespace, 'web-0')
    await planeIsGone('versioned')
  })
})

describe('two DataPlanes of one location', () => {
  test('say which of them serves what, and the other takes over as soon as the first is being deleted', async () => {
    const namespace = await place({ prefix: 'tie' })
    const first = await bring('tie-a')
    await eventually(
      'a second that the age of both differs',
      () => Date.now() - Date.parse(first.metadata.creationTimestamp ?? '') > 1_000,
    )
    await create(life.world.client, planeOf('tie-0', { locations: [location, 'other-*'] }))
    await planeSays('tie-0', 'True Accepted', new RegExp(`served by others: ${location} by DataPlane tie-a$`))
    await claimed(namespace)
    await drop('tie-a')
    await planeSays('tie-a', 'False Deleting')
    await planeSays('tie-0', 'True Accepted', /^Templates are sound$/)
    await claimed(namespace, 'web-1')
    assert.deepEqual([await choiceOf(namespace), await choiceOf(namespace, 'web-1')], ['tie-a', 'tie-0'])
    await release(namespace, 'web-0')
    await planeIsGone('tie-a')
    await release(namespace, 'web-1')
    await drop('tie-0')
    await planeIsGone('tie-0')
  })
})

describe('what a DataPlane offers', () => {
  test('is asked before anything is made; a claim goes on when it offers more, and keeps what it has when it offers less', async () => {
    const namespace = await place({ prefix: 'offers', families: ['IPv4', 'IPv6'] })
    await bring('narrow', { capabilities: { attachmentModes: ['Netns'], addressFamilies: ['IPv6'] } })
    await create(life.world.client, aClaim(namespace, 'tap', { attachmentMode: 'Hypervisor' }))
    await create(life.world.client, aClaim(namespace, 'v4', { ipFamilies: ['IPv4'] }))
    const tap = await claimSays(life.world.client, namespace, 'tap', 'Ready', 'False AttachmentModeNotSupported')
    assert.match(
      tap?.status?.conditions?.find(({ type }) => type === 'Ready')?.message ?? '',
      /^DataPlane narrow does not offer attachment mode Hypervisor; it offers Netns: ask for another mode .*\.$/,
    )
    await claimSays(life.world.client, namespace, 'v4', 'Bound', 'False AddressFamilyNotSupported')
    for (const kind of [NetworkInterface, AddressLease, ToyAttachment]) {
      assert.deepEqual(await listed(life.world.client, kind as never, namespace), [])
    }
    await change('narrow', { capabilities: { attachmentModes: ['Netns', 'Hypervisor'], addressFamilies: ['IPv4', 'IPv6'] } })
    await ready(namespace, 'tap')
    await ready(namespace, 'v4')
    const writes = await attachmentWritesDuring(namespace, async () => {
      await change('narrow', { capabilities: { attachmentModes: ['Netns'], addressFamilies: ['IPv6'] } })
      await create(life.world.client, aClaim(namespace, 'tap-1', { attachmentMode: 'Hypervisor' }))
      await claimSays(life.world.client, namespace, 'tap-1', 'Ready', 'False AttachmentModeNotSupported')
      await merge(life.world.client, NetworkInterfaceClaim, namespace, 'tap', { metadata: { annotations: { touched: 'yes' } } })
    })
    assert.deepEqual(writes, [])
    await ready(namespace, 'tap')
    await ready(namespace, 'v4')
    await release(namespace, 'tap', 'v4', 'tap-1')
    await drop('narrow')
    await planeIsGone('narrow')
  })

  test('is asked also of a plane that comes later', async () => {
    const namespace = await place({ prefix: 'later' })
    await create(life.world.client, aClaim(namespace, 'tap', { attachmentMode: 'Hypervisor' }))
    await claimSays(life.world.client, namespace, 'tap', 'Prepared', 'False NoDataPlane')
    await bring('later', { capabilities: { attachmentModes: ['Netns'] } })
    await claimSays(life.world.client, namespace, 'tap', 'Ready', 'False AttachmentModeNotSupported')
    assert.equal(await attachmentOf(namespace, 'tap'), undefined)
    await change('later', { capabilities: null })
    await ready(namespace, 'tap')
    await release(namespace, 'tap')
    await drop('later')
    await planeIsGone('later')
  })

  test('is nothing under a contract that NSO does not know, save for whom it serves already', async () => {
    const namespace = await place({ prefix: 'contract' })
    await bring('contract')
    await claimed(namespace)
    await change('contract', { contract: 'v9' })
    await planeSays('contract', 'False ContractUnsupported', /^Contract v9 is not known; this NSO knows v1: install a newer NSO/)
    await create(life.world.client, aClaim(namespace, 'web-1'))
    const waiting = await claimSays(life.world.client, namespace, 'web-1', 'Prepared', 'False NoDataPlane')
    assert.match(preparedOf(waiting), /location here: DataPlane contract is not accepted: see its condition Accepted$/)
    await eventuallyAnEvent('contract', 'ContractUnsupported')
    await merge(life.world.client, NetworkContext, namespace, 'net-here', { spec: { mtu: 1300 } })
    await eventually('its attachment follows', async () => (await attachmentOf(namespace))?.spec.mtu === 1300)
    await ready(namespace)
    await change('contract', { contract: 'v1' })
    await ready(namespace, 'web-1')
    await release(namespace, 'web-0', 'web-1')
    await drop('contract')
    await planeIsGone('contract')
  })
})

/** Where `kubectl describe dataplane` shows it. */
const eventuallyAnEvent = (name: string, reason: string) =>
  eventually(`an event ${reason}`, async () => {
    const path = '/apis/events.k8s.io/v1/events'
    const { items } = (await life.world.plane.connection.must({ method: 'GET', path })) as {
      items: { regarding?: { kind?: string; name?: string }; reason?: string; type?: string }[]
    }
    return items.some(
      ({ regarding, reason: why, type }) =>
        regarding?.kind === 'DataPlane' && regarding.name === name && why === reason && type === 'Warning',
    )
  })

describe('two planes that change places', () => {
  test('while 50 claims come give each of them one attachment, and serve all to their end', async () => {
    const namespace = await place({ prefix: 'swap' })
    await bring('left', { ...withNetwork, locations: [location] })
    await bring('right', { locations: ['elsewhere'] })
    const names = Array.from({ length: 50 }, (_, at) => `web-${at}`)
    for (const [at, name] of names.entries()) {
      await create(life.world.client, aClaim(namespace, name))
      if (at % 10 !== 9) continue
      const isOdd = at % 20 === 9
      await change('left', { locations: [isOdd ? 'elsewhere' : location] })
      await change('right', { locations: [isOdd ? location : 'elsewhere'] })
    }
    for (const name of names) await ready(namespace, name)
    const chosen = await Promise.all(names.map((name) => choiceOf(namespace, name)))
    assert.deepEqual([...new Set(chosen)].sort(), ['left', 'right'])
    const attachments = await listed(life.world.client, ToyAttachment, namespace)
    assert.deepEqual(attachments.map(({ metadata }) => metadata.name).sort(), names.toSorted())
    await drop('left')
    await drop('right')
    await planeSays('left', 'False Deleting', /and \d+ more:/)
    await release(namespace, ...names)
    await planeIsGone('left')
    await planeIsGone('right')
  })
})

describe('somebody else’s object under the name of a network', () => {
  test('keeps new interfaces from being attached to it, not those that are, until it is gone', async () => {
    const namespace = await place({ prefix: 'foreign', context: false, subnets: [] })
    const plain = { apiVersion: 'toy.example.dev/v1', kind: 'ToyNetwork', metadata: { name: 'net-here', namespace }, spec: {} }
    await create(life.world.client, plain)
    await bring('foreign', withNetwork)
    await create(life.world.client, context(namespace))
    await create(life.world.client, subnet(namespace))
    await create(life.world.client, aClaim(namespace, 'web-0'))
    const claim = await claimSays(life.world.client, namespace, 'web-0', 'Prepared', 'False NetworkObjectForeign')
    assert.match(
      claim?.status?.conditions?.find(({ type }) => type === 'Prepared')?.message ?? '',
      new RegExp(`ToyNetwork ${namespace}/net-here exists and is not this context’s: it is not taken over`),
    )
    assert.equal(await attachmentOf(namespace), undefined)
    await remove(life.world.client, ToyNetwork, namespace, 'net-here')
    await ready(namespace)
    await release(namespace, 'web-0')
    await drop('foreign')
    await planeIsGone('foreign')
  })
})
