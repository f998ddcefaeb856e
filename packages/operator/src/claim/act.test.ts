import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NetworkInterface, type RejectReason, rejectReasons } from '@nso/api'
import { ApiError } from 'kube-control-loop'
import { aClaim, aContext, anInterface, aSubnet } from '../../test/objects.ts'
import type { Allocation, RefusalReason } from '../addresses/port.ts'
import { act } from './act.ts'
import { decide } from './decide.ts'
import type { Seen } from './observe.ts'
import type { ClaimParts } from './parts.ts'
import { claimStatus, type Verdict } from './status.ts'

const signal = new AbortController().signal

function seen(given: Partial<Seen> = {}): Seen {
  return {
    claim: aClaim(),
    location: { kind: 'known', name: 'here' },
    context: aContext(),
    subnets: [aSubnet()],
    nic: undefined,
    plane: undefined,
    candidate: undefined,
    attached: false,
    ...given,
  }
}

/** What a pass comes to, with these answers of an allocator and of the API server. */
async function passOver(
  given: Partial<Seen>,
  answers: { allocation?: Allocation; posted?: Error },
): Promise<{ verdict: Verdict; posted: number }> {
  let posted = 0
  const parts = {
    allocator: { allocate: async () => answers.allocation ?? { kind: 'allocated', addresses: [] } },
    interfaceWriter: {
      async create() {
        posted += 1
        throw answers.posted ?? new Error('nothing may be made')
      },
    },
  } as unknown as ClaimParts
  const all = seen(given)
  return { verdict: await act(parts, all, decide(all), signal), posted }
}

const brief = (verdict: Verdict) =>
  claimStatus(aClaim(), verdict).conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`)

const unbound = (reason: RejectReason) => [
  `Bound False ${reason}`,
  `Allocated False ${reason}`,
  'Prepared Unknown Pending',
  'Programmed Unknown Pending',
  `Ready False ${reason}`,
]

const refusals: RefusalReason[] = [
  'AddressPoolExhausted',
  'RetainedAddressConflict',
  'AddressAllocationRejected',
  'AllocationFailed',
  'ProjectUnresolved',
  'ProjectNamespaceNotFound',
]
for (const reason of refusals) {
  test(`an allocator that answers ${reason}: the claim says so in its words, and no interface is made`, async () => {
    const { verdict, posted } = await passOver({}, { allocation: { kind: 'refused', reason, message: 'its words' } })
    assert.deepEqual(brief(verdict), unbound(reason))
    assert.equal(verdict.kind === 'rejected' && verdict.rejection.message, 'its words')
    assert.equal(posted, 0)
  })
}

test('every reject reason is published as the table says, of a claim with and without an interface', () => {
  for (const reason of rejectReasons) {
    const rejection = { reason, message: 'why' }
    assert.deepEqual(brief({ kind: 'rejected', rejection, held: undefined }), unbound(reason))
    const report = {
      prepared: { status: 'False', reason: 'AwaitingVPC', message: 'as the plane says' },
      programmed: { status: 'Unknown', reason: 'AwaitingDataPlane', message: 'as the plane says' },
      vpc: undefined,
      attachmentRef: undefined,
      podNetwork: undefined,
    } as const
    const held = { nic: anInterface(), allocation: { kind: 'standing' }, report } as const
    assert.deepEqual(brief({ kind: 'rejected', rejection, held }), [
      'Bound True Bound',
      'Allocated True Allocated',
      'Prepared False AwaitingVPC',
      'Programmed Unknown AwaitingDataPlane',
      `Ready False ${reason}`,
    ])
  }
})

const answered = (code: number, reason: string, message: string) =>
  new ApiError(
    { method: 'POST', path: `/apis/${NetworkInterface.group}/v1alpha/namespaces/default/networkinterfaces` },
    { status: code, headers: {}, body: { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, message, code } },
  )

test('an interface that the API server takes in no form is a rejection in the server’s words', async () => {
  for (const error of [
    answered(422, 'Invalid', 'the words: spec.mtu: too large'),
    answered(403, 'Forbidden', 'the words: exceeded quota: few'),
    answered(409, 'Conflict', 'admission webhook "w.example.dev" denied the request: the words'),
  ]) {
    const { verdict } = await passOver({}, { posted: error })
    assert.deepEqual(brief(verdict), unbound('InterfaceRefused'))
    assert.match(verdict.kind === 'rejected' ? verdict.rejection.message : '', /the words/)
  }
})

test('a fault that may pass, and a lack of permission, stay faults of the pass', async () => {
  const rbac = 'networkinterfaces is forbidden: User "nso" cannot create resource "networkinterfaces"'
  for (const error of [answered(500, 'InternalError', 'etcd'), answered(403, 'Forbidden', rbac), new TypeError('a bug')]) {
    await assert.rejects(passOver({}, { posted: error }), (thrown) => thrown === error)
  }
})
