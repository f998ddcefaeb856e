import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  aMinuteAgo,
  cloud,
  condition,
  deleting,
  entry,
  explained,
  notPrepared,
  says,
  seed,
  snapshotOf,
  stored,
  target,
  type World,
  world,
} from '../../test/example-chain.ts'
import { plain } from '../tree.ts'
import { chainOf } from './chain.ts'
import type { ConditionView, Node } from './model.ts'
import { renderExplanation } from './render.ts'
import type { Gap } from './snapshot.ts'

const nodeOf = (node: Node, kind: string): Node | undefined =>
  node.kind === kind ? node : node.children.map((child) => nodeOf(child, kind)).find((found) => found !== undefined)
const viewOf = (node: Node | undefined, type: string): ConditionView | undefined =>
  node?.conditions.find((each) => each.type === type)

test('a translated condition names its source, the writer there, and whether it still holds', () => {
  const { tree } = explained(() => {})
  const prepared = viewOf(tree, 'Prepared')
  assert.deepEqual(prepared?.from, [
    {
      ...{
        apiVersion: cloud,
        kind: 'VPCAttachment',
        namespace: 'default',
        name: 'web-0',
        uid: 'uid-of-VPCAttachment',
        generation: 1,
      },
      ...{ condition: 'Ready', says: 'Ready=True AttachmentDefinitionReady', manager: 'galactic-vpcattachment' },
      ...{ writtenBy: ['galactic-vpcattachment (Galactic)'], known: 'recorded' },
    },
  ])
  assert.deepEqual(prepared?.freshness, { state: 'current' })
  assert.deepEqual(prepared?.written.documented, {
    ...{ writer: 'nso-networkinterfaceclaim', component: 'NSO', identity: 'system:serviceaccount:nso-system:nso' },
  })
  const [writer] = prepared?.written.writers ?? []
  assert.deepEqual(
    [writer?.manager, writer?.operation, writer?.time, writer?.standing],
    ['nso-networkinterfaceclaim', 'Apply', aMinuteAgo, 'documented'],
  )
})

test('without recorded provenance the source comes from what the DataPlane says', () => {
  const { tree } = explained((w) => delete w.claim?.status?.conditionSources)
  assert.deepEqual(
    viewOf(tree, 'Programmed')?.from?.map(({ known, condition: type }) => [known, type]),
    [['derived', 'Programmed']],
  )
})

const stale: { says: string; given: (given: World) => void; want: RegExp }[] = [
  {
    says: 'its source was made again',
    given: (w) => Object.assign(w.attachment?.metadata ?? {}, { uid: 'new' }),
    want: /taken from a VPCAttachment default\/web-0 with uid uid-of-VPCAttachment; .*\(uid new\)/,
  },
  {
    says: 'its source has moved on',
    given: (w) => Object.assign(w.attachment?.metadata ?? {}, { generation: 2 }),
    want: /taken from generation 1 of VPCAttachment default\/web-0, which is at 2/,
  },
  { says: 'its source is gone', given: (w) => delete w.attachment, want: /is not there any more/ },
  {
    says: 'its source says otherwise',
    given: (w) => says(w.attachment, condition('Ready', 'False', 'AwaitingVPC')),
    want: /says Ready=False AwaitingVPC by now/,
  },
  {
    says: 'its own object has moved on',
    given: (w) => Object.assign(w.claim?.metadata ?? {}, { generation: 2 }),
    want: /speaks of generation 1, the object is at 2/,
  },
]

for (const { says: what, given, want } of stale) {
  test(`a condition is stale: ${what}`, () => {
    const { freshness } = viewOf(explained(given).tree, 'Prepared') ?? {}
    assert.equal(freshness?.state, 'stale')
    assert.match(freshness?.why ?? '', want)
  })
}

test('what is computed of something stale is stale, and so is what was taken from an object that is gone', () => {
  const { tree } = explained((w) => delete w.attachment)
  assert.deepEqual(viewOf(tree, 'Ready')?.freshness, { state: 'stale', why: 'its condition Prepared is stale' })
  const { tree: unbound } = explained((w) => delete w.nic)
  assert.deepEqual(viewOf(unbound, 'Bound')?.freshness, {
    ...{ state: 'stale', why: 'NetworkInterface default/web-0, from which it was taken, is not there any more' },
  })
})

