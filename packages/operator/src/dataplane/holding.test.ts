import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { annotations, type NetworkContext, type NetworkInterface } from '@nso/api'
import fc from 'fast-check'
import { type KubeObject, keyOf, type ObjectMeta } from 'kube-control-loop'
import { aContext, aFreeInterface, anInterface } from '../../test/objects.ts'
import {
  leftAttachments,
  type NetworkObjects,
  networkObjectsOf,
  type Served,
  type Standing,
  servedBy,
  waitsFor,
} from './holding.ts'

const api = 'networking.datumapis.com/v1alpha'
const plane = { ref: { name: 'toy', uid: 'p-1' }, attachmentKind: { apiVersion: 'planes.example.dev/v1', kind: 'Wire' } }
const deletionTimestamp = '2026-01-01T00:00:00Z'

const chosen = (choice: string | undefined, nic: NetworkInterface = anInterface()): NetworkInterface => ({
  ...nic,
  metadata: { ...nic.metadata, annotations: choice === undefined ? {} : { [annotations.dataPlane]: choice } },
})

const recorded = (nic: NetworkInterface, kind = 'Wire'): NetworkInterface => ({
  ...nic,
  status: { attachmentRef: { apiGroup: 'planes.example.dev', kind, name: nic.metadata.name } },
})

const madeFor = (
  kind: string,
  owner: { kind: string; uid: string; apiVersion?: string },
  metadata: Partial<ObjectMeta> = {},
): KubeObject => ({
  apiVersion: 'planes.example.dev/v1',
  kind,
  metadata: {
    name: 'web-0',
    namespace: 'default',
    ownerReferences: [{ apiVersion: api, name: 'web-0', controller: true, ...owner }],
    ...metadata,
  },
  spec: {},
})

const wire = (uid = 'nic-uid', metadata: Partial<ObjectMeta> = {}) => madeFor('Wire', { kind: 'NetworkInterface', uid }, metadata)
const net = (uid = 'net-here-uid', metadata: Partial<ObjectMeta> = {}) =>
  madeFor('Net', { kind: 'NetworkContext', uid }, { name: 'net-here', ...metadata })

const standing = (nics: readonly NetworkInterface[], attachments: readonly KubeObject[]): Standing => {
  const byKey = new Map(nics.map((nic) => [keyOf(nic), nic]))
  return { nics, nicAt: (key) => byKey.get(key), attachments: new Map(attachments.map((each) => [keyOf(each), each])) }
}

describe('a plane still serves', () => {
  const table: { says: string; nic: NetworkInterface; attachments?: KubeObject[]; want: 'attached' | 'recorded' | undefined }[] =
    [
      { says: 'an interface that has an attachment', nic: chosen('toy/p-1'), attachments: [wire()], want: 'attached' },
      { says: 'one whose attachment may have to be made again', nic: recorded(chosen('toy/p-1')), want: 'recorded' },
      { says: 'not one that never had any', nic: chosen('toy/p-1'), want: undefined },
      {
        says: 'not one that nobody holds, though its status tells of one',
        nic: recorded(chosen('toy/p-1', aFreeInterface())),
        want: undefined,
      },
      {
        says: 'one that nobody holds while its attachment stands',
        nic: chosen('toy/p-1', aFreeInterface()),
        attachments: [wire()],
        want: 'attached',
      },
      { says: 'not one whose status tells of another kind', nic: recorded(chosen('toy/p-1'), 'Rope'), want: undefined },
      {
        says: 'not one whose name another’s attachment has',
        nic: chosen('toy/p-1'),
        attachments: [wire('other')],
        want: undefined,
      },
      { says: 'not one of another plane', nic: recorded(chosen('other/p-1')), attachments: [wire()], want: undefined },
      {
        says: 'not one of an earlier plane of its name',
        nic: recorded(chosen('toy/p-0')),
        attachments: [wire()],
        want: undefined,
      },
      { says: 'not one without a choice', nic: recorded(chosen(undefined)), attachments: [wire()], want: undefined },
      {
        says: 'not a copy that another process keeps',
        nic: {
          ...recorded(chosen('toy/p-1')),
          metadata: {
            ...chosen('toy/p-1').metadata,
            labels: { 'networking.datumapis.com/network-interface-projection': 'true' },
          },
        },
        want: undefined,
      },
    ]
  for (const { says, nic, attachments = [], want } of table) {
    test(says, () => {
      const served = servedBy(plane, standing([nic], attachments))
      assert.deepEqual(
        served.map(({ attachment }) => (attachment ? 'attached' : 'recorded')),
        want ? [want] : [],
      )
    })
  }
})

