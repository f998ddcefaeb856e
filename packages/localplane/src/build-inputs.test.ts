import assert from 'node:assert/strict'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { buildFlags, cacheKey, readSources } from './build-inputs.ts'

async function copyOfSources(t: { after(call: () => unknown): void }): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'sources-'))
  t.after(() => rm(dir, { recursive: true }))
  const { dir: real } = await readSources()
  for (const file of ['main.go', 'go.mod', 'go.sum']) await cp(join(real, file), join(dir, file))
  return dir
}

for (const file of ['main.go', 'go.mod', 'go.sum']) {
  test(`a change of ${file} asks for another binary`, async (t) => {
    const dir = await copyOfSources(t)
    const before = await readSources(dir)
    await writeFile(join(dir, file), `${await readFile(join(dir, file), 'utf8')}\n// changed\n`)
    assert.notEqual((await readSources(dir)).hash, before.hash)
  })
}

test('the same sources in another directory ask for the same binary', async (t) => {
  assert.equal((await readSources(await copyOfSources(t))).hash, (await readSources()).hash)
})

test('another version of Go asks for another binary, under a name that is one path element', () => {
  const key = cacheKey({ hash: 'abc' }, 'go1.26.8 linux/amd64')
  assert.equal(key, 'abc-go1.26.8-linux-amd64')
  assert.notEqual(cacheKey({ hash: 'abc' }, 'go1.26.9 linux/amd64'), key)
})

test('the server will call itself what go.mod says', async () => {
  const { kubernetesVersion, moduleCount } = await readSources()
  assert.match(kubernetesVersion, /^v1\.\d+\.\d+$/)
  assert.ok(moduleCount > 100, `${moduleCount} modules`)
  const flags = buildFlags('v1.36.3').join(' ')
  for (const part of ['gitVersion=v1.36.3', 'gitMajor=1', 'gitMinor=36']) assert.ok(flags.includes(part), part)
})
