/** The reports that are kept in this repository hold, for the data planes that it brings to the suite. */
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { ordinaryLimits } from './bench.ts'
import { problemsOf } from './report.ts'

const folder = path.join(import.meta.dirname, '..', '..', '..', 'docs', 'conformance')
/** By the name under which each is asked for: that of its DataPlane. */
const planes = { galactic: 'galactic', bridge: 'bridge', 'example-ts': 'wires', 'example-script': 'cables' }

test('there is one for each data plane and no other', async () => {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.yaml'))
  assert.deepEqual(
    files.sort(),
    Object.keys(planes)
      .map((name) => `${name}.yaml`)
      .sort(),
  )
})

for (const [name, plane] of Object.entries(planes)) {
  test(`that of ${name} has every rule, was not changed, and comes from a full run in which nothing was left out`, async () => {
    const { report, problems } = problemsOf(await readFile(path.join(folder, `${name}.yaml`), 'utf8'))
    assert.deepEqual(problems, [])
    assert.equal(report?.plane, plane)
    const measured = (rule: string) => report?.results.find((result) => result.rule === rule)?.measured
    assert.equal(measured('DP-17')?.attachments, ordinaryLimits.burst)
    assert.equal(measured('DP-16')?.idleMs, ordinaryLimits.idleMs)
    const skipped = report?.results.filter(({ outcome, level }) => outcome === 'skip' && level === 'MUST').map(({ rule }) => rule)
    assert.deepEqual(skipped, report?.features.networkObject ? [] : ['DP-13'])
  })
}
