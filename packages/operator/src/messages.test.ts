/** Everything that NSO says in conditions which are not True: it ends with what to do, has an end, and is the same each time. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  annotations,
  claimConditions,
  type DataPlane,
  interfaceConditions,
  type Network,
  type NetworkContext,
  networkConditions,
  networkContextConditions,
  type RejectReason,
  rejectReasons,
  type Subnet,
  subnetConditions,
} from '@nso/api'
import fc from 'fast-check'
import type { ConditionIntent } from 'kube-control-loop'
import { aClaim, aContext, aFreeInterface, anInterface, aSubnet } from '../test/objects.ts'
import { longestNoteBytes, remedy } from '../test/support/messages.ts'
import { choose } from './addresses/plan.ts'
import type { Verification } from './addresses/port.ts'
import { decide } from './claim/decide.ts'
import { locationOf } from './claim/location.ts'
import type { Seen } from './claim/observe.ts'
import { claimStatus, type Held } from './claim/status.ts'
import { type Rejection, wantsOf } from './claim/wants.ts'
import { reportWithoutPlane } from './dataplane/report.ts'
import type { CompiledPlane, PlaneReport } from './dataplane/types.ts'
import { interfaceStatus } from './interface/status.ts'
import { advice, few } from './messages.ts'
import { decide as decideContext } from './network/context/decide.ts'
import { contextStatus } from './network/context/status.ts'
import { decide as decideNetwork } from './network/network/decide.ts'
import type { RangesSeen } from './network/network/observe.ts'
import { networkStatus } from './network/network/status.ts'
import { subnetStatus } from './network/subnet/status.ts'

/** As long as a name may be. */
const long = (letter: string) => letter.repeat(253)
/** No schema bounds the names that a spec refers to, nor texts such as a start address. */
const endless = 'x'.repeat(40_000)

const deleting = { deletionTimestamp: '2026-01-01T00:00:00Z' }
const here = { kind: 'known', name: 'l'.repeat(63) } as const

/** Each of these conditions that is not True says what to do, in the space of an event's note. */
function assertAdvice(
  conditions: readonly ConditionIntent<string>[],
  declared: Readonly<Record<string, { lists(status: 'True' | 'False' | 'Unknown', reason: string): boolean }>>,
): void {
  for (const { type, status, reason, message } of conditions) {
    assert.ok(declared[type]?.lists(status, reason), `${type} ${status} ${reason}`)
    if (status === 'True') continue
    assert.match(message, /^Waiting for .+\.$/.test(message) ? /./ : remedy, `${type} ${reason}`)
    assert.ok(Buffer.byteLength(message) <= longestNoteBytes, `${type} ${reason} has ${message.length} characters`)
  }
}

/** Everything has the longest name. */
function seen(given: Partial<Seen> = {}): Seen {
  const context = aContext({
    metadata: { name: long('c') },
    spec: { network: { name: long('n') }, location: { name: here.name } },
  })
  return {
    claim: aClaim({ metadata: { name: long('a') }, spec: { network: { name: long('n') } } }),
    location: here,
    context,
    subnets: [aSubnet({ metadata: { name: long('s') }, spec: { networkContext: { name: long('c') } } })],
    nic: undefined,
    plane: undefined,
    candidate: undefined,
    attached: false,
    ...given,
  }
}

const offering = (capabilities: DataPlane['spec']['capabilities']) =>
  ({ ref: { name: long('d'), uid: 'p-1' }, object: { spec: { capabilities } } }) as unknown as CompiledPlane

/** Free, and as the claim wants it, save what a row says. */
const aFit = (spec: Parameters<typeof aFreeInterface>[0] = {}, name = long('a')) => {
  const nic = aFreeInterface({ ...spec, spec: { network: { name: long('n') }, reclaimPolicy: 'Delete', ...spec.spec } })
  return { ...nic, metadata: { ...nic.metadata, name } }
}

const held = (uid: string, name = long('a')) =>
  anInterface({
    metadata: { name: long('a'), annotations: { [annotations.claimUid]: uid } },
    spec: { network: { name: long('n') }, claimRef: { name } },
  })

