/** What cannot work is said at once, in a paragraph that names the way out, and nothing is left. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import { test } from 'node:test'
import { makeHome, nso } from './support/run-nso.ts'

async function takenPort(t: { after(call: () => unknown): void }): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return (server.address() as { port: number }).port
}

const kubeconfig = (server: string) => `apiVersion: v1
kind: Config
clusters: [{ name: c, cluster: { server: '${server}' } }]
users: [{ name: u, user: { token: t } }]
contexts: [{ name: c, context: { cluster: c, user: u } }]
current-context: c
`

test('the port is taken', async (t) => {
  const home = makeHome(t)
  const port = await takenPort(t)
  const run = nso(home, ['start', '--exit-when-ready', '--port', String(port)])
  assert.equal(await run.ended, 1)
  assert.match(run.output(), new RegExp(`port ${port} of 127.0.0.1 is in use by another process; choose another`))
  assert.deepEqual(home.processes(), [])
  assert.deepEqual(home.runs(), [])
})

test('Go does not run, and nothing was built yet', async (t) => {
  const home = makeHome(t)
  const bin = path.join(home.folder, 'bin')
  mkdirSync(bin)
  writeFileSync(path.join(bin, 'go'), '#!/bin/sh\nexit 127\n', { mode: 0o755 })
  const run = nso(home, ['start'], { PATH: `${bin}:${process.env.PATH}`, XDG_CACHE_HOME: home.folder })
  assert.equal(await run.ended, 1)
  assert.match(run.output(), /go does not run/)
  assert.deepEqual(home.runs(), [])
})

test('the report cannot be written: said before anything is started', async (t) => {
  const home = makeHome(t)
  for (const file of ['no-such-folder/report.json', '.']) {
    const run = nso(home, ['start', '--exit-when-ready', '--report', file])
    assert.equal(await run.ended, 1)
    assert.match(run.output(), /^The report cannot be written to .*\. Nothing was started\./)
    assert.doesNotMatch(run.output(), /control plane/)
  }
})

test('what the command line does not know is named', async (t) => {
  const home = makeHome(t)
  const cases: [string[], RegExp][] = [
    [['start', '--claim', '3'], /unknown option '--claim'[\s\S]*--claims/],
    [['start', '--claims', 'many'], /It must be a whole number from 1 to 5000/],
    [['start', '--claims', '0'], /It must be a whole number from 1 to 5000/],
    [['start', '--port', '70000'], /It must be a whole number from 1 to 65535/],
    [['stat'], /unknown command 'stat'[\s\S]*start/],
  ]
  for (const [args, said] of cases) {
    const run = nso(home, args)
    assert.equal(await run.ended, 1)
    assert.match(run.output(), said)
  }
})

test('what is no kubeconfig, or of no cluster, is named', async (t) => {
  const home = makeHome(t)
  const closed = createServer().listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const { port: free } = closed.address() as { port: number }
  closed.close()
  const cases: [string | undefined, RegExp][] = [
    [undefined, /cluster\.yaml is no kubeconfig that can be used: .*no such file/],
    ['', /cluster\.yaml is no kubeconfig that can be used/],
    ['{ half', /cluster\.yaml is no kubeconfig that can be used/],
    ['just text', /cluster\.yaml is no kubeconfig that can be used/],
    ['apiVersion: v1\nkind: Config\n', /names no server in its current context/],
    [kubeconfig(`https://127.0.0.1:${free}`), new RegExp(`does not answer at https://127.0.0.1:${free}: .*ECONNREFUSED`)],
  ]
  for (const [text, said] of cases) {
    const file = path.join(home.folder, 'cluster.yaml')
    if (text !== undefined) writeFileSync(file, text)
    const run = nso(home, ['start', '--kubeconfig', file])
    assert.equal(await run.ended, 1)
    assert.match(run.output(), said)
    assert.doesNotMatch(run.output(), /\n\s+at /, 'no stack')
  }
})
