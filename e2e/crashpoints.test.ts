/**
 * A sample of `npm run crashpoints`: scenarios on the real system, NSO really killed at some of its writes. All of them, in both
 * address modes, are tried by that command. A failure names the seed and the command that repeats the point.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { modes } from '../crashpoints/interception.ts'
import { random, sample } from '../crashpoints/matrix.ts'
import { playsFor } from '../crashpoints/plays.ts'
import { isGood, linesOf } from '../crashpoints/report.ts'
import { type RunOptions, tryPoints } from '../crashpoints/run.ts'

const seed = Number(process.env.CRASHPOINTS_SEED ?? Math.floor(Math.random() * 2 ** 31))
const [scenarios, points] = process.env.SOAK ? [99, 200] : [2, 5]

test('killed at any write, or left without an answer, NSO ends in the same world', async (t) => {
  t.diagnostic(`CRASHPOINTS_SEED=${seed}`)
  const told: string[] = []
  const asked: RunOptions = {
    addresses: 'builtin',
    program: 'nso',
    scenarios: sample(playsFor('builtin'), scenarios, random(seed)),
    ...{ modes, seed, sample: points, lanes: 1, patienceMs: 60_000 },
    print: (line) => void told.push(line),
    signal: t.signal,
  }
  const report = await tryPoints(asked)
  assert.ok(isGood(report), [`CRASHPOINTS_SEED=${seed}`, ...linesOf(asked, report), ...told].join('\n'))
  assert.equal(report.tried.length, points)
})
