/**
 * What the original's end-to-end suite tells, on the system of `npm start`: one system for each way of allocating addresses, on
 * which all scenarios are played side by side.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { scenarios } from '../scenarios/index.ts'
import { sideBySide } from '../scenarios/play.ts'
import { type Scene, startScene } from '../scenarios/run.ts'
import type { AddressMode } from '../scenarios/scenario.ts'

for (const mode of ['builtin', 'ipam'] as const satisfies readonly AddressMode[]) {
  describe(`addresses: ${mode}`, () => {
    const played = scenarios.filter(({ modes }) => modes.includes(mode))
    const ending = new AbortController()
    let dir = ''
    let scene: Scene

    before(async () => {
      dir = mkdtempSync(path.join(tmpdir(), 'nso-scenarios-'))
      scene = await startScene({ mode, dir, log: () => {}, signal: ending.signal })
    })
    after(async () => {
      ending.abort(new Error('the test is over'))
      await scene?.stop()
      if (dir) rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
    })

    describe('side by side', { concurrency: sideBySide }, () => {
      for (const scenario of played) {
        test(scenario.name, () => Promise.race([scene.stage.play(scenario), scene.failed]))
      }
    })

    test(`nothing was lost, fought over or failed that should not (${mode})`, async () => {
      assert.deepEqual(await scene.complaints(played), [])
    })
  })
}
