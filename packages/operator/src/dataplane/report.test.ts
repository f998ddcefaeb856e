import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Prepared, Programmed } from '@nso/api'
import fc from 'fast-check'
import type { KubeObject, ObjectMeta } from 'kube-control-loop'
import { remedy } from '../../test/support/messages.ts'
import { type Reported, reportWithoutPlane, translateReport } from './report.ts'

const source = {
  plane: 'galactic',
  apiGroup: 'cloud.datumapis.com',
  apiVersion: 'cloud.datumapis.com/v1alpha1',
  kind: 'VPCAttachment',
  preparedCondition: 'Ready',
  programmedCondition: 'Programmed' as string | undefined,
}
const nic = { metadata: { name: 'web-0', namespace: 'default', uid: 'nic-uid' } }
const owner = {
  apiVersion: 'networking.datumapis.com/v1alpha',
  kind: 'NetworkInterface',
  name: 'web-0',
  uid: 'nic-uid',
  controller: true,
}

const attachment = (status: unknown, metadata: Partial<ObjectMeta> = {}): KubeObject => ({
  apiVersion: 'cloud.datumapis.com/v1alpha1',
  kind: 'VPCAttachment',
  metadata: { name: 'web-0', namespace: 'default', uid: 'a-1', generation: 2, ownerReferences: [owner], ...metadata },
  spec: {},
  status,
})

const condition = (type: string, status: unknown, more: object = {}) => ({
  type,
  status,
  reason: 'SomeReason',
  message: 'some message',
  lastTransitionTime: '2026-01-01T00:00:00Z',
  observedGeneration: 2,
  ...more,
})
const ready = condition('Ready', 'True', { reason: 'AttachmentDefinitionReady', message: 'definition made' })
const advertised = condition('Programmed', 'True', { reason: 'Advertised', message: 'on the wire' })
const seed = (type: string, status = 'Unknown') => ({
  type,
  status,
  reason: 'Pending',
  message: 'Waiting for controller',
  lastTransitionTime: '1970-01-01T00:00:00Z',
})

const translate = (object: KubeObject | undefined, more: Partial<Reported> = {}) =>
  translateReport({ source, interface: nic, attachment: object, served: true, ...more })

const says = 'VPCAttachment default/web-0 (galactic)'
const runs = 'wait for the data plane, and see that it runs'
const again = 'wait for the data plane to report again, and see that it runs'
const tell = 'tell the makers of the data plane'
const theirs = 'see who made it; NSO makes its own when it is gone'
/** Reasons of the plane in this table, whose words are passed on as they are. */
const reported = ['AwaitingVPC', 'AdvertisementWithdrawn', 'SomeReason']

