import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type TestContext, test } from 'node:test'
import { writeKubeconfig } from 'kube-localplane'
import { requireCluster, requireSpace, requireWritable } from './preflight.ts'

function folder(t: TestContext): string {
  const made = mkdtempSync(path.join(tmpdir(), 'preflight-'))
  t.after(() => rmSync(made, { recursive: true, force: true }))
  return made
}

async function kubeconfigFor(t: TestContext, url: string): Promise<string> {
  const file = path.join(folder(t), 'kubeconfig')
  await writeKubeconfig(file, { url, credential: { token: 'token' }, cluster: 'c', user: 'u' })
  return file
}

const never = () => new AbortController().signal

test('a report that can be written is neither made nor changed by the check', (t) => {
  const file = path.join(folder(t), 'report.json')
  requireWritable(file)
  assert.equal(existsSync(file), false)
  writeFileSync(file, 'earlier')
  requireWritable(file)
  assert.equal(readFileSync(file, 'utf8'), 'earlier')
})

test('a report that cannot be written is refused with its name', (t) => {
  const where = folder(t)
  const missing = path.join(where, 'no', 'report.json')
  assert.throws(() => requireWritable(missing), new RegExp(`cannot be written to ${missing} \\(ENOENT.*Nothing was started`))
  assert.throws(() => requireWritable(where), /EISDIR/)
  const sealed = path.join(where, 'sealed.json')
  writeFileSync(sealed, '')
  chmodSync(sealed, 0o400)
  // The superuser may write everywhere.
  if (process.getuid?.() !== 0) assert.throws(() => requireWritable(sealed), /EACCES/)
})

test('a full disk is named with what is free and what is needed', () => {
  requireSpace('/somewhere', () => 300)
  assert.throws(() => requireSpace('/somewhere', () => 299), /299 MiB free where \/somewhere is, .* needs 300 .*XDG_STATE_HOME/)
})

test('a server that accepts and never answers is given up', async (t) => {
  const server = createServer(() => {}).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const file = await kubeconfigFor(t, `https://127.0.0.1:${(server.address() as { port: number }).port}`)
  await assert.rejects(
    () => requireCluster(file, never(), 50),
    /does not answer at https:.*: no answer within 0.05 s\. Check that it runs/,
  )
})

test('an interruption is an interruption, not a cluster that does not answer', async (t) => {
  const server = createServer(() => {}).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const file = await kubeconfigFor(t, `https://127.0.0.1:${(server.address() as { port: number }).port}`)
  const stop = new AbortController()
  const reason = new Error('Ctrl-C')
  server.once('connection', () => stop.abort(reason))
  await assert.rejects(() => requireCluster(file, stop.signal), reason)
})

test('whoever is not the administrator hears so before anything is installed', async (t) => {
  const answers = [
    { status: 201, body: { status: { allowed: false } }, said: /may not do everything at http:.*cluster-admin/ },
    { status: 401, body: { kind: 'Status', message: 'Unauthorized' }, said: /refuses this user: .*401: Unauthorized/ },
  ]
  let answer = answers[0]
  const server = createHttpServer((_, response) => {
    response.writeHead(answer?.status ?? 500).end(JSON.stringify(answer?.body))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const file = await kubeconfigFor(t, `http://127.0.0.1:${(server.address() as { port: number }).port}`)
  for (const next of answers) {
    answer = next
    await assert.rejects(() => requireCluster(file, never()), next.said)
  }
})
