import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { NetworkInterfaceClaim } from '@nso/api'
import fc from 'fast-check'
import { aClaim, anInterface } from '../../test/objects.ts'
import { reportWithoutPlane } from '../dataplane/report.ts'
import type { PlaneReport, TranslatedCondition } from '../dataplane/types.ts'
import type { Decision } from './decide.ts'
import { type ClaimEvent, claimEventReasons, createTeller, eventFor } from './events.ts'
import { claimStatus, type Held, type Verdict } from './status.ts'

const by = (status: 'True' | 'False' | 'Unknown', reason: string): TranslatedCondition => ({ status, reason, message: 'why' })
const report: PlaneReport = {
  prepared: by('True', 'AttachmentReady'),
  programmed: by('True', 'Advertised'),
  ...{ vpc: 'abc', attachmentRef: undefined, podNetwork: undefined },
}
const held = (given: Partial<Held> = {}): Verdict & { kind: 'held' } => ({
  kind: 'held',
  held: { nic: anInterface(), allocation: { kind: 'standing' }, report, ...given },
})

const ready = held()
const missing = held({ allocation: { kind: 'missing', address: 'a', message: 'gone' } })
const unattached = held({ report: { ...report, prepared: by('Unknown', 'Pending'), programmed: by('Unknown', 'Pending') } })
const awaiting = held({ report: { ...report, prepared: by('False', 'AwaitingVPC') } })
const down = held({ report: { ...report, programmed: by('False', 'RouterGone') } })
const stale = held({ report: { ...report, prepared: by('Unknown', 'ReportStale') } })
const planeless = held({ report: reportWithoutPlane('here') })
const turnedAway = (reason: 'AddressFamilyNotCarried' | 'AddressPoolExhausted', message = 'why'): Verdict => ({
  kind: 'rejected',
  rejection: { reason, message },
  held: undefined,
})
const rejected = turnedAway('AddressFamilyNotCarried')
const rejectedHolding: Verdict = { ...rejected, held: ready.held } as Verdict
const waiting: Verdict = { kind: 'waiting', message: 'going' }

type Before = Verdict | 'seeds'

const calm = { did: 'keep', isTroubled: false } as const

/** The claim after the status of a verdict was stored, or as the API server makes it. */
function having(before: Before, again: NetworkInterfaceClaim = aClaim()): NetworkInterfaceClaim {
  const isSeeded = before === 'seeds'
  const { conditions } = claimStatus(again, isSeeded ? waiting : before)
  const lastTransitionTime = isSeeded ? '1970-01-01T00:00:00Z' : '2026-01-01T00:00:00Z'
  return aClaim({ status: { conditions: conditions.map((one) => ({ ...one, lastTransitionTime })) } })
}

const verdicts: Verdict[] = [ready, missing, unattached, awaiting, down, stale, planeless, rejected, rejectedHolding, waiting]
const anyVerdict = fc.constantFrom<Verdict>(...verdicts)

