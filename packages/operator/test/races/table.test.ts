/**
 * The table against the writers, and against controllers whose handling of races is taken away: every check on a race must fail
 * then, or it would prove nothing.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { DataPlane, NetworkInterfaceClaim } from '@nso/api'
import { type Classify, classify } from 'kube-control-loop'
import { assertTableIsComplete, raceChecks, rowId } from 'kube-control-loop/testing'
import { eventually } from 'kube-localplane/testing'
import { remove } from '../world.ts'
import { networkControllerRows } from './network-rows.ts'
import { rows } from './rows.ts'
import { network, networkIsHere, ready, web } from './steps.ts'
import { type RaceSite, startSite } from './world.ts'

const networkControllers = new Set(networkControllerRows.map(({ controller }) => controller))

let site: RaceSite
before(async () => {
  site = await startSite()
})
after(() => site[Symbol.asyncDispose]())

test('every write that a controller registers is in the table, and nothing else', async () => {
  await using world = await site.open({ networks: true })
  await world.plane()
  await network(world)
  await networkIsHere(world)
  await world.claim()
  await ready(world)
  await eventually('the writer of network objects is there', () =>
    world.registered().some(({ controller }) => controller === 'dataplane-network'),
  )
  await remove(world.client, NetworkInterfaceClaim, world.namespace, web)
  await remove(world.client, DataPlane, undefined, world.planeName)
  await eventually('so is the one that takes them away', () =>
    world.registered().some(({ controller, verb }) => controller === 'dataplane' && verb === 'delete'),
  )
  assertTableIsComplete(world.registered(), rows)
  assert.throws(() => assertTableIsComplete(world.registered(), rows.slice(1)), assert.AssertionError)
  assert.throws(() => assertTableIsComplete(world.registered().slice(1), rows), assert.AssertionError)
})

for (const controller of new Set(rows.map((row) => row.controller))) {
  /** Takes every refusal of this controller's writes for a fault. */
  const blind: Classify = (refusal, verb, at, writer) => (writer === controller ? { is: 'fault' } : classify(refusal, verb, at))

  describe(`${controller} without its handling of races`, { concurrency: 6 }, () => {
    for (const row of rows.filter((one) => one.controller === controller)) {
      for (const check of raceChecks(row, eventually).filter(({ isRace }) => isRace)) {
        test(`fails: ${rowId(row)}: ${check.says}`, async () => {
          await using world = await site.open({ networks: networkControllers.has(controller), classify: blind })
          await assert.rejects(check.run(row, world), assert.AssertionError)
        })
      }
    }
  })
}
