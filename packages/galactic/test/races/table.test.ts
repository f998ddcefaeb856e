/** Write races of every write, each in a namespace and with a Galactic of its own. */
import { after, before, describe, test } from 'node:test'
import { assertTableIsComplete, raceChecks, rowId } from 'kube-control-loop/testing'
import { eventually } from 'kube-localplane/testing'
import { rows } from './rows.ts'
import { readyAttachment } from './steps.ts'
import { type RaceSite, startSite } from './world.ts'

let site: RaceSite
before(async () => {
  site = await startSite()
})
after(() => site[Symbol.asyncDispose]())

test('every write that a controller registers is in the table, and nothing else', async () => {
  await using world = await site.open()
  await readyAttachment(world)
  assertTableIsComplete(world.registered(), rows)
})

describe('write races', { concurrency: 6 }, () => {
  for (const row of rows) {
    for (const check of raceChecks(row, eventually)) {
      test(`${rowId(row)}: ${check.says}`, async () => {
        await using world = await site.open()
        await check.run(row, world)
      })
    }
  }
})