describe('an attachment is left over', () => {
  const isPlane = ({ name, uid }: { name: string; uid: string }) => `${name}/${uid}` === 'other/p-2'
  const left = (nics: NetworkInterface[], attachment: KubeObject) => leftAttachments(standing(nics, [attachment]), isPlane).length
  test('when its interface is gone', () => assert.equal(left([], wire()), 1))
  test('when its interface names no plane that stands', () => {
    const { annotations: _, ...metadata } = anInterface().metadata
    assert.equal(left([{ ...anInterface(), metadata }], wire()), 1)
    assert.equal(left([chosen('toy/p-0')], wire()), 1)
    assert.equal(left([chosen(undefined)], wire()), 1)
  })
  test('not when some plane answers for its interface', () => assert.equal(left([chosen('other/p-2')], wire()), 0))
  test('when another incarnation of its interface is answered for', () =>
    assert.equal(left([chosen('other/p-2')], wire('earlier')), 1))
  test('not when it was never made for an interface', () => {
    assert.equal(left([], net()), 0)
    const { ownerReferences: _, ...metadata } = wire().metadata
    assert.equal(left([], { ...wire(), metadata }), 0)
    assert.equal(left([], madeFor('Wire', { kind: 'NetworkInterface', uid: 'u', apiVersion: 'else.example.dev/v1' })), 0)
    assert.equal(left([], madeFor('Wire', { kind: 'NetworkInterface', uid: 'u' }, { ownerReferences: [] })), 0)
  })
})

describe('network objects of a plane that goes', () => {
  const context = aContext()
  type Given = { object?: KubeObject; context?: NetworkContext | undefined; needed?: boolean; shared?: boolean }
  const sort = ({ object = net(), needed = false, shared = false, ...given }: Given = {}) => {
    const at = 'context' in given ? given.context : context
    const asked = { isNeeded: () => needed, isShared: shared }
    const { unneeded, going } = networkObjectsOf([object], (key) => (key === 'default/net-here' ? at : undefined), asked)
    return unneeded.length > 0 ? 'deleted' : going.length > 0 ? 'waited for' : 'left'
  }
  const table: { says: string; given: Given; want: string }[] = [
    { says: 'are deleted', given: {}, want: 'deleted' },
    {
      says: 'are waited for while somebody holds them',
      given: { object: net(undefined, { deletionTimestamp }) },
      want: 'waited for',
    },
    { says: 'stay where another plane needs them', given: { needed: true }, want: 'left' },
    { says: 'are deleted where another plane has the kind, but does not need them', given: { shared: true }, want: 'deleted' },
    { says: 'whose context is gone are collected, and waited for', given: { context: undefined }, want: 'waited for' },
    { says: 'of an earlier context too', given: { object: net('earlier') }, want: 'waited for' },
    { says: 'whose context is gone may be another plane’s', given: { context: undefined, shared: true }, want: 'left' },
    { says: 'that somebody else made stay', given: { object: net(undefined, { ownerReferences: [] }) }, want: 'left' },
    { says: 'that are no network’s stay', given: { object: wire('net-here-uid', { name: 'net-here' }) }, want: 'left' },
  ]
  for (const { says, given, want } of table) test(says, () => assert.equal(sort(given), want))
})

