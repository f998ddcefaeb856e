import assert from 'node:assert/strict'
import test from 'node:test'
import { annotations, type NetworkInterface } from '@nso/api'
import { aClaim, aContext, aFreeInterface, anInterface, aSubnet } from '../../test/objects.ts'
import type { CompiledPlane } from '../dataplane/types.ts'
import { type Decision, decide } from './decide.ts'
import type { Seen } from './observe.ts'
import { interfaceStatus } from './status.ts'

/** As much of a compiled plane as a decision looks at. */
function aPlane(name: string, kind = 'ToyAttachment'): CompiledPlane {
  const attachment = { apiVersion: 'toy.example.dev/v1', kind, spec: {} }
  return {
    ref: { name, uid: `${name}-uid` },
    object: {
      apiVersion: 'networking.datumapis.com/v1alpha',
      kind: 'DataPlane',
      metadata: { name, uid: `${name}-uid` },
      spec: { contract: 'v1', locations: ['*'], attachment, report: { prepared: { condition: 'Ready' } } },
    },
    attachmentKind: { apiVersion: attachment.apiVersion, kind },
    networkKind: undefined,
    unknownFields: [],
    hindrance: undefined,
    attachments: undefined,
    networks: undefined,
    renderAttachment: () => assert.fail('a decision renders nothing'),
    attachmentRendering: () => assert.fail('a decision renders nothing'),
    renderNetwork: () => assert.fail('a decision renders nothing'),
    translate: () => assert.fail('a decision translates nothing'),
  }
}

const toy = aPlane('toy')
const deleted = aPlane('going')
const going: CompiledPlane = {
  ...deleted,
  object: { ...deleted.object, metadata: { ...deleted.object.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } },
}
const offering = (capabilities: NonNullable<CompiledPlane['object']['spec']['capabilities']>): CompiledPlane => ({
  ...toy,
  object: { ...toy.object, spec: { ...toy.object.spec, capabilities } },
})

function choosing(choice: string, attachedKind?: string): NetworkInterface {
  const attachmentRef = attachedKind && { apiGroup: 'toy.example.dev', kind: attachedKind, name: 'web-0' }
  return anInterface({
    metadata: { annotations: { [annotations.dataPlane]: choice } },
    ...(attachmentRef ? { status: { attachmentRef } } : {}),
  })
}

function seen(given: Partial<Seen>): Seen {
  const nic = anInterface()
  const around = { location: 'here', context: aContext(), subnets: [aSubnet()] }
  return { nic, edited: false, claim: aClaim(), ...around, plane: toy, served: true, offer: toy, ...given }
}

const brief = (decision: Decision) =>
  decision.do === 'attach' ? `attach by ${decision.plane.ref.name}${decision.choose ? ', choosing it' : ''}` : decision.do

const table: { says: string; given: Partial<Seen>; want: string }[] = [
  { says: 'the plane that was chosen makes the attachment', given: {}, want: 'attach by toy' },
  { says: 'a better offer does not move it', given: { offer: aPlane('better') }, want: 'attach by toy' },
  { says: 'without a choice, the offer is written down first', given: { plane: undefined }, want: 'attach by toy, choosing it' },
  { says: 'no plane, no attachment', given: { plane: undefined, offer: undefined }, want: 'say' },
  { says: 'an interface that nobody holds has no attachment', given: { nic: aFreeInterface() }, want: 'set-free' },
  { says: 'without its context nothing is rendered', given: { context: undefined }, want: 'say' },
  { says: 'addresses that somebody else wrote reach no attachment', given: { edited: true }, want: 'say' },
  {
    says: 'a DataPlane that was made again takes its interfaces up again',
    given: { nic: choosing('toy/gone', 'ToyAttachment'), plane: undefined },
    want: 'attach by toy, choosing it',
  },
  {
    says: 'an attachment of another kind keeps the interface where it is',
    given: { nic: choosing('old/gone', 'OldAttachment'), plane: undefined },
    want: 'say',
  },
  {
    says: 'a choice that never led to an attachment may be made anew',
    given: { nic: choosing('old/gone'), plane: undefined },
    want: 'attach by toy, choosing it',
  },
  { says: 'a plane that is being deleted serves on whom it serves', given: { plane: going }, want: 'attach by going' },
  {
    says: 'a plane that is being deleted takes nobody new: the offer does',
    given: { plane: going, served: false },
    want: 'attach by toy, choosing it',
  },
  { says: 'or nobody, where there is no other', given: { plane: going, served: false, offer: undefined }, want: 'say' },
  {
    says: 'a plane that serves nobody yet keeps those that chose it',
    given: { served: false, offer: aPlane('better') },
    want: 'attach by toy',
  },
  {
    says: 'an offer that lacks the mode is not taken',
    given: { plane: undefined, offer: offering({ attachmentModes: ['Hypervisor'] }) },
    want: 'say',
  },
  {
    says: 'an offer that lacks a family of its addresses is not taken',
    given: { plane: undefined, offer: offering({ addressFamilies: ['IPv4'] }) },
    want: 'say',
  },
  {
    says: 'a DataPlane that was made again takes its attachments up, whatever it offers now',
    given: {
      nic: choosing('toy/gone', 'ToyAttachment'),
      plane: undefined,
      offer: offering({ attachmentModes: ['Hypervisor'] }),
    },
    want: 'attach by toy, choosing it',
  },
]

for (const { says, given, want } of table) {
  test(says, () => assert.equal(brief(decide(seen(given))), want))
}

test('a released interface says nothing of an attachment', () => {
  const nic = aFreeInterface()
  const intent = interfaceStatus(nic, {
    phase: 'Available',
    location: 'here',
    allocation: { kind: 'standing' },
    report: undefined,
  })
  assert.deepEqual(Object.keys(intent).sort(), ['conditions', 'networkContextRef', 'phase'])
  assert.deepEqual(
    intent.conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`),
    ['Allocated True Allocated', 'Prepared Unknown Pending', 'Programmed Unknown Pending'],
  )
})

test('before the network objects are listed nothing is rendered: their absence would take values away', () => {
  const network = { apiVersion: 'toy.example.dev/v1', kind: 'ToyNetwork' }
  assert.equal(brief(decide(seen({ plane: { ...toy, networkKind: network } }))), 'say')
})
