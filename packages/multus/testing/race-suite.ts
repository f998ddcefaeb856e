/** Runs a race table: as it is, and with the handling of races taken away, which every check on a race must notice. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Classify, classify } from 'kube-control-loop'
import { assertTableIsComplete, type RaceRow, raceChecks, rowId } from 'kube-control-loop/testing'
import { eventually } from 'kube-localplane/testing'
import type { RaceSite, RaceWorld } from './race-world.ts'

type Suite = {
  readonly rows: readonly RaceRow<RaceWorld>[]
  start(): Promise<RaceSite>
  /** Brings the process to have made all its writers. */
  ready(world: RaceWorld): Promise<unknown>
}

function siteOf(start: Suite['start']): () => RaceSite {
  let site: RaceSite | undefined
  before(async () => {
    site = await start()
  })
  after(() => site?.[Symbol.asyncDispose]())
  return () => {
    if (!site) throw new Error('the site has not started')
    return site
  }
}

/** Each check in a namespace and with a process of its own. */
export function testRaces({ rows, start, ready }: Suite): void {
  const site = siteOf(start)
  test('every write that a controller registers is in the table, and nothing else', async () => {
    await using world = await site().open()
    await ready(world)
    assertTableIsComplete(world.registered(), rows)
  })
  describe('write races', { concurrency: 6 }, () => {
    for (const row of rows) {
      for (const check of raceChecks(row, eventually)) {
        test(`${rowId(row)}: ${check.says}`, async () => {
          await using world = await site().open()
          await check.run(row, world)
        })
      }
    }
  })
}

/** Controllers whose handling of races is taken away: every check on a race must fail then, or it would prove nothing. */
export function testPlanted({ rows, start }: Omit<Suite, 'ready'>): void {
  const site = siteOf(start)
  for (const controller of new Set(rows.map((row) => row.controller))) {
    /** Takes every refusal of this controller's writes for a fault. */
    const blind: Classify = (refusal, verb, at, writer) => (writer === controller ? { is: 'fault' } : classify(refusal, verb, at))

    describe(`${controller} without its handling of races`, { concurrency: 6 }, () => {
      for (const row of rows.filter((one) => one.controller === controller)) {
        for (const check of raceChecks(row, eventually).filter(({ isRace }) => isRace)) {
          test(`fails: ${rowId(row)}: ${check.says}`, async () => {
            await using world = await site().open({ classify: blind })
            await assert.rejects(check.run(row, world), assert.AssertionError)
          })
        }
      }
    })
  }
}
