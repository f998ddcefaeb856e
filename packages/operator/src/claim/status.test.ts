import assert from 'node:assert/strict'
import test from 'node:test'
import { claimConditions, claimReadyOrder, type NetworkInterfaceClaim, rejectReasons } from '@nso/api'
import fc from 'fast-check'
import { aClaim, anInterface } from '../../test/objects.ts'
import type { PlaneReport, TranslatedCondition } from '../dataplane/types.ts'
import { claimStatus, deriveReady, type Held, type Verdict } from './status.ts'

const yes = (reason: string): TranslatedCondition => ({ status: 'True', reason, message: 'said by the plane' })
const ready: PlaneReport = {
  prepared: yes('AttachmentReady'),
  programmed: yes('Advertised'),
  vpc: 'abc',
  attachmentRef: undefined,
  podNetwork: undefined,
}

const held = (given: Partial<Held> = {}): Held => ({
  nic: anInterface(),
  allocation: { kind: 'standing' },
  report: ready,
  ...given,
})

/** `Bound True Bound, …` in the order of the intent. */
function brief(verdict: Verdict, claim: NetworkInterfaceClaim = aClaim()): string {
  return claimStatus(claim, verdict)
    .conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`)
    .join(', ')
}

const rejection = { reason: 'AddressFamilyNotCarried', message: 'why' } as const
const no = (reason: string): TranslatedCondition => ({ status: 'False', reason, message: 'not yet' })
const unknown = (reason: string): TranslatedCondition => ({ status: 'Unknown', reason, message: 'not known' })

const table: { says: string; verdict: Verdict; want: string }[] = [
  {
    says: 'everything holds: Ready',
    verdict: { kind: 'held', held: held() },
    want: 'Bound True Bound, Allocated True Allocated, Prepared True AttachmentReady, Programmed True Advertised, Ready True Ready',
  },
  {
    says: 'what is not known yet is no failure',
    verdict: { kind: 'held', held: held({ report: { ...ready, programmed: unknown('AwaitingDataPlane') } }) },
    want: 'Bound True Bound, Allocated True Allocated, Prepared True AttachmentReady, Programmed Unknown AwaitingDataPlane, Ready Unknown NotProgrammed',
  },
  {
    says: 'Ready names the first unmet part',
    verdict: { kind: 'held', held: held({ report: { ...ready, prepared: no('AwaitingVPC'), programmed: no('Withdrawn') } }) },
    want: 'Bound True Bound, Allocated True Allocated, Prepared False AwaitingVPC, Programmed False Withdrawn, Ready False NotPrepared',
  },
  {
    says: 'a lost allocation keeps Bound',
    verdict: { kind: 'held', held: held({ allocation: { kind: 'missing', address: 'a', message: 'gone' } }) },
    want: 'Bound True Bound, Allocated False AddressAllocationMissing, Prepared True AttachmentReady, Programmed True Advertised, Ready False NotAllocated',
  },
  {
    says: 'a rejection of an unbound claim stands on Bound, Allocated and Ready, and leaves the data plane’s parts alone',
    verdict: { kind: 'rejected', rejection, held: undefined },
    want: 'Bound False AddressFamilyNotCarried, Allocated False AddressFamilyNotCarried, Prepared Unknown Pending, Programmed Unknown Pending, Ready False AddressFamilyNotCarried',
  },
  {
    says: 'a rejection of a bound claim stands on Ready alone',
    verdict: { kind: 'rejected', rejection, held: held() },
    want: 'Bound True Bound, Allocated True Allocated, Prepared True AttachmentReady, Programmed True Advertised, Ready False AddressFamilyNotCarried',
  },
  {
    says: 'a claim that waits for an interface to go is not bound to it',
    verdict: { kind: 'waiting', message: 'going' },
    want: 'Bound Unknown Pending, Allocated Unknown Pending, Prepared Unknown Pending, Programmed Unknown Pending, Ready Unknown NotBound',
  },
]

for (const { says, verdict, want } of table) {
  test(says, () => assert.equal(brief(verdict), want))
}

test('B35: a claim that waits lists no address of the interface that is going', () => {
  const intent = claimStatus(aClaim(), { kind: 'waiting', message: 'going' })
  assert.deepEqual(Object.keys(intent), ['conditions'])
})

test('a claim says where the report comes from that it repeats, as long as it holds an interface', () => {
  const from = {
    dataPlane: 'toy',
    object: { apiVersion: 'planes.example.dev/v1', kind: 'Wire', name: 'web-0', uid: 'w-1' },
    generation: 2,
    condition: 'Up',
  }
  const report = { ...ready, programmed: { ...ready.programmed, from } }
  const want = [{ type: 'Programmed', ...from }]
  const sources = (verdict: Verdict) => claimStatus(aClaim(), verdict).conditionSources
  assert.deepEqual(sources({ kind: 'held', held: held({ report }) }), want)
  assert.deepEqual(sources({ kind: 'rejected', rejection, held: held({ report }) }), want)
  assert.deepEqual(sources({ kind: 'rejected', rejection, held: undefined }), undefined)
  assert.deepEqual(sources({ kind: 'held', held: held() }), undefined)
})

test('a bound claim repeats the addresses of its interface', () => {
  const { addresses, networkInterfaceRef } = claimStatus(aClaim(), { kind: 'held', held: held() })
  assert.deepEqual(
    { addresses, networkInterfaceRef },
    { addresses: anInterface().spec.addresses, networkInterfaceRef: { name: 'web-0' } },
  )
})

const notKnown = { kind: 'unknown', message: 'no context' } as const

test('whatever the status says already, Allocated comes of the allocations alone', () => {
  const told = ['True Rogue', 'False AddressAllocationMissing', 'Unknown Pending'].map((text) => text.split(' '))
  for (const [status = '', reason = ''] of told) {
    const said = { type: 'Allocated', status, reason, message: 'x', lastTransitionTime: '' } as never
    const claim = aClaim({ status: { conditions: [said] } })
    const says = (allocation: Held['allocation']) => brief({ kind: 'rejected', rejection, held: held({ allocation }) }, claim)
    assert.match(says(notKnown), /Allocated Unknown Pending/)
    assert.match(says({ kind: 'standing' }), /Allocated True Allocated/)
  }
})

const condition = fc.record({
  status: fc.constantFrom('True' as const, 'False' as const, 'Unknown' as const),
  reason: fc.constantFrom('Pending', 'AwaitingVPC', 'Advertised'),
  message: fc.string(),
})
const anyHeld = fc.record({
  nic: fc.constant(anInterface()),
  allocation: fc.oneof(
    fc.constant({ kind: 'standing' as const }),
    fc.record({ kind: fc.constant('missing' as const), address: fc.string(), message: fc.string() }),
    fc.record({ kind: fc.constant('unknown' as const), message: fc.string() }),
  ),
  report: fc.record({
    prepared: condition,
    programmed: condition,
    vpc: fc.constant(undefined),
    attachmentRef: fc.constant(undefined),
    podNetwork: fc.constant(undefined),
  }),
})
const anyVerdict: fc.Arbitrary<Verdict> = fc.oneof(
  fc.record({ kind: fc.constant('held' as const), held: anyHeld }),
  fc.record({ kind: fc.constant('waiting' as const), message: fc.string() }),
  fc.record({
    kind: fc.constant('rejected' as const),
    rejection: fc.record({ reason: fc.constantFrom(...rejectReasons), message: fc.string() }),
    held: fc.option(anyHeld, { nil: undefined }),
  }),
)

const listed = anInterface().spec.addresses ?? []
const before = listed.map((one) => ({ ...one, address: 'fd20:0:0:1::2:0:0/96' }))
const missing = { kind: 'missing', address: 'a', message: 'gone' } as const
const toldTable: { says: string; allocation: Held['allocation']; told?: { nic: string }; want: unknown }[] = [
  { says: 'addresses that are held are told', allocation: { kind: 'standing' }, told: { nic: 'web-0' }, want: listed },
  { says: 'one that is not held is never told anew', allocation: missing, want: undefined },
  {
    says: 'what was told stays while the interface lists what is not held',
    allocation: missing,
    told: { nic: 'web-0' },
    want: before,
  },
  { says: 'what was told of another interface does not', allocation: missing, told: { nic: 'web-1' }, want: undefined },
  { says: 'what was told stays while that is not known', allocation: notKnown, told: { nic: 'web-0' }, want: before },
  { says: 'what the interface lists is told where nothing was', allocation: notKnown, want: listed },
]
for (const { says, allocation, told, want } of toldTable) {
  test(says, () => {
    const claim = aClaim(told ? { status: { networkInterfaceRef: { name: told.nic }, addresses: before } } : {})
    for (const verdict of [
      { kind: 'held', held: held({ allocation }) },
      { kind: 'rejected', rejection, held: held({ allocation }) },
    ] as const) {
      assert.deepEqual(claimStatus(claim, verdict).addresses, want)
    }
  })
}

test('every verdict gives each condition once, for the present generation, Ready last', () => {
  fc.assert(
    fc.property(anyVerdict, fc.nat(), (verdict, generation) => {
      const { conditions } = claimStatus(aClaim({ metadata: { generation } }), verdict)
      assert.deepEqual(
        conditions.map(({ type }) => type),
        [...claimReadyOrder, 'Ready'],
      )
      assert.ok(conditions.every((one) => one.observedGeneration === generation))
    }),
  )
})

test('own conditions carry listed reasons only', () => {
  fc.assert(
    fc.property(anyVerdict, (verdict) => {
      for (const { type, status, reason } of claimStatus(aClaim(), verdict).conditions) {
        if (type === 'Prepared' || type === 'Programmed') continue
        assert.ok(claimConditions[type].lists(status, reason), `${type} ${status} ${reason}`)
      }
    }),
  )
})

test('Ready is True exactly when every part is, False or Unknown as the first unmet part is', () => {
  const parts = fc.tuple(condition, condition, condition, condition)
  fc.assert(
    fc.property(parts, (given) => {
      const all = given.map((one, at) => ({ ...one, type: claimReadyOrder[at] ?? 'Bound' }))
      const { status, reason } = deriveReady(all)
      const unmet = all.find((one) => one.status !== 'True')
      assert.deepEqual(
        { status, reason },
        unmet ? { status: unmet.status, reason: `Not${unmet.type}` } : { status: 'True', reason: 'Ready' },
      )
    }),
  )
})
