/** Starting, restarting, ending and crashing. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { attachPlane, connect, findProcess, findRunningPlane, readAudit, startPlane, tailAudit } from 'kube-localplane'
import { eventually } from 'kube-localplane/testing'

type Context = { after(call: () => unknown): void }

async function directory(t: Context): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'lifecycle-'))
  t.after(() => rm(dir, { recursive: true, force: true }))
  return dir
}

const configMap = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' } })
const pathOf = (name: string) => `/api/v1/namespaces/default/configmaps/${name}`

test('two run side by side, each with its own data, and one ends without the other', async () => {
  const [one, two] = await Promise.all([startPlane({ name: 'one' }), startPlane({ name: 'two' })])
  await one.apply([configMap('only-in-one')])
  assert.equal((await one.connection.request({ path: pathOf('only-in-one') })).status, 200)
  assert.equal((await two.connection.request({ path: pathOf('only-in-one') })).status, 404)
  const pids = Object.values(one.pids())
  assert.equal(pids.length, 2)
  await one.stop()
  assert.deepEqual(
    pids.filter((pid) => findProcess(pid)),
    [],
  )
  await assert.rejects(() => stat(one.dir), { code: 'ENOENT' })
  assert.equal((await two.connection.request({ path: '/readyz' })).status, 200)
  await two.stop()
})

/** Processor time that a process has used, in seconds: unlike the time on the clock, it does not depend on what else runs. */
async function processorSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const ticksPerSecond = 100
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}

test('a plane is ready after less than five seconds of work', async (t) => {
  const started = performance.now()
  await using plane = await startPlane()
  const elapsed = (performance.now() - started) / 1000
  const worked = await processorSeconds(plane.pids().server ?? 0)
  t.diagnostic(`${elapsed.toFixed(1)} s on the clock, ${worked.toFixed(1)} s of processor time`)
  assert.ok(Math.min(elapsed, worked) < 5, `${elapsed} s on the clock, ${worked} s of processor time`)
})

test('a restart keeps data, port, credentials and the audit log', async (t) => {
  await using plane = await startPlane({ dir: await directory(t) })
  const alice = await connect(await plane.kubeconfigFor({ user: 'alice' }))
  await plane.apply([configMap('kept')])
  const { url } = plane
  await plane.restart()
  assert.equal(plane.url, url)
  assert.equal((await plane.connection.request({ path: pathOf('kept') })).status, 200)
  assert.equal((await alice.request({ path: '/version' })).status, 200)
  await tailAudit(plane)
  const names = (await readAudit(plane.auditLogPath ?? ''))
    .filter(({ resource }) => resource === 'configmaps')
    .map(({ verb }) => verb)
  assert.ok(names.includes('patch') && names.includes('get'), 'requests from before and after')
})

test('the next start finds the data and credentials of the last, unless it is to be fresh', async (t) => {
  const dir = await directory(t)
  const first = await startPlane({ dir, audit: false })
  await first.apply([configMap('kept')])
  const alice = await first.kubeconfigFor({ user: 'alice' })
  await first.stop()
  const second = await startPlane({ dir, audit: false, port: Number(new URL(first.url).port) })
  assert.equal((await second.connection.request({ path: pathOf('kept') })).status, 200)
  assert.equal((await (await connect(alice)).request({ path: '/version' })).status, 200)
  await assert.rejects(() => tailAudit(second), { code: 'NO_AUDIT_LOG' })
  await second.stop()
  await using third = await startPlane({ dir, fresh: true })
  assert.equal((await third.connection.request({ path: pathOf('kept') })).status, 404)
})

test('a second start in the same directory says who runs there, and leaves that one alone', async (t) => {
  const dir = await directory(t)
  await using plane = await startPlane({ dir })
  const message = new RegExp(
    `^process ${process.pid} runs a control plane in ${dir}; it serves ${plane.url}, kubeconfig ${plane.kubeconfigPath}$`,
  )
  await assert.rejects(() => startPlane({ dir }), { code: 'ALREADY_RUNNING', message })
  assert.equal((await plane.connection.request({ path: '/readyz' })).status, 200)
})

test('a port that is taken is named, and nothing is left', async (t) => {
  const dir = await directory(t)
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.after(() => other.close())
  const { port } = other.address() as { port: number }
  await assert.rejects(() => startPlane({ dir, port }), { code: 'PORT_TAKEN', message: new RegExp(`^port ${port} .* in use`) })
  assert.ok(!(await readdir(dir)).includes('lock'))
})

