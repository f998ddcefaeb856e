/** Controllers whose handling of races is taken away: every check on a race must fail then, or it would prove nothing. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Classify, classify } from 'kube-control-loop'
import { raceChecks, rowId } from 'kube-control-loop/testing'
import { eventually } from 'kube-localplane/testing'
import { rows } from './rows.ts'
import { type RaceSite, startSite } from './world.ts'

let site: RaceSite
before(async () => {
  site = await startSite()
})
after(() => site[Symbol.asyncDispose]())

for (const controller of new Set(rows.map((row) => row.controller))) {
  /** Takes every refusal of this controller's writes for a fault. */
  const blind: Classify = (refusal, verb, at, writer) => (writer === controller ? { is: 'fault' } : classify(refusal, verb, at))

  describe(`${controller} without its handling of races`, { concurrency: 6 }, () => {
    for (const row of rows.filter((one) => one.controller === controller)) {
      for (const check of raceChecks(row, eventually).filter(({ isRace }) => isRace)) {
        test(`fails: ${rowId(row)}: ${check.says}`, async () => {
          await using world = await site.open({ classify: blind })
          await assert.rejects(check.run(row, world), assert.AssertionError)
        })
      }
    }
  })
}
