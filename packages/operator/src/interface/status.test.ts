import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anInterface } from '../../test/objects.ts'
import type { PlaneReport } from '../dataplane/types.ts'
import { interfaceStatus, type Standing } from './status.ts'

const from = {
  dataPlane: 'toy',
  object: { apiVersion: 'planes.example.dev/v1', kind: 'Wire', name: 'web-0', uid: 'w-1' },
  generation: 2,
  condition: 'Ready',
}
const report: PlaneReport = {
  prepared: { status: 'True', reason: 'AttachmentReady', message: 'up', from },
  programmed: { status: 'Unknown', reason: 'AwaitingDataPlane', message: 'no report yet' },
  vpc: undefined,
  attachmentRef: undefined,
  podNetwork: undefined,
}
const bound: Standing = { phase: 'Bound', location: 'here', allocation: { kind: 'standing' }, report }

const table: { says: string; standing: Standing; want: unknown }[] = [
  { says: 'the report of the data plane, for what was read only', standing: bound, want: [{ type: 'Prepared', ...from }] },
  { says: 'nothing without a report', standing: { ...bound, report: undefined }, want: undefined },
  { says: 'nothing on the way out, which is NSO’s own to say', standing: { ...bound, leaving: 'going' }, want: undefined },
]
for (const { says, standing, want } of table)
  test(`conditions of an interface come from ${says}`, () => {
    assert.deepEqual(interfaceStatus(anInterface(), standing).conditionSources, want)
  })

test('whatever the status says already, Allocated comes of the allocations alone', () => {
  const rogue = { type: 'Allocated', status: 'True', reason: 'Rogue', message: 'x', lastTransitionTime: '' } as const
  const nic = anInterface({ status: { conditions: [rogue] } })
  const { conditions } = interfaceStatus(nic, { ...bound, allocation: { kind: 'unknown', message: 'no context' } })
  const [allocated] = conditions.filter(({ type }) => type === 'Allocated')
  assert.deepEqual([allocated?.status, allocated?.reason, allocated?.message], ['Unknown', 'Pending', 'no context'])
})

test('the place of a report is no part of the condition itself', () => {
  for (const condition of interfaceStatus(anInterface(), bound).conditions) assert.equal('from' in condition, false)
})
