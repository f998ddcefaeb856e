import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SeenDefinition } from 'kube-multus'
import { conflist } from './conflist.ts'
import { type Decision, decide, isOlder, type Seen, type SeenAttachment } from './decide.ts'

const system = 'galactic-system'
const identity = { vpc: 'jU', attachment: '1a' }
const attachment: SeenAttachment = {
  name: 'web-0',
  uid: 'u1',
  vpcName: 'blue',
  link: { mode: 'Netns', mtu: 1460, addresses: ['10.128.0.7/32'], gateways: [] },
  recorded: undefined,
}
const definition: SeenDefinition = {
  deleting: false,
  isOurs: true,
  controlledBy: 'VPCAttachment web-0',
  labels: { 'cloud.datumapis.com/vpc': 'jU', 'cloud.datumapis.com/vpc-attachment': '1a' },
  config: conflist('web-0', identity, attachment.link, system),
}
const vpc = { id: 'jU', deleting: false }
const recorded = { ...attachment, recorded: identity }
const seen = (over: Partial<Seen> = {}): Seen => ({
  attachment,
  vpc,
  definitionsServed: true,
  definition,
  olderHolder: () => undefined,
  ...over,
})

const table: { says: string; given: Seen; want: Partial<Decision> }[] = [
  { says: 'waits for a VPC that does not exist', given: seen({ vpc: undefined }), want: { do: 'block', reason: 'AwaitingVPC' } },
  {
    says: 'waits for the VPC’s identifier',
    given: seen({ vpc: { id: undefined, deleting: false } }),
    want: { do: 'block', reason: 'AwaitingVPCIdentifier' },
  },
  {
    says: 'a VPC being deleted takes no new attachment',
    given: seen({ vpc: { id: 'jU', deleting: true }, definition: undefined }),
    want: { do: 'block', reason: 'AwaitingVPC' },
  },
  {
    says: 'a VPC being deleted keeps the attachments it has',
    given: seen({ attachment: recorded, vpc: { id: 'jU', deleting: true } }),
    want: { do: 'keep', identity },
  },
  {
    says: 'a VPC made anew under the name is not the one this attachment belongs to',
    given: seen({ attachment: recorded, vpc: { id: 'other', deleting: false } }),
    want: { do: 'block', reason: 'VPCReplaced' },
  },
  {
    says: 'a new attachment: choose an identifier',
    given: seen({ definition: undefined }),
    want: { do: 'define', vpc: 'jU', attachment: undefined },
  },
  {
    says: 'a definition lost: made again with the recorded identifier',
    given: seen({ attachment: recorded, definition: undefined }),
    want: { do: 'define', vpc: 'jU', attachment: '1a' },
  },
  { says: 'a crash after the definition: its labels are the record', given: seen(), want: { do: 'keep', identity } },
  { says: 'settled', given: seen({ attachment: recorded }), want: { do: 'keep', identity } },
  {
    says: 'a changed MTU: the text is brought up to date, the identifier stays',
    given: seen({ attachment: { ...recorded, link: { ...attachment.link, mtu: 9000 } } }),
    want: { do: 'redefine', vpc: 'jU', attachment: '1a' },
  },
  {
    says: 'a label that someone changed is put right from the status',
    given: seen({ attachment: recorded, definition: { ...definition, labels: {} } }),
    want: { do: 'redefine', vpc: 'jU', attachment: '1a' },
  },
  {
    says: 'a definition labelled for another VPC, before any status: choose an identifier in this one',
    given: seen({ definition: { ...definition, labels: { ...definition.labels, 'cloud.datumapis.com/vpc': 'old' } } }),
    want: { do: 'redefine', vpc: 'jU', attachment: undefined },
  },
  {
    says: 'someone else’s definition under the name is left alone',
    given: seen({ definition: { ...definition, isOurs: false, controlledBy: 'nobody' } }),
    want: {
      do: 'block',
      reason: 'AttachmentDefinitionConflict',
      message: 'NetworkAttachmentDefinition web-0 is not of this attachment: it is controlled by nobody',
    },
  },
  {
    says: 'definitions are not served',
    given: seen({ attachment: recorded, definitionsServed: false, definition: undefined }),
    want: { do: 'block', reason: 'DefinitionKindNotServed' },
  },
  {
    says: 'a definition being deleted is waited for',
    given: seen({ definition: { ...definition, deleting: true } }),
    want: { do: 'block', reason: 'AwaitingDefinitionRemoval' },
  },
  {
    says: 'the identifier is also an older attachment’s, and was not reported yet: choose another',
    given: seen({ olderHolder: () => 'ns/old' }),
    want: { do: 'redefine', vpc: 'jU', attachment: undefined },
  },
  {
    says: 'the identifier is also an older attachment’s, and was reported: written once, so it is said',
    given: seen({ attachment: recorded, olderHolder: () => 'ns/old' }),
    want: {
      do: 'block',
      reason: 'IdentifierConflict',
      message: 'attachment identifier 1a of VPC jU is also held by the older ns/old',
    },
  },
]

for (const { says, given, want } of table) {
  test(says, () => assert.partialDeepStrictEqual(decide(given, system), want))
}

test('of two holders exactly one is the older, also when made in one second', () => {
  const one = { createdAt: '2026-01-01T00:00:00Z', uid: 'a' }
  const two = { createdAt: '2026-01-01T00:00:00Z', uid: 'b' }
  assert.equal(isOlder(one, two), true)
  assert.equal(isOlder(two, one), false)
  assert.equal(isOlder({ ...two, createdAt: '2025-12-31T23:59:59Z' }, one), true)
})
