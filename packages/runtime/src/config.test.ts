import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { createAccessSource, fixedAccess } from './config.ts'
import { createManualClock } from './manual-clock.ts'

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'access-'))
})
afterEach(() => rmSync(dir, { recursive: true }))

const base64 = (text: string) => Buffer.from(text).toString('base64')

type Written = { user?: object; cluster?: object; context?: object }

function writeKubeconfig({ user = {}, cluster = {}, context = {} }: Written): string {
  const path = join(dir, 'kubeconfig')
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:6443/', ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [
      { name: 'main', context: { cluster: 'c', user: 'u', ...context } },
      { name: 'other', context: { cluster: 'c', user: 'u', namespace: 'elsewhere' } },
    ],
    'current-context': 'main',
  }
  writeFileSync(path, JSON.stringify(config))
  return path
}

describe('what a kubeconfig gives', () => {
  test('server, CA, client certificate, namespace', async () => {
    const kubeconfig = writeKubeconfig({
      user: { 'client-certificate-data': base64('cert'), 'client-key-data': base64('key') },
      cluster: { 'certificate-authority-data': base64('ca'), 'tls-server-name': 'kube' },
      context: { namespace: 'mine' },
    })
    const access = await createAccessSource({ clock: createManualClock(), kubeconfig }).current()
    assert.equal(access.server, 'https://127.0.0.1:6443')
    assert.equal(access.namespace, 'mine')
    const { ca, cert, key, servername } = access.tls
    assert.deepEqual([String(ca), String(cert), String(key), servername], ['ca', 'cert', 'key', 'kube'])
    assert.deepEqual(access.headers, {})
  })

  test('another context', async () => {
    const kubeconfig = writeKubeconfig({})
    const access = await createAccessSource({ clock: createManualClock(), kubeconfig, context: 'other' }).current()
    assert.equal(access.namespace, 'elsewhere')
  })

  test('a context that is not there is said', async () => {
    const source = createAccessSource({ clock: createManualClock(), kubeconfig: writeKubeconfig({}), context: 'none' })
    await assert.rejects(source.current(), /no context none/)
  })

  test('a file that is not there is said', async () => {
    const source = createAccessSource({ clock: createManualClock(), kubeconfig: join(dir, 'nothing') })
    await assert.rejects(source.current(), /ENOENT/)
  })

  test('name and password', async () => {
    const kubeconfig = writeKubeconfig({ user: { username: 'ann', password: 'secret' } })
    const { headers } = await createAccessSource({ clock: createManualClock(), kubeconfig }).current()
    assert.deepEqual(headers, { authorization: `Basic ${base64('ann:secret')}` })
  })

  test('a server that is not to be verified', async () => {
    const kubeconfig = writeKubeconfig({ cluster: { 'insecure-skip-tls-verify': true } })
    const { tls } = await createAccessSource({ clock: createManualClock(), kubeconfig }).current()
    assert.equal(tls.rejectUnauthorized, false)
  })
})

describe('B22: what rotates is read again', () => {
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

  test('a token in the kubeconfig: within a minute by itself, at once after a 401', async () => {
    const clock = createManualClock()
    const source = createAccessSource({ clock, kubeconfig: writeKubeconfig({ user: { token: 'one' } }) })
    assert.deepEqual((await source.current()).headers, bearer('one'))
    writeKubeconfig({ user: { token: 'two' } })
    assert.deepEqual((await source.current()).headers, bearer('one'))
    await clock.advance(60_000)
    assert.deepEqual((await source.current()).headers, bearer('two'))
    writeKubeconfig({ user: { token: 'three' } })
    assert.deepEqual((await source.refresh()).headers, bearer('three'))
    assert.deepEqual((await source.current()).headers, bearer('three'))
  })

  test('a token file', async () => {
    const clock = createManualClock()
    const tokenFile = join(dir, 'token')
    writeFileSync(tokenFile, 'one\n')
    const source = createAccessSource({ clock, kubeconfig: writeKubeconfig({ user: { tokenFile } }) })
    assert.deepEqual((await source.current()).headers, bearer('one'))
    writeFileSync(tokenFile, 'two\n')
    await clock.advance(60_000)
    assert.deepEqual((await source.current()).headers, bearer('two'))
    writeFileSync(tokenFile, 'three\n')
    assert.deepEqual((await source.refresh()).headers, bearer('three'))
  })

  test('a client certificate changes the fingerprint, a token does not', async () => {
    const source = createAccessSource({ clock: createManualClock(), kubeconfig: writeKubeconfig({ user: { token: 'one' } }) })
    const before = await source.current()
    writeKubeconfig({ user: { token: 'two' } })
    const after = await source.refresh()
    assert.equal(after.fingerprint, before.fingerprint)
    writeKubeconfig({ user: { 'client-certificate-data': base64('new') } })
    assert.notEqual((await source.refresh()).fingerprint, before.fingerprint)
  })

  test('a file that is just being replaced keeps the last good access', async () => {
    const clock = createManualClock()
    const kubeconfig = writeKubeconfig({ user: { token: 'one' } })
    const source = createAccessSource({ clock, kubeconfig })
    await source.current()
    writeFileSync(kubeconfig, '{"half')
    await clock.advance(60_000)
    assert.deepEqual((await source.current()).headers, bearer('one'))
    assert.deepEqual((await source.refresh()).headers, bearer('one'))
    writeKubeconfig({ user: { token: 'two' } })
    assert.deepEqual((await source.refresh()).headers, bearer('two'))
  })

  test('an exec plugin is run again after a 401, not each half minute', async () => {
    const clock = createManualClock()
    const runs = join(dir, 'runs')
    const credential = JSON.stringify({
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      status: { token: 'run' },
    })
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: 'sh',
      args: ['-c', `echo x >> '${runs}'; echo '${credential}'`],
    }
    const source = createAccessSource({ clock, kubeconfig: writeKubeconfig({ user: { exec } }) })
    const count = () => readFileSync(runs, 'utf8').length / 2
    assert.deepEqual((await source.current()).headers, bearer('run'))
    await clock.advance(120_000)
    await source.current()
    assert.equal(count(), 1)
    await source.refresh()
    assert.equal(count(), 2)
  })
})

test('many at once read once', async () => {
  const kubeconfig = writeKubeconfig({ user: { token: 'one' } })
  const source = createAccessSource({ clock: createManualClock(), kubeconfig })
  const all = await Promise.all(Array.from({ length: 10 }, () => source.current()))
  assert.equal(new Set(all).size, 1)
})

test('fixed access stays', async () => {
  const source = fixedAccess({ server: 'http://127.0.0.1:1', headers: { a: 'b' } })
  assert.equal(await source.current(), await source.refresh())
})
