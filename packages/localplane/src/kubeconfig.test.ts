import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Access, readKubeconfig, writeKubeconfig } from './kubeconfig.ts'

async function directory(t: { after(call: () => unknown): void }): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'kubeconfig-'))
  t.after(() => rm(dir, { recursive: true }))
  return dir
}

const written: { says: string; access: Access }[] = [
  { says: 'a token', access: { url: 'https://127.0.0.1:6443', ca: 'CA\n', credential: { token: 'secret' } } },
  { says: 'a client certificate', access: { url: 'https://[::1]:1', ca: 'CA', credential: { certificate: 'CERT', key: 'KEY' } } },
  { says: 'nothing, and a namespace', access: { url: 'http://localhost:1', namespace: 'team', credential: {} } },
]
for (const { says, access } of written) {
  test(`a kubeconfig with ${says} is read as it was written, by its user only`, async (t) => {
    const dir = await directory(t)
    const path = join(dir, 'config')
    await writeKubeconfig(path, { ...access, cluster: 'c', user: 'u: with, "signs"' })
    assert.deepEqual(await readKubeconfig(path), access)
    assert.equal((await stat(path)).mode & 0o777, 0o600)
    assert.deepEqual(await readdir(dir), ['config'])
  })
}

test('one written by several at the same time is whole afterwards, and nothing else is left', async (t) => {
  const dir = await directory(t)
  const path = join(dir, 'config')
  const access = { url: 'https://example.dev', credential: { token: 'one' }, cluster: 'c', user: 'u' }
  await Promise.all(Array.from({ length: 8 }, () => writeKubeconfig(path, access)))
  assert.deepEqual((await readKubeconfig(path)).credential, { token: 'one' })
  assert.deepEqual(await readdir(dir), ['config'])
})

const config = (cluster: object, user: object) =>
  JSON.stringify({
    'current-context': 'x',
    contexts: [{ name: 'other' }, { name: 'x', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user }],
  })

test('files that a kubeconfig names are found beside it', async (t) => {
  const dir = await directory(t)
  for (const name of ['ca', 'cert', 'key', 'token']) await writeFile(join(dir, name), `${name} text\n`)
  const server = { server: 'https://example.dev/', 'certificate-authority': 'ca' }
  await writeFile(join(dir, 'a'), config(server, { 'client-certificate': 'cert', 'client-key': 'key' }))
  await writeFile(join(dir, 'b'), config(server, { tokenFile: 'token' }))
  const base = { url: 'https://example.dev', ca: 'ca text\n' }
  assert.deepEqual(await readKubeconfig(join(dir, 'a')), {
    ...base,
    credential: { certificate: 'cert text\n', key: 'key text\n' },
  })
  assert.deepEqual(await readKubeconfig(join(dir, 'b')), { ...base, credential: { token: 'token text' } })
})

const unusable = [
  { says: 'no server', text: config({}, {}), want: /names no server in its current context/ },
  {
    says: 'a provider of old',
    text: config({ server: 'https://a' }, { 'auth-provider': { name: 'gcp' } }),
    want: /by "auth-provider"/,
  },
]
for (const { says, text, want } of unusable) {
  test(`a kubeconfig with ${says} is refused with the reason`, async (t) => {
    const path = join(await directory(t), 'config')
    await writeFile(path, text)
    await assert.rejects(() => readKubeconfig(path), { name: 'LocalplaneError', message: want })
  })
}

const plugin = (script: string) =>
  config(
    { server: 'https://a' },
    { exec: { command: '/bin/sh', args: ['-c', script], env: [{ name: 'WORD', value: 'sesame' }] } },
  )

test('a credential plugin is asked for a token or a certificate', async (t) => {
  const path = join(await directory(t), 'config')
  await writeFile(path, plugin('echo "{\\"status\\":{\\"token\\":\\"$WORD\\"}}"'))
  assert.deepEqual((await readKubeconfig(path)).credential, { token: 'sesame' })
  await writeFile(path, plugin(`echo '{"status":{"clientCertificateData":"CERT","clientKeyData":"KEY"}}'`))
  assert.deepEqual((await readKubeconfig(path)).credential, { certificate: 'CERT', key: 'KEY' })
})

test('a credential plugin that fails is named with its complaint', async (t) => {
  const path = join(await directory(t), 'config')
  for (const [script, want] of [
    ['echo log in first >&2; exit 1', /log in first/],
    ['echo {}', /neither a token nor a certificate/],
  ] as const) {
    await writeFile(path, plugin(script))
    await assert.rejects(() => readKubeconfig(path), { code: 'NO_CREDENTIALS', message: want })
  }
})