const allocating = (given: Partial<Seen>, wanted: Parameters<typeof aClaim>[0], room: undefined = undefined): Rejection => {
  const { context, subnets } = seen(given)
  const claim = aClaim(wanted) as Parameters<typeof choose>[0]['claim']
  const request = wantsOf(claim).at(-1)
  assert.ok(context && request)
  const choice = choose({ claim, context, subnets, request }, [], { firstFree: () => room })
  assert.ok(choice.kind === 'refused')
  return choice
}

const manySubnets = Array.from({ length: 40 }, (_, at) => aSubnet({ metadata: { name: `${at}${long('s').slice(2)}` } })).map(
  (subnet) => ({ ...subnet, spec: { ...subnet.spec, networkContext: { name: long('c') } } }),
)

describe('a rejected claim', () => {
  const decided: { says: string; given: Partial<Seen>; reason: RejectReason }[] = [
    {
      says: 'in no location',
      given: { location: locationOf([], undefined) },
      reason: 'NoLocationIdentity',
    },
    {
      says: 'in a location whose name is too long',
      given: { location: locationOf([long('l')], undefined) },
      reason: 'NoLocationIdentity',
    },
    {
      says: 'in one of a thousand locations',
      given: {
        location: locationOf(
          Array.from({ length: 1000 }, (_, at) => `${at}${long('l').slice(4)}`),
          undefined,
        ),
      },
      reason: 'AmbiguousLocationIdentity',
    },
    { says: 'of a network that is not here', given: { context: undefined }, reason: 'NetworkNotAvailableInLocation' },
    {
      says: 'of a network whose name has no end',
      given: { context: undefined, claim: aClaim({ spec: { network: { name: endless } } }) },
      reason: 'NetworkNotAvailableInLocation',
    },
    {
      says: 'of a network without families',
      given: { context: aContext({ ...seen().context, spec: { ...seen().context?.spec, ipFamilies: [] } }) },
      reason: 'AddressFamiliesUnknown',
    },
    {
      says: 'of another family',
      given: { context: aContext({ ...seen().context, spec: { ...seen().context?.spec, ipFamilies: ['IPv4'] } }) },
      reason: 'AddressFamilyNotCarried',
    },
    { says: 'of another’s interface', given: { nic: held('u', long('b')) }, reason: 'InterfaceHeldByAnotherClaim' },
    { says: 'of an interface of its name’s earlier claim', given: { nic: held('u') }, reason: 'InterfaceHeldByAnotherClaim' },
    {
      says: 'of an interface on another network',
      given: { nic: aFit({ spec: { network: { name: endless } } }) },
      reason: 'NetworkMismatch',
    },
    {
      says: 'of an interface of another device',
      given: { nic: aFit({ spec: { interfaceName: 'i'.repeat(15) } }) },
      reason: 'InterfaceNameMismatch',
    },
    {
      says: 'of an interface without its family',
      given: { nic: aFit({ spec: { addresses: [] } }) },
      reason: 'AddressFamilyMissing',
    },
    {
      says: 'of an interface without its class',
      given: {
        nic: aFit(),
        claim: aClaim({ ...seen().claim, spec: { network: { name: long('n') }, addresses: [{ class: 'k'.repeat(63) }] } }),
      },
      reason: 'AddressClassMissing',
    },
    {
      says: 'of an interface with another policy',
      given: { nic: aFit({ spec: { reclaimPolicy: 'Retain' } }) },
      reason: 'ReclaimPolicyMismatch',
    },
    {
      says: 'beside a Subnet without a gateway',
      given: { subnets: [aSubnet({ metadata: { name: long('s') }, spec: { startAddress: endless } })] },
      reason: 'SubnetGatewayUnusable',
    },
    {
      says: 'of an interface that cannot be named',
      given: { claim: aClaim({ spec: { network: { name: long('n') }, networkInterfaceName: `${'N'.repeat(252)}_` } }) },
      reason: 'InterfaceRefused',
    },
    {
      says: 'of a mode that is not offered',
      given: { candidate: offering({ attachmentModes: ['Hypervisor', 'HypervisorDeclared'] }) },
      reason: 'AttachmentModeNotSupported',
    },
    {
      says: 'of a family that is not offered',
      given: { candidate: offering({ addressFamilies: ['IPv4'] }) },
      reason: 'AddressFamilyNotSupported',
    },
  ]
  const allocated: { says: string; rejection: Rejection; reason: RejectReason }[] = [
    {
      says: 'when forty Subnets are full',
      rejection: allocating({ subnets: manySubnets }, {}),
      reason: 'AddressPoolExhausted',
    },
    {
      says: 'when there is no Subnet',
      rejection: allocating({ subnets: [] }, { spec: { addresses: [{ class: 'k'.repeat(63) }] } }),
      reason: 'AddressAllocationRejected',
    },
    {
      says: 'when the class has other families',
      rejection: allocating(
        { subnets: manySubnets.map((subnet) => ({ ...subnet, spec: { ...subnet.spec, subnetClass: 'k'.repeat(63) } })) },
        { spec: { ipFamilies: ['IPv4'], addresses: [{ class: 'k'.repeat(63) }] } },
      ),
      reason: 'AddressAllocationRejected',
    },
  ]
  const situations = [
    ...decided.map(({ given, ...row }) => {
      const { claim, ...rest } = seen(given)
      const decision = decide({ ...rest, claim })
      assert.ok(decision.do === 'reject' || decision.do === 'reap', `${row.says}: ${decision.do}`)
      return { ...row, rejection: decision.rejection }
    }),
    ...allocated,
  ]
  for (const { says, rejection, reason } of situations) {
    test(`${says} is told what to do`, () => {
      assert.equal(rejection.reason, reason)
      const { conditions } = claimStatus(aClaim(), { kind: 'rejected', rejection, held: undefined })
      assertAdvice(conditions, claimConditions)
    })
  }

  test('for every reason that the built-in allocation knows', () => {
    const ofAddressServices = ['ProjectUnresolved', 'ProjectNamespaceNotFound', 'RetainedAddressConflict', 'AllocationFailed']
    const met = new Set<string>(situations.map(({ reason }) => reason))
    assert.deepEqual(
      rejectReasons.filter((reason) => !met.has(reason)),
      rejectReasons.filter((reason) => ofAddressServices.includes(reason)),
    )
  })

  test('is told the same whatever order the locations were delivered in', () => {
    const names = ['b', 'd', 'a', 'c', 'e']
    assert.deepEqual(locationOf(names, undefined), locationOf(names.toReversed(), undefined))
  })
})