describe('Prepared and Programmed', () => {
  type Wanted = readonly [status: string, reason: string, message?: string]
  const table: { says: string; given: ReturnType<typeof translate>; prepared: Wanted; programmed?: Wanted }[] = [
    {
      says: 'wait for the attachment to be made',
      given: translate(undefined),
      prepared: [
        'Unknown',
        'Pending',
        'DataPlane galactic: VPCAttachment default/web-0 does not exist yet: wait for NSO to make it',
      ],
      programmed: ['Unknown', 'AwaitingDataPlane'],
    },
    {
      says: 'say why it cannot be made',
      given: translate(undefined, { hindrance: 'NSO may not create vpcattachments' }),
      prepared: [
        'Unknown',
        'Pending',
        'DataPlane galactic: VPCAttachment default/web-0 does not exist yet: NSO may not create vpcattachments: see the conditions of the DataPlane',
      ],
    },
    {
      says: 'wait for the first report',
      given: translate(attachment(undefined)),
      prepared: ['Unknown', 'Pending', `${says}: no report yet: ${runs}`],
      programmed: ['Unknown', 'AwaitingDataPlane', `${says}: no report yet: ${runs}`],
    },
    {
      says: 'take seeds of the schema for no report',
      given: translate(attachment({ conditions: [seed('Ready'), seed('Programmed')] })),
      prepared: ['Unknown', 'Pending', `${says}: no report yet: ${runs}`],
      programmed: ['Unknown', 'AwaitingDataPlane'],
    },
    {
      says: 'do not believe a seed that says True',
      given: translate(attachment({ conditions: [seed('Ready', 'True'), seed('Programmed', 'False')] })),
      prepared: ['Unknown', 'ContractViolation', `${says}: condition Ready is True by a default, not by a report: ${tell}`],
      programmed: ['Unknown', 'ContractViolation'],
    },
    {
      says: 'are True with drop-in reasons',
      given: translate(attachment({ conditions: [ready, advertised] })),
      prepared: ['True', 'AttachmentReady', `${says}: definition made`],
      programmed: ['True', 'Advertised', `${says}: on the wire`],
    },
    {
      says: 'carry the reasons of the plane when not True',
      given: translate(
        attachment({
          conditions: [
            condition('Ready', 'False', { reason: 'AwaitingVPC', message: 'no VPC' }),
            condition('Programmed', 'False', { reason: 'AdvertisementWithdrawn' }),
          ],
        }),
      ),
      prepared: ['False', 'AwaitingVPC', `${says}: no VPC`],
      programmed: ['False', 'AdvertisementWithdrawn'],
    },
    {
      says: 'replace a reason that is no CamelCase word',
      given: translate(
        attachment({
          conditions: [condition('Ready', 'False', { reason: 'not a word' }), condition('Programmed', 'True', { reason: 7 })],
        }),
      ),
      prepared: ['False', 'ContractViolation', `${says}: some message: ${tell}`],
      programmed: ['True', 'ContractViolation'],
    },
    {
      says: 'are AttachmentReady when True, whatever the plane calls it',
      given: translate(attachment({ conditions: [condition('Ready', 'True', { reason: '???' })] })),
      prepared: ['True', 'AttachmentReady'],
    },
    {
      says: 'do not pass on a status that is none',
      given: translate(attachment({ conditions: [condition('Ready', 'Yes'), condition('Programmed', true)] })),
      prepared: [
        'Unknown',
        'ContractViolation',
        `${says}: condition Ready has a status other than True, False or Unknown: ${tell}`,
      ],
      programmed: ['Unknown', 'ContractViolation'],
    },
    {
      says: 'do not pass on a condition without status, a message that is no text, nor a generation that is no number',
      given: translate(
        attachment({
          conditions: [
            { ...ready, message: ['x'] },
            { ...advertised, observedGeneration: '2' },
          ],
        }),
      ),
      prepared: ['Unknown', 'ContractViolation', `${says}: condition Ready has a message that is no text: ${tell}`],
      programmed: [
        'Unknown',
        'ContractViolation',
        `${says}: condition Programmed has an observedGeneration that is no integer: ${tell}`,
      ],
    },
    {
      says: 'pass on a condition whose message is left out or null',
      given: translate(
        attachment({
          conditions: [
            { ...ready, message: null },
            { ...advertised, message: undefined },
          ],
        }),
      ),
      prepared: ['True', 'AttachmentReady', `${says}: `],
      programmed: ['True', 'Advertised', `${says}: `],
    },
    {
      says: 'do not pass on conditions that are no list',
      given: translate(attachment({ conditions: { Ready: true } })),
      prepared: ['Unknown', 'ContractViolation'],
      programmed: ['Unknown', 'ContractViolation'],
    },
    {
      says: 'do not choose between two conditions of one type',
      given: translate(attachment({ conditions: [ready, condition('Ready', 'False')] })),
      prepared: ['Unknown', 'ContractViolation', `${says}: status.conditions is no list with one entry for each type: ${tell}`],
    },
    {
      says: 'do not believe a report on an older generation, each by its own',
      given: translate(attachment({ conditions: [{ ...ready, observedGeneration: 1 }, advertised] })),
      prepared: ['Unknown', 'ReportStale', `${says}: reported for generation 1, the attachment is at 2: ${again}`],
      programmed: ['True', 'Advertised'],
    },
    {
      says: 'do not believe a report on a generation that does not exist yet: it is another object’s',
      given: translate(attachment({ conditions: [{ ...ready, observedGeneration: 9 }] })),
      prepared: ['Unknown', 'ReportStale'],
    },
    {
      says: 'take status.observedGeneration where the condition has none',
      given: translate(attachment({ observedGeneration: 1, conditions: [{ ...ready, observedGeneration: undefined }] })),
      prepared: ['Unknown', 'ReportStale'],
    },
    {
      says: 'believe the condition before status.observedGeneration',
      given: translate(attachment({ observedGeneration: 1, conditions: [ready] })),
      prepared: ['True', 'AttachmentReady'],
    },
    {
      says: 'believe a report without any generation about an attachment that never changed',
      given: translate(attachment({ conditions: [{ ...ready, observedGeneration: undefined }] }, { generation: 1 })),
      prepared: ['True', 'AttachmentReady'],
    },
    {
      says: 'do not believe it about one that has changed',
      given: translate(attachment({ conditions: [{ ...ready, observedGeneration: undefined }] })),
      prepared: [
        'Unknown',
        'ReportStale',
        `${says}: reports without observedGeneration, and the attachment has changed (generation 2): ${again}`,
      ],
    },
    {
      says: 'do not believe a report on the attachment of an earlier interface',
      given: translate(attachment({ conditions: [ready, advertised] }, { ownerReferences: [{ ...owner, uid: 'old' }] })),
      prepared: [
        'Unknown',
        'ReportStale',
        `${says}: belongs to NetworkInterface web-0 with uid old, not to this interface: ${theirs}`,
      ],
      programmed: ['Unknown', 'AwaitingDataPlane'],
    },
    {
      says: 'do not believe a report on an attachment without owner',
      given: translate(attachment({ conditions: [ready] }, { ownerReferences: [] })),
      prepared: ['Unknown', 'ReportStale', `${says}: has no controlling owner, so it is not this interface’s: ${theirs}`],
    },
    {
      says: 'are not prepared while the attachment goes; programming is the plane’s to withdraw',
      given: translate(attachment({ conditions: [ready, advertised] }, { deletionTimestamp: '2026-01-01T00:00:00Z' })),
      prepared: ['Unknown', 'Pending', `${says}: is being deleted: wait for the data plane to let go of it`],
      programmed: ['True', 'Advertised'],
    },
    {
      says: 'are not stale because a deletion has begun, which counts as a generation of its own',
      given: translate(
        attachment({ conditions: [ready, advertised] }, { deletionTimestamp: '2026-01-01T00:00:00Z', generation: 3 }),
      ),
      prepared: ['Unknown', 'Pending', `${says}: is being deleted: wait for the data plane to let go of it`],
      programmed: ['True', 'Advertised'],
    },
    {
      says: 'are stale in a deletion, too, when the attachment had changed before',
      given: translate(
        attachment({ conditions: [ready, advertised] }, { deletionTimestamp: '2026-01-01T00:00:00Z', generation: 4 }),
      ),
      prepared: ['Unknown', 'ReportStale'],
      programmed: ['Unknown', 'ReportStale'],
    },
    {
      says: 'believe a report without any generation in the deletion of an attachment that never changed',
      given: translate(
        attachment(
          { conditions: [{ ...advertised, observedGeneration: undefined }] },
          { deletionTimestamp: '2026-01-01T00:00:00Z', generation: 2 },
        ),
      ),
      prepared: ['Unknown', 'Pending'],
      programmed: ['True', 'Advertised'],
    },
    {
      says: 'say in whose words the API server refuses the attachment',
      given: translate(undefined, { refused: 'the API server refuses it: mtu is too large' }),
      prepared: [
        'False',
        'AttachmentRefused',
        'DataPlane galactic: VPCAttachment default/web-0: the API server refuses it: mtu is too large: correct the templates of the DataPlane, or what the claim asks for',
      ],
      programmed: ['Unknown', 'AwaitingDataPlane'],
    },
    {
      says: 'do not call refused what cannot be asked for now',
      given: translate(undefined, { refused: 'it was refused', hindrance: 'NSO may not create it' }),
      prepared: ['Unknown', 'Pending'],
    },
    {
      says: 'say that the kind is not served',
      given: translate(undefined, { served: false }),
      prepared: [
        'False',
        'DataPlaneNotInstalled',
        'DataPlane galactic: kind VPCAttachment (cloud.datumapis.com) is not installed: install its definitions, then it goes on by itself',
      ],
      programmed: ['Unknown', 'AwaitingDataPlane'],
    },
    {
      says: 'do not call a kind missing that could not be asked for yet',
      given: translate(undefined, { served: undefined }),
      prepared: ['Unknown', 'Pending'],
    },
    {
      says: 'mirror each other when the plane does not report programming',
      given: translate(attachment({ conditions: [ready] }), { source: { ...source, programmedCondition: undefined } }),
      prepared: ['True', 'AttachmentReady', `${says}: definition made`],
      programmed: ['True', 'NotReported', `${says}: definition made`],
    },
    {
      says: 'mirror each other before any report, too',
      given: translate(undefined, { source: { ...source, programmedCondition: undefined } }),
      prepared: ['Unknown', 'Pending'],
      programmed: ['Unknown', 'NotReported'],
    },
    {
      says: 'say that no plane serves the location',
      given: reportWithoutPlane('lax'),
      prepared: ['False', 'NoDataPlane', 'No accepted DataPlane serves location lax: install one, or add the location to one'],
      programmed: ['Unknown', 'AwaitingDataPlane'],
    },
  ]
  for (const { says: name, given, prepared, programmed } of table) {
    test(name, () => {
      for (const [wanted, got] of [
        [prepared, given.prepared],
        [programmed, given.programmed],
      ] as const) {
        if (!wanted) continue
        assert.deepEqual([got.status, got.reason], wanted.slice(0, 2))
        if (wanted[2] !== undefined) assert.equal(got.message, wanted[2])
        if (got.status !== 'True' && !reported.includes(got.reason)) assert.match(got.message, remedy)
      }
    })
  }
})

