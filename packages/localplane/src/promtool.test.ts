import assert from 'node:assert/strict'
import { readdir, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { home } from '../test/scripted-go.ts'
import { ensurePromtool } from './promtool.ts'

/** A promtool on PATH that says this of itself. */
async function withPromtool(t: Parameters<typeof home>[0], said: string) {
  const world = await home(t)
  await writeFile(join(world.dir, 'bin', 'promtool'), `#!/bin/sh\n${said}\n`, { mode: 0o755 })
  return world
}

for (const { says, said } of [
  { says: 'on standard output', said: 'echo "promtool, version 2.42.0 (branch: HEAD)"' },
  { says: 'on standard error', said: 'echo "promtool, version 3.15.1 (branch: HEAD)" >&2' },
]) {
  test(`one on PATH that is new enough is used, and nothing is built: version ${says}`, async (t) => {
    const { env, buildsSeen } = await withPromtool(t, said)
    assert.equal(await ensurePromtool({ env, log: () => assert.fail('nothing to say') }), 'promtool')
    assert.deepEqual(await buildsSeen(), [])
  })
}

for (const { says, said } of [
  { says: 'is older than keep_firing_for', said: 'echo "promtool, version 2.41.0 (branch: HEAD)"' },
  { says: 'fails', said: 'echo "promtool, version 3.0.0"; exit 1' },
  { says: 'says nothing of a version', said: 'echo promtool' },
]) {
  test(`one on PATH that ${says} is left alone, and another built once`, async (t) => {
    const { env, buildsSeen, cache } = await withPromtool(t, said)
    const lines: string[] = []
    const binary = await ensurePromtool({ env, log: (line) => lines.push(line) })
    assert.equal(basename(binary), 'promtool')
    assert.match(lines.join('\n'), /^building promtool \(github\.com\/prometheus\/prometheus v\d.*go9\.9\.9 test\/one/)
    assert.equal(await ensurePromtool({ env, log: () => assert.fail('nothing to say') }), binary)
    assert.equal((await buildsSeen()).length, 1)
    assert.equal((await readdir(cache)).length, 1)
  })
}

test('without promtool and without Go the choices are named', async () => {
  const env = { HOME: '/nonexistent', PATH: '/nonexistent' }
  await assert.rejects(() => ensurePromtool({ env, goPlaces: [] }), {
    code: 'NO_TOOLCHAIN',
    message: /promtool 2\.42 or later on PATH[\s\S]*Go .* on PATH/,
  })
})