test('what somebody changed outside of the status is told', () => {
  const entry = { manager: 'kubectl-edit', operation: 'Update' as const, fieldsV1: { 'f:spec': { 'f:mtu': {} } } }
  const { foreign } = explained((w) => w.nic?.metadata.managedFields?.push(entry))
  assert.deepEqual(foreign, [
    'NetworkInterface default/web-0 spec: written by "kubectl-edit" (Update), NOT by nso-networkinterfaceclaim (NSO)',
  ])
})

test('a chain that holds, and will not for long', () => {
  const { verdict, notes } = explained((w) => deleting(w.context))
  assert.equal(verdict.state, 'ready')
  assert.deepEqual(notes, ['NetworkContext default/net-here is being deleted for 60 s'])
})

test('whether a component runs is told by the clock of the server, not of the component', () => {
  const renewal = (time: string) => ({ manager: 'x', operation: 'Update', time, fieldsV1: { 'f:spec': { 'f:renewTime': {} } } })
  const running = (change: { renewTime: string; time: string }) => {
    const { leaders } = explained((w) => {
      Object.assign(w.nsoLease?.spec ?? {}, { renewTime: change.renewTime })
      Object.assign(w.nsoLease?.metadata ?? {}, { managedFields: [renewal(change.time)] })
    })
    return leaders.find(({ component }) => component === 'NSO')?.state
  }
  assert.equal(
    running({ renewTime: '2026-11-30T11:50:00.000000Z', time: '2026-11-30T12:00:59Z' }),
    'leading',
    'its clock is slow',
  )
  assert.equal(
    running({ renewTime: '2026-11-30T12:10:00.000000Z', time: '2026-11-30T12:00:00Z' }),
    'expired',
    'its clock is fast',
  )
})

test('an address without a lease, and one that is held for another claim', () => {
  const { beside } = explained((w) => {
    Object.assign(w.nic?.spec ?? {}, { addresses: [{ address: '10.0.0.5/32' }, { address: '10.0.0.6/32' }] })
    const spec = { address: '10.0.0.6/32', holder: { claimName: 'other' } }
    w.extra = stored({ kind: 'AddressLease', name: 'net.10-0-0-6', spec })
  })
  const leases = beside.filter(({ role }) => role === 'address lease')
  assert.deepEqual(
    leases.map(({ name, state, notes }) => [name, state, notes.at(-1)]),
    [
      ['net.10-0-0-5', 'not known', 'no AddressLease of namespace default is in the dump'],
      ['net.10-0-0-6', 'stands', 'held by claim other, which this interface is not for'],
    ],
  )
})

test('hundreds of conditions and messages of any length leave the text readable', () => {
  const rogue = Array.from({ length: 300 }, (_, at) => ({ ...condition(`Rogue${at}`, 'False', 'R'), message: 'x'.repeat(5000) }))
  const explanation = explained((w) => w.claim?.status?.conditions?.push(...rogue))
  const lines = renderExplanation(explanation, plain)
  assert.ok(lines.length < 300 && lines.every((line) => line.length < 600))
  assert.match(lines.join('\n'), /and 275 more conditions: -o json has them all/)
  assert.equal(explanation.tree.conditions.length, 305)
})

test('a report that was taken from somebody else is told, also after it was put right', () => {
  const taken = (manager: string) =>
    explained((w) => {
      const [entry] = (w.claim?.status?.conditionSources ?? []) as { manager: string }[]
      if (entry) entry.manager = manager
    }).foreign
  const sentence = 'taken from a report of "rogue", NOT of galactic-vpcattachment (Galactic)'
  assert.deepEqual(taken('rogue'), [`NetworkInterfaceClaim default/web-0 condition Prepared: ${sentence}`])
  assert.deepEqual(taken('vpc-controller'), [], 'an earlier release may still report')
})

test('a seed is the CRD’s default, and what stands without a trace is nobody’s', () => {
  const { tree, foreign } = explained((w) => {
    says(w.claim, seed('Ready'))
    w.claim?.metadata.managedFields?.splice(
      0,
      1,
      entry('nso-networkinterfaceclaim', ['Allocated', 'Prepared', 'Programmed'], ['networkInterfaceRef', 'conditionSources']),
    )
  })
  assert.equal(viewOf(tree, 'Ready')?.written.by, 'CRD default')
  assert.equal(viewOf(tree, 'Bound')?.written.by, 'nobody')
  assert.deepEqual(foreign, [
    'NetworkInterfaceClaim default/web-0 condition Bound: nobody owns it; its documented writer is nso-networkinterfaceclaim (NSO)',
  ])
})