describe('references and identifiers', () => {
  test('come from an attachment of this interface, also while its report is stale', () => {
    const stale = attachment({ conditions: [{ ...ready, observedGeneration: 1 }] })
    const { vpc, podNetwork, attachmentRef } = translate(stale, { vpc: 'jU', podNetwork: 'web-0' })
    assert.deepEqual(
      { vpc, podNetwork, attachmentRef },
      {
        vpc: 'jU',
        podNetwork: 'web-0',
        attachmentRef: { apiGroup: 'cloud.datumapis.com', kind: 'VPCAttachment', name: 'web-0' },
      },
    )
  })
  test('never come from an attachment of another', () => {
    const other = attachment({ conditions: [ready] }, { ownerReferences: [{ ...owner, uid: 'old' }] })
    const { vpc, podNetwork, attachmentRef } = translate(other, { vpc: 'jU', podNetwork: 'web-0' })
    assert.deepEqual({ vpc, podNetwork, attachmentRef }, { vpc: undefined, podNetwork: undefined, attachmentRef: undefined })
  })
  test('are not reported when they are no text', () => {
    assert.equal(translate(attachment({}), { vpc: 7 }).vpc, undefined)
    assert.equal(translate(attachment({}), { vpc: '' }).vpc, undefined)
    assert.equal(translate(attachment({}), { vpc: 'x'.repeat(254) }).vpc, undefined)
    assert.equal(translate(attachment({}), { vpc: 'x'.repeat(253) }).vpc?.length, 253)
  })
})

