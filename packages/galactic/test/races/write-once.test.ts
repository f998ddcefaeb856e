/**
 * Identifiers that the schema lets be written once: a status that is refused for that tells that another leader was first. That
 * is a lost race like any other, and its value stands.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { KindDefinition } from 'kube-control-loop'
import { requestsOf } from 'kube-control-loop/testing'
import { eventually } from 'kube-localplane/testing'
import { type RaceSite, type RaceWorld, read } from 'kube-multus/testing/planes'
import { attachmentConditions, NetworkAttachmentDefinition, VPC, VPCAttachment, vpcConditions } from '../../src/api/index.ts'
import { rows } from './rows.ts'
import { attachmentIsReady, makeAttachment, makeVpc, net, readyVpc, vpcIsReady, web, writeStatus } from './steps.ts'
import { startSite } from './world.ts'

let site: RaceSite
before(async () => {
  site = await startSite()
})
after(() => site[Symbol.asyncDispose]())

const stamp = { lastTransitionTime: '2026-01-01T00:00:00Z' }

function statusRow(kind: KindDefinition) {
  const row = rows.find((one) => one.kind === kind && one.verb === 'apply')
  assert.ok(row)
  return row
}

/** One lost race of this status, no error. */
async function assertRaced({ bed }: RaceWorld, controller: string): Promise<void> {
  const metrics = await bed.registry.getMetricsAsJSON()
  const values = (name: RegExp) => metrics.find((one) => name.test(one.name))?.values.filter(({ value }) => value > 0) ?? []
  assert.deepEqual(
    values(/write_race_requeues_total$/).map(({ labels, value }) => [labels.controller, labels.verb, labels.cause, value]),
    [[controller, 'apply', 'stale', 1]],
  )
  assert.deepEqual(values(/reconcile_errors_total$/), [])
  assert.deepEqual(
    bed.lines.filter(({ level }) => level === 'error'),
    [],
  )
}

test('another leader gave the VPC its identifier first', async () => {
  await using world = await site.open()
  const held = world.bed.wire.on(requestsOf(statusRow(VPC))).hold()
  await makeVpc(world)
  await held.arrived()
  const condition = { ...vpcConditions.Ready.yes('IdentifierAllocated', 'identifier allocated', 1), ...stamp }
  await writeStatus(world, VPC, net, { observedGeneration: 1, vpc: 'first', conditions: [condition] })
  held.release()
  await eventually('the race is counted', async () => (await world.bed.registry.metrics()).includes('vpcs/status'))
  await vpcIsReady(world)
  assert.equal((await read(world, VPC, net))?.status?.vpc, 'first')
  await assertRaced(world, 'vpc')
})

test('another leader gave the attachment its identifier first: the definition follows', async () => {
  await using world = await site.open()
  await readyVpc(world)
  const vpc = (await read(world, VPC, net))?.status?.vpc ?? ''
  const held = world.bed.wire.on(requestsOf(statusRow(VPCAttachment))).hold()
  await makeAttachment(world)
  await held.arrived()
  const conditions = [
    { ...attachmentConditions.Ready.yes('AttachmentDefinitionReady', 'NetworkAttachmentDefinition web-0 is ready', 1), ...stamp },
    { ...attachmentConditions.Programmed.unknown('AwaitingDataPlane', 'no node has reported on it', 1), ...stamp },
  ]
  await writeStatus(world, VPCAttachment, web, { observedGeneration: 1, vpc, vpcAttachment: 'zz', conditions })
  held.release()
  await eventually('the definition carries the identifier that stands', async () => {
    const config = (await read(world, NetworkAttachmentDefinition, web))?.spec.config ?? ''
    assert.match(config, /"vpcattachment":\s*"zz"/)
    return true
  })
  await attachmentIsReady(world)
  assert.equal((await read(world, VPCAttachment, web))?.status?.vpcAttachment, 'zz')
  await assertRaced(world, 'vpcattachment')
})