test('a second owner of the same value is told, and does not break the chain', () => {
  const { verdict, foreign } = explained((w) => w.nic?.metadata.managedFields?.push(entry('evil', ['Prepared'], ['phase'])))
  assert.equal(verdict.state, 'ready')
  assert.deepEqual(foreign, [
    'NetworkInterface default/web-0 condition Prepared: second owner: "evil" (Apply on status), beside nso-networkinterface (NSO)',
    'NetworkInterface default/web-0 status.phase: second owner: "evil" (Apply on status), beside nso-networkinterface (NSO)',
  ])
})

test('an entry of an earlier release is told with what moves it', () => {
  const { verdict, foreign } = explained((w) =>
    w.claim?.metadata.managedFields?.push({ ...entry('manager', ['Bound']), operation: 'Update' }),
  )
  assert.equal(verdict.state, 'ready')
  assert.deepEqual(foreign, [
    'NetworkInterfaceClaim default/web-0 condition Bound: owned by "manager" (Update on status) of an earlier release: run nso migrate',
  ])
})

test('what may not be read is said in its place, and the rest is explained', () => {
  const forbidden: Gap = { group: 'cloud.datumapis.com', kind: 'VPC', why: 'forbidden', message: 'vpcs is forbidden' }
  const { tree, notes, verdict } = explained((w) => delete w.vpc, [forbidden])
  assert.equal(verdict.state, 'ready')
  assert.deepEqual(notes, ['VPC could not be read, so nothing is said of it: vpcs is forbidden'])
  const vpc = nodeOf(tree, 'VPC')
  assert.deepEqual([vpc?.state, vpc?.notes], ['not known', ['may not be read']])
})

test('without managedFields nobody is blamed', () => {
  const explanation = explained((w) => {
    for (const object of Object.values(w)) delete object.metadata.managedFields
  })
  assert.equal(explanation.verdict.state, 'ready')
  assert.deepEqual(explanation.foreign, [])
  assert.equal(viewOf(explanation.tree, 'Ready')?.written.by, 'not in the dump')
  assert.match(explanation.notes.join(), /it has no managedFields/)
})

test('another data plane is explained by what its DataPlane says, without a table of it', () => {
  const { verdict, tree } = explained((w) => {
    const kind = { apiVersion: 'toy.example.com/v1', kind: 'Tunnel' }
    Object.assign(w.plane?.spec ?? {}, { attachment: kind, network: undefined, report: { prepared: { condition: 'Up' } } })
    w.attachment = stored({ ...kind, name: 'web-0', meta: { ownerReferences: w.attachment?.metadata.ownerReferences ?? [] } })
    delete w.claim?.status?.conditionSources
    notPrepared(w)
  })
  assert.equal(
    verdict.sentence,
    'Broken at Tunnel default/web-0: data plane galactic has reported nothing for 60 s (no status); NSO waits for its condition Up.',
  )
  assert.deepEqual(
    nodeOf(tree, 'Tunnel')?.conditions.map(({ type, status }) => [type, status]),
    [['Up', 'absent']],
  )
})

test('an interface that another claim holds is not explained as the claim’s', () => {
  const given: World = world()
  Object.assign(given.nic?.spec ?? {}, { claimRef: { name: 'other' } })
  assert.equal(chainOf(snapshotOf(given), target).heldBy, 'claim other')
})

test('text: plain, the verdict first, then what is wrong', () => {
  const lines = renderExplanation(
    explained((w) => w.nic?.metadata.managedFields?.push(entry('evil', ['Prepared']))),
    plain,
  )
  assert.equal(lines[0], 'NetworkInterfaceClaim default/web-0 is Ready.')
  assert.match(lines[1] ?? '', /^! NetworkInterface default\/web-0 condition Prepared: second owner/)
  assert.doesNotMatch(lines.join('\n'), new RegExp(String.fromCharCode(27)))
})
