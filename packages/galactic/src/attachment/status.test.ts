import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeReport } from './programmed.ts'
import { intentOf, notReported, type Said } from './status.ts'

const identity = { vpc: 'jU', attachment: '1a' }
const waitingForVpc: Said = {
  generation: 3,
  verdict: { ready: false, reason: 'AwaitingVPC', message: 'VPC blue does not exist' },
  identity: undefined,
  definition: undefined,
  report: notReported,
}
const fieldsOf = (said: Said) => {
  const { conditions, ...fields } = intentOf(said)
  return fields
}

const table: { says: string; given: Said; want: object }[] = [
  { says: 'before the identity: only the generation', given: waitingForVpc, want: { observedGeneration: 3 } },
  {
    says: 'an identity once written stands in every intent, also of an attachment that is not ready',
    given: { ...waitingForVpc, identity, report: nodeReport(identity, [], false) },
    want: { observedGeneration: 3, vpc: 'jU', vpcAttachment: '1a' },
  },
  {
    says: 'ready and advertised: every field that has a source',
    given: {
      generation: 3,
      verdict: { ready: true, definition: 'web-0' },
      identity,
      definition: 'web-0',
      report: nodeReport(
        identity,
        [
          {
            name: '4d2-48',
            deleting: false,
            annotations: { 'galactic.datum.net/allocated-subnet-ipv4.c1': '10.128.0.7' },
            node: 'node-1',
            advertised: { status: 'True', reason: 'Advertised', message: 'x' },
          },
        ],
        false,
      ),
    },
    want: {
      observedGeneration: 3,
      vpc: 'jU',
      vpcAttachment: '1a',
      networkAttachmentDefinition: 'web-0',
      node: 'node-1',
      hostInterface: 'G0000000jU01aH',
      vrfInterface: 'G0000000jUV',
      podSubnet: '10.128.0.7/32',
    },
  },
]

for (const { says, given, want } of table) test(says, () => assert.deepEqual(fieldsOf(given), want))

test('both conditions stand in every intent, complete and of this generation', () => {
  for (const { given } of table) {
    const { conditions } = intentOf(given)
    assert.deepEqual(
      conditions.map((condition) => [condition.type, condition.observedGeneration]),
      [
        ['Ready', 3],
        ['Programmed', 3],
      ],
    )
    for (const { reason, message, status } of conditions) assert.ok(reason && message && status)
  }
})