const verifications: Verification[] = [
  { kind: 'missing', address: 'a', message: advice('Address a is gone', 'delete it') },
  { kind: 'unknown', message: advice('Address a is not known', 'see it') },
]

const silent: PlaneReport = reportWithoutPlane('here')
const standing: Held = { nic: anInterface(), allocation: { kind: 'standing' }, report: silent }

test('a claim that waits says for what', () => {
  for (const given of [
    { nic: aFit({}, long('a')), attached: true },
    { nic: { ...aFit(), metadata: { ...aFit().metadata, ...deleting } } },
  ]) {
    const decision = decide(seen(given))
    assert.ok(decision.do === 'wait')
    assertAdvice(claimStatus(aClaim(), { kind: 'waiting', message: decision.message }).conditions, claimConditions)
  }
})

test('a claim whose addresses or data plane are not as they should be says what to do', () => {
  for (const allocation of verifications) {
    const verdict = { kind: 'held', held: { ...standing, allocation } } as const
    assertAdvice(claimStatus(aClaim(), verdict).conditions, claimConditions)
    const of = { phase: 'Bound', location: 'here', allocation, report: silent } as const
    assertAdvice(interfaceStatus(anInterface(), of).conditions ?? [], interfaceConditions)
  }
})

test('an interface that nobody holds says what to do with it', () => {
  const of = { phase: 'Available', location: 'here', allocation: { kind: 'standing' }, report: undefined } as const
  assertAdvice(interfaceStatus(aFreeInterface(), of).conditions ?? [], interfaceConditions)
})

const apiVersion = 'networking.datumapis.com/v1alpha'
const aNetwork = (spec: Partial<Network['spec']> = {}, name = long('n')): Network => ({
  ...{ apiVersion, kind: 'Network', metadata: { name, namespace: 'default', uid: 'n-1', generation: 1 } },
  spec: { ipam: { mode: 'Auto' }, ipFamilies: ['IPv6', 'IPv4'], mtu: 1460, ...spec },
})