describe('where a condition comes from', () => {
  const reporterOf = (type: string) => `reporter-of-${type}`
  const sourceOf = (condition: string, generation = 2) => ({
    dataPlane: 'galactic',
    object: { apiVersion: 'cloud.datumapis.com/v1alpha1', kind: 'VPCAttachment', name: 'web-0', uid: 'a-1' },
    generation,
    condition,
    manager: reporterOf(condition),
  })
  const [prepared, programmed] = [sourceOf('Ready'), sourceOf('Programmed')]
  const table: { says: string; given: KubeObject | undefined; want: unknown }[] = [
    { says: 'both from their own', given: attachment({ conditions: [ready, advertised] }), want: [prepared, programmed] },
    { says: 'none where there is no attachment', given: undefined, want: [undefined, undefined] },
    { says: 'none before a report', given: attachment({ conditions: [seed('Ready')] }), want: [undefined, undefined] },
    { says: 'only what is reported', given: attachment({ conditions: [ready] }), want: [prepared, undefined] },
    {
      says: 'a stale report, with the generation that it does not speak of',
      given: attachment({ conditions: [ready] }, { generation: 3 }),
      want: [sourceOf('Ready', 3), undefined],
    },
    {
      says: 'a report against the contract',
      given: attachment({ conditions: [{ ...ready, status: 'Perhaps' }] }),
      want: [prepared, undefined],
    },
    {
      says: 'a report that its deletion overrules',
      given: attachment({ conditions: [ready] }, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      want: [prepared, undefined],
    },
    {
      says: 'none of an attachment of another',
      given: attachment({ conditions: [ready] }, { ownerReferences: [{ ...owner, uid: 'old' }] }),
      want: [undefined, undefined],
    },
  ]
  for (const { says, given, want } of table)
    test(says, () => {
      const report = translate(given, { reporterOf })
      assert.deepEqual([report.prepared.from, report.programmed.from], want)
    })

  test('is none where the kind is gone, whatever was last known', () => {
    const report = translate(attachment({ conditions: [ready] }), { reporterOf, served: false })
    assert.deepEqual([report.prepared.from, report.programmed.from], [undefined, undefined])
  })

  test('names no manager where none is known', () => {
    const { manager: _, ...unnamed } = prepared ?? {}
    assert.deepEqual(translate(attachment({ conditions: [ready] })).prepared.from, unnamed)
  })
})

test('a message is cut to what a condition may carry, never within a character', () => {
  const message = '😀'.repeat(40_000)
  const { prepared } = translate(attachment({ conditions: [{ ...ready, message }] }))
  assert.equal([...prepared.message].length, 32_768)
  assert.ok(prepared.message.isWellFormed())
})

const anyCondition = fc.record(
  {
    type: fc.constantFrom('Ready', 'Programmed', 'Other'),
    status: fc.oneof(fc.constantFrom('True', 'False', 'Unknown'), fc.jsonValue()),
    reason: fc.oneof(fc.constantFrom('Advertised', 'AwaitingVPC', 'x y', ''), fc.jsonValue()),
    message: fc.oneof(fc.string(), fc.jsonValue()),
    lastTransitionTime: fc.oneof(fc.constantFrom('1970-01-01T00:00:00Z', '2026-01-01T00:00:00Z'), fc.jsonValue()),
    observedGeneration: fc.oneof(fc.integer({ min: 0, max: 3 }), fc.jsonValue()),
  },
  { requiredKeys: ['type'] },
)
const anyStatus = fc.oneof(
  fc.record(
    { observedGeneration: fc.jsonValue(), conditions: fc.array(fc.oneof(anyCondition, fc.jsonValue())) },
    { requiredKeys: ['conditions'] },
  ),
  fc.jsonValue(),
)
const anyMetadata = fc.record(
  {
    generation: fc.integer({ min: 1, max: 3 }),
    ownerReferences: fc.constantFrom<(typeof owner)[][]>([owner], [{ ...owner, uid: 'old' }], []),
    deletionTimestamp: fc.constant('2026-01-01T00:00:00Z'),
  },
  { requiredKeys: ['ownerReferences'] },
)

test('whatever a plane reports, a complete report with listed reasons comes out, and True only for a current True of our own', () => {
  fc.assert(
    fc.property(anyStatus, anyMetadata, fc.option(fc.boolean(), { nil: undefined }), (status, metadata, served) => {
      const given = attachment(status, metadata)
      const { prepared, programmed } = translate(given, { served })
      for (const [definition, got] of [
        [Prepared, prepared],
        [Programmed, programmed],
      ] as const) {
        assert.ok(definition.lists(got.status, got.reason), `${definition.type} ${got.status} ${got.reason}`)
        // What no report says is NSO's own, and in its own list.
        const isListed = (definition.reasons[got.status] as readonly string[]).includes(got.reason)
        assert.ok(got.from !== undefined || isListed, `${definition.type} ${got.status} ${got.reason}`)
        assert.match(got.message, served === false ? /^DataPlane galactic: / : /^VPCAttachment default\/web-0 \(galactic\): /)
      }
      if (prepared.status === 'True') {
        const reported = (status as { conditions: { type: string; status: string }[] }).conditions.filter(
          (each) => each?.type === 'Ready',
        )
        assert.deepEqual(
          reported.map((each) => each.status),
          ['True'],
        )
        assert.equal(metadata.ownerReferences[0]?.uid, 'nic-uid')
        assert.equal(metadata.deletionTimestamp, undefined)
        assert.equal(served !== false, true)
      }
    }),
    { numRuns: 2000 },
  )
})
