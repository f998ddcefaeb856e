/** Runs the checks of rows as tests, several at a time: each has a world of its own. */
import { after, before, describe, test } from 'node:test'
import { type RaceRow, raceChecks, rowId } from 'kube-control-loop/testing'
import { eventually } from 'kube-localplane/testing'
import { type RaceSite, type RaceWorld, startSite } from './world.ts'

export type TableOptions = { policies?: boolean; networks?: boolean }

export function runTable(
  title: string,
  rows: readonly RaceRow<RaceWorld>[],
  { policies = false, networks = false }: TableOptions,
) {
  let site: RaceSite
  before(async () => {
    site = await startSite({ policies })
  })
  after(() => site[Symbol.asyncDispose]())
  describe(title, { concurrency: 6 }, () => {
    for (const row of rows) {
      for (const check of raceChecks(row, eventually)) {
        test(`${rowId(row)}: ${check.says}`, async () => {
          await using world = await site.open({ networks })
          await check.run(row, world)
        })
      }
    }
  })
}