describe('what a DataPlane waits for is said', () => {
  const none: NetworkObjects = { unneeded: [], going: [] }
  const servedNamed = (name: string, metadata?: Partial<ObjectMeta>): Served => ({
    nic: anInterface({ metadata: { name }, spec: { claimRef: { name: `claim-${name}` } } }),
    attachment: metadata && wire('nic-uid', { name, ...metadata }),
  })
  const table: { says: string; given: Parameters<typeof waitsFor>; want: string | undefined }[] = [
    { says: 'not at all when there is nothing', given: [[], [], none], want: undefined },
    {
      says: 'with the claim of one interface',
      given: [[servedNamed('a')], [wire()], { unneeded: [net()], going: [] }],
      want: 'Waits for 1 interface: default/a of claim claim-a: wait for them to go, or delete their claims',
    },
    {
      says: 'without a claim where nobody holds the interface, and with the finalizer that keeps its attachment',
      given: [
        [{ nic: aFreeInterface(), attachment: wire('nic-uid', { deletionTimestamp, finalizers: ['x.dev/f', 'y.dev/g'] }) }],
        [],
        none,
      ],
      want: 'Waits for 1 interface: default/web-0 (Wire default/web-0 being deleted, held by finalizer x.dev/f, y.dev/g): wait for them to go, or delete their claims',
    },
    {
      says: 'with the first three by name, in whatever order they come, and the number of the rest',
      given: [['e', 'c', 'a', 'd', 'b'].map((name) => servedNamed(name, {})), [], none],
      want: 'Waits for 5 interfaces: default/a of claim claim-a, default/b of claim claim-b, default/c of claim claim-c, and 2 more: wait for them to go, or delete their claims',
    },
    {
      says: 'with three exactly, counting none',
      given: [[], ['a', 'b', 'c'].map((name) => wire('u', { name })), none],
      want: 'Waits for 3 attachments: Wire default/a, Wire default/b, Wire default/c: its data plane must run to let go of them',
    },
    {
      says: 'with network objects last',
      given: [[], [], { unneeded: [net()], going: [net('u', { name: 'old', deletionTimestamp })] }],
      want: 'Waits for 2 network objects: Net default/net-here, Net default/old being deleted, about to go: its data plane must run to let go of them',
    },
  ]
  for (const { says, given, want } of table) test(says, () => assert.equal(waitsFor(...given), want))
})

test('whatever stands, an attachment of a plane’s own interface keeps it, and is never left over as well', () => {
  const choice = fc.constantFrom('toy/p-1', 'toy/p-0', 'other/p-2', undefined)
  const world = fc.array(fc.record({ choice, has: fc.boolean(), known: fc.boolean() }), { maxLength: 6 })
  fc.assert(
    fc.property(world, (given) => {
      const nics = given.map(({ choice: one, known }, at) => {
        const nic = anInterface({ metadata: { name: `n${at}`, uid: `u${at}` } })
        return known ? recorded(chosen(one, nic)) : chosen(one, nic)
      })
      const attachments = given.flatMap(({ has }, at) => (has ? [wire(`u${at}`, { name: `n${at}` })] : []))
      const served = servedBy(plane, standing(nics, attachments))
      const left = leftAttachments(standing(nics, attachments), ({ name, uid }) =>
        ['toy/p-1', 'other/p-2'].includes(`${name}/${uid}`),
      )
      for (const [at, { choice: one, has, known }] of given.entries()) {
        const isServed = served.some(({ nic }) => nic.metadata.name === `n${at}`)
        assert.equal(isServed, one === 'toy/p-1' && (has || known))
        assert.equal(
          left.some(({ metadata }) => metadata.name === `n${at}`),
          has && one !== 'toy/p-1' && one !== 'other/p-2',
        )
      }
    }),
  )
})