test('a network that gets no ranges, or no contexts, says what to do', () => {
  const [free, full] = [{ firstFree: () => 0n }, { firstFree: () => undefined }].map(
    (held) => ({ kind: 'chosen', held }) as unknown as RangesSeen,
  )
  assert.ok(free && full)
  for (const [network, ranges] of [
    [aNetwork({ ipam: { mode: 'Auto', ipv4Range: endless } }), free],
    [aNetwork({ ipam: { mode: 'Auto', ipv4Range: '10.0.0.0/30' } }), free],
    [aNetwork({ ipam: { mode: 'Auto', ipv6Range: 'fd20::/65' } }), free],
    [aNetwork({ ipFamilies: ['IPv6'] }), full],
  ] as const) {
    const decision = decideNetwork({ network, contexts: [], locations: [], ranges })
    assert.ok(decision.do === 'serve' && decision.ranges.kind === 'refused')
    assertAdvice(networkStatus(network, decision.ranges, []).conditions, networkConditions)
  }
  const locations = Array.from({ length: 100 }, (_, at) => `location-${at}`)
  const ipv4 = aNetwork({ ipFamilies: ['IPv4'] })
  const named = decideNetwork({ network: ipv4, contexts: [], locations, ranges: full })
  assert.ok(named.do === 'serve' && named.tooLong.length === 100 && named.ranges.kind !== 'ask')
  assertAdvice(networkStatus(ipv4, named.ranges, named.tooLong).conditions, networkConditions)
})

test('a network context that lacks a Subnet says what to do', () => {
  const context: NetworkContext = aContext({ metadata: { name: long('c') }, spec: { network: { name: long('n') } } })
  const short = { ...context, metadata: { ...context.metadata, name: 'net-here' } }
  const stands = { ...aNetwork(), status: { ipam: { ipv6Prefix: 'fd20:0:1::/48' } } }
  const subnet = aSubnet({ metadata: { name: long('s') }, spec: { networkContext: { name: 'net-here' } } })
  const clashing: Subnet = { ...subnet, metadata: { ...subnet.metadata, name: long('t') } }
  const range = { family: 'IPv6', start: 0xfd20000000000001n << 64n, prefixLength: 64 } as const
  const whole = { family: 'IPv6', start: 0xfd2000000001n << 80n, prefixLength: 48 } as const
  const given = { network: stands, subnets: [], named: () => undefined, taken: [] }
  for (const seenContext of [
    { ...given, context },
    { ...given, context: short, named: () => clashing },
    { ...given, context: short, taken: [{ range: whole, by: `Subnet ${long('t')}` }] },
    { ...given, context: short, network: aNetwork({ ipFamilies: ['IPv4'] }) },
    { ...given, context: short, network: aNetwork({ ipam: { mode: 'Auto', ipv6Range: endless } }) },
    { ...given, context: short, network: undefined },
    { ...given, context: short, network: aNetwork() },
    { ...given, context: short, subnets: [subnet], taken: [{ range, by: `Subnet ${long('t')}` }] },
  ]) {
    const decision = decideContext(seenContext)
    assert.ok(decision.do === 'serve' && decision.standing.state !== 'held')
    assertAdvice(contextStatus(seenContext.context, [], decision.standing).conditions, networkContextConditions)
  }
})

test('a Subnet whose range cannot be read, or that no router carries, says what to do', () => {
  for (const startAddress of [endless, 'fd20::'])
    assertAdvice(subnetStatus(aSubnet({ spec: { startAddress } })).conditions, subnetConditions)
})

describe('a text', () => {
  test('fits the note of an event whatever its parts are, and keeps its last words', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 2_000 }), fc.string({ maxLength: 300 }), (what, next) => {
        const text = advice(what.isWellFormed() ? what : '', next)
        assert.ok(Buffer.byteLength(text) <= longestNoteBytes)
        assert.ok(text.isWellFormed() && !text.includes('\uFFFD…'))
        assert.ok(text.includes(': '))
      }),
    )
    assert.equal(advice('Nothing is here', 'wait for it'), 'Nothing is here: wait for it.')
  })
  test('names a few of a list and counts the others', () => {
    assert.equal(few(['a', 'b']), 'a, b')
    assert.equal(few(['a', 'b', 'c', 'd', 'e']), 'a, b, c and 2 more')
  })
})
