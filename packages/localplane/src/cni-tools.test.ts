import assert from 'node:assert/strict'
import { chmod, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { home } from '../test/scripted-go.ts'
import { ensureCniTools } from './cni-tools.ts'

const names = ['bridge', 'cnitool', 'static', 'tuning']

test('all four are built at once into one folder, and found there the next time', async (t) => {
  const { env, buildsSeen, cache } = await home(t)
  const lines: string[] = []
  const tools = await ensureCniTools({ env, log: (line) => lines.push(line) })
  assert.deepEqual((await readdir(tools.cniPath)).sort(), names)
  assert.equal(tools.cnitool, join(tools.cniPath, 'cnitool'))
  assert.match(lines.join('\n'), /^building the CNI tools \(cnitool v1\.\d.*, plugins v1\.\d.*go9\.9\.9 test\/one/)
  assert.match(lines.join('\n'), /built the CNI tools in \d+ s: \//)
  assert.deepEqual(await ensureCniTools({ env, log: () => assert.fail('nothing to say') }), tools)
  assert.deepEqual([(await buildsSeen()).length, (await readdir(cache)).length], [1, 1])
})

test('a folder in which one of them is missing is built again', async (t) => {
  const { env, buildsSeen } = await home(t)
  const { cniPath } = await ensureCniTools({ env })
  await chmod(join(cniPath, 'static'), 0o600)
  assert.deepEqual(await ensureCniTools({ env }), { cnitool: join(cniPath, 'cnitool'), cniPath })
  assert.equal((await buildsSeen()).length, 2)
})

const speaking = `#!/bin/sh\ncat >&2\necho '{"cniVersion":"1.0.0","supportedVersions":["0.4.0","1.0.0"]}'\n`
const old = speaking.replace(',"1.0.0"]', ']')

for (const { says, has, used, tells } of [
  { says: 'with all four is used', has: names, used: true, tells: /^$/ },
  { says: 'without cnitool is left alone', has: names.slice(2), used: false, tells: /^CNI_PATH \(.*\) has no cnitool, bridge:/ },
  { says: 'with old plugins is left alone', has: names, used: false, tells: /tuning does not speak CNI 1\.0\.0:/ },
]) {
  const plugin = says.includes('old') ? old : speaking
  test(`a folder of CNI_PATH ${says}`, async (t) => {
    const { dir, env, buildsSeen } = await home(t)
    for (const name of has) await writeFile(join(dir, name), plugin, { mode: 0o755 })
    const lines: string[] = []
    const cniPath = `/nonexistent:${dir}`
    const tools = await ensureCniTools({ env: { ...env, CNI_PATH: cniPath }, log: (line) => lines.push(line) })
    assert.equal(tools.cniPath === cniPath, used)
    assert.equal(tools.cnitool === join(dir, 'cnitool'), used)
    assert.equal((await buildsSeen()).length, used ? 0 : 1)
    assert.match(lines[0] ?? '', tells)
  })
}

test('without the tools and without Go the choices are named', async () => {
  const env = { HOME: '/nonexistent', PATH: '/nonexistent' }
  await assert.rejects(() => ensureCniTools({ env, goPlaces: [] }), {
    code: 'NO_TOOLCHAIN',
    message: /Go .* on PATH[\s\S]*CNI_PATH: a folder with cnitool/,
  })
})