describe('an event of a claim', () => {
  type Row = { says: string; before: Before; now: Verdict; did?: Decision['do']; isTroubled?: boolean; want: string | undefined }
  const table: Row[] = [
    { says: 'is none on the way to Ready', before: 'seeds', now: unattached, did: 'create', want: undefined },
    { says: 'is none at once Ready', before: 'seeds', now: ready, did: 'create', want: undefined },
    { says: 'is none while the data plane waits for its VPC', before: unattached, now: awaiting, want: undefined },
    { says: 'is none when it is Ready at last', before: unattached, now: ready, want: undefined },
    { says: 'is none of a claim that stays ready', before: ready, now: ready, want: undefined },
    { says: 'tells a rejection', before: 'seeds', now: rejected, want: 'Warning AddressFamilyNotCarried' },
    { says: 'tells the same rejection not again', before: rejected, now: rejected, want: undefined },
    {
      says: 'tells not that the words of a rejection change',
      before: rejected,
      now: turnedAway('AddressFamilyNotCarried', 'other words'),
      want: undefined,
    },
    {
      says: 'tells that a rejection has another reason now',
      before: rejected,
      now: turnedAway('AddressPoolExhausted'),
      want: 'Warning AddressPoolExhausted',
    },
    { says: 'tells that a rejected claim is bound', before: rejected, now: unattached, did: 'create', want: 'Normal Bound' },
    { says: 'tells that alone when it is Ready at once', before: rejected, now: ready, did: 'create', want: 'Normal Bound' },
    {
      says: 'tells the rejection of a bound claim',
      before: ready,
      now: rejectedHolding,
      want: 'Warning AddressFamilyNotCarried',
    },
    { says: 'tells the end of that', before: rejectedHolding, now: ready, want: 'Normal Accepted' },
    { says: 'tells the loss of the interface', before: ready, now: waiting, want: 'Warning InterfaceLost' },
    { says: 'tells that loss not again', before: waiting, now: waiting, want: undefined },
    { says: 'is none of a new claim that waits', before: 'seeds', now: waiting, want: undefined },
    { says: 'tells that it has an interface again', before: waiting, now: unattached, did: 'create', want: 'Normal Bound' },
    { says: 'tells that of one found after a crash', before: waiting, now: ready, did: 'keep', want: 'Normal Bound' },
    {
      says: 'tells that the interface is another, though the loss was not seen',
      before: ready,
      now: unattached,
      did: 'create',
      want: 'Normal Bound',
    },
    { says: 'tells the loss of an allocation', before: ready, now: missing, want: 'Warning AddressAllocationMissing' },
    { says: 'tells that loss not again', before: missing, now: missing, want: undefined },
    { says: 'tells that it is recovered', before: missing, now: ready, want: 'Normal AddressAllocationRecovered' },
    { says: 'tells that no data plane serves a new claim', before: 'seeds', now: planeless, want: 'Warning NoDataPlane' },
    { says: 'tells that not again', before: planeless, now: planeless, want: undefined },
    { says: 'tells that one does', before: planeless, now: ready, isTroubled: true, want: 'Normal Ready' },
    { says: 'tells that a ready claim is not any more', before: ready, now: down, want: 'Warning NotProgrammed' },
    { says: 'tells that by the first part that is not', before: ready, now: awaiting, want: 'Warning NotPrepared' },
    { says: 'tells that not again', before: down, now: down, want: undefined },
    { says: 'tells that it is ready again', before: down, now: ready, isTroubled: true, want: 'Normal Ready' },
    { says: 'is none when what was said on the way is over', before: down, now: ready, want: undefined },
    { says: 'is none while it is not ready yet', before: planeless, now: unattached, isTroubled: true, want: undefined },
    { says: 'is none of what is merely not known', before: ready, now: stale, want: undefined },
    { says: 'is none when that is known again', before: stale, now: ready, want: undefined },
  ]
  for (const { says, before, now, did = 'keep', isTroubled = false, want } of table) {
    test(says, () => {
      const event = eventFor(having(before), now, { did, isTroubled })
      assert.equal(event && `${event.type} ${event.reason}`, want)
    })
  }

  test('concerns the interface, where there is one', () => {
    assert.equal(eventFor(having(ready), missing, calm)?.related?.kind, 'NetworkInterface')
  })

  test('has a reason that is listed, and is told once: with the status that it leaves, nothing is left to tell', () => {
    const isListed = ({ type, reason }: ClaimEvent) => (claimEventReasons[type] as readonly string[]).includes(reason)
    fc.assert(
      fc.property(fc.constantFrom<Before>('seeds', ...verdicts), anyVerdict, (before, now) => {
        const event = eventFor(having(before), now, calm)
        assert.ok(event === undefined || isListed(event))
        assert.equal(eventFor(having(now), now, calm), undefined)
      }),
    )
  })
})

/** What a process tells of claims that go through these states, one after the other. */
function toldOf(states: readonly Verdict[], from: Before = 'seeds'): string[] {
  const told: string[] = []
  const teller = createTeller((_, { type }) => told.push(type))
  let claim = having(from)
  for (const verdict of states) {
    teller.of(claim, verdict, 'keep')()
    claim = having(verdict)
  }
  return told
}

describe('what one process tells of a claim', () => {
  test('has an end for whatever had a beginning, whatever comes between', () => {
    const between = fc.array(fc.constantFrom<Verdict>(unattached, awaiting, down, stale))
    fc.assert(
      fc.property(anyVerdict, between, (trouble, states) => {
        const told = toldOf([ready, trouble, ...states, ready, ready])
        assert.equal(told.includes('Warning'), told.includes('Normal'), told.join(', '))
      }),
    )
  })
  test('ends a trouble of the data plane that an earlier process told', () => {
    assert.deepEqual(toldOf([unattached, ready], planeless), ['Normal'])
  })
  test('is nothing of a claim on its way to Ready', () => {
    assert.deepEqual(toldOf([unattached, awaiting, down, stale, ready, ready]), [])
  })
})