test('flags that the server refuses are named, and nothing is left', async (t) => {
  const dir = await directory(t)
  const start = () => startPlane({ dir, apiServerFlags: ['--no-such-flag'] })
  await assert.rejects(start, { code: 'START_FAILED', message: /unknown flag: --no-such-flag/ })
  assert.equal(await findRunningPlane(dir), undefined)
})

test('an abort ends a start at once and leaves nothing', async (t) => {
  const dir = await directory(t)
  const stop = new AbortController()
  const start = startPlane({ dir, signal: stop.signal })
  const seen = eventually('the server has begun', async () => (await readdir(dir)).includes('kube-apiserver.log'))
  await seen
  const reason = new Error('enough')
  stop.abort(reason)
  await assert.rejects(() => start, reason)
  assert.ok(!(await readdir(dir)).includes('lock'))
  await using again = await startPlane({ dir })
  assert.ok(again.url)
})

/** Starts a plane in a process of its own, which can then be killed. */
async function starterOf(dir: string) {
  const script = `import { startPlane } from 'kube-localplane'
    const plane = await startPlane({ dir: ${JSON.stringify(dir)} })
    setInterval(() => {}, 60_000)`
  const cwd = fileURLToPath(new URL('..', import.meta.url))
  const starter = spawn(process.execPath, ['--input-type=module', '-e', script], { cwd, stdio: ['ignore', 'inherit', 'inherit'] })
  const state = await eventually('it runs', () => findRunningPlane(dir), { timeoutMs: 30_000 })
  return { starter, pids: Object.values(state.processes).map(({ pid }) => pid) }
}

test('a killed starter leaves nothing running', async (t) => {
  const { starter, pids } = await starterOf(await directory(t))
  assert.equal(pids.length, 2)
  starter.kill('SIGKILL')
  await eventually('all is gone', () => pids.every((pid) => !findProcess(pid)), { timeoutMs: 30_000 })
})

test('what a killed starter leaves is taken over by the next start, with its data', async (t) => {
  const dir = await directory(t)
  const { starter, pids } = await starterOf(dir)
  const before = await attachPlane(dir)
  await before.apply([configMap('survivor')])
  starter.kill('SIGKILL')
  await once(starter, 'exit')
  await using plane = await startPlane({ dir })
  assert.deepEqual(
    pids.filter((pid) => findProcess(pid)),
    [],
  )
  assert.equal((await plane.connection.request({ path: pathOf('survivor') })).status, 200)
})

test('a temporary directory whose starter was killed is removed by the next that needs one', async () => {
  const script = `import { startPlane } from 'kube-localplane'
    console.log((await startPlane({ controllers: false })).dir)
    setInterval(() => {}, 60_000)`
  const cwd = fileURLToPath(new URL('..', import.meta.url))
  const starter = spawn(process.execPath, ['--input-type=module', '-e', script], { cwd, stdio: ['ignore', 'pipe', 'inherit'] })
  const [chunk] = await once(starter.stdout, 'data')
  const dir = String(chunk).trim()
  starter.kill('SIGKILL')
  await once(starter, 'exit')
  assert.ok(await stat(dir))
  await using plane = await startPlane({ controllers: false })
  assert.notEqual(plane.dir, dir)
  await assert.rejects(() => stat(dir), { code: 'ENOENT' })
})

test('a controller manager that is killed is started again, a server is not', async (t) => {
  await using plane = await startPlane({ dir: await directory(t) })
  const before = plane.pids().controllers ?? 0
  process.kill(before, 'SIGKILL')
  await eventually('another runs', () => (plane.pids().controllers ?? before) !== before)
  process.kill(plane.pids().server ?? 0, 'SIGKILL')
  assert.match(await plane.failed, /^the server process ended \(SIGKILL\)/)
})

test('any process can have the controller manager restarted, several at once', async (t) => {
  const dir = await directory(t)
  await using plane = await startPlane({ dir })
  const before = plane.pids().controllers
  const attached = await Promise.all([attachPlane(dir), attachPlane(dir), attachPlane(dir)])
  await Promise.all(attached.map((access) => access.restartControllers()))
  const state = await findRunningPlane(dir)
  assert.notEqual(plane.pids().controllers, before)
  assert.equal(state?.processes.controllers?.pid, plane.pids().controllers)
})
