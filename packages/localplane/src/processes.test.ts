import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { endLeftover, findProcess, isAlive, startProgram } from './processes.ts'
import { eventually } from './wait.ts'

async function directory(t: { after(call: () => unknown): void }): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'processes-'))
  t.after(() => rm(dir, { recursive: true }))
  return dir
}

const shell = (script: string) => ({ command: '/bin/sh', args: ['-c', script], tether: 'shell' as const })

async function start(dir: string, script: string) {
  return await startProgram({ program: shell(script), cwd: dir, env: process.env, outputPath: join(dir, 'output') })
}

async function writtenPid(dir: string): Promise<number> {
  const text = await eventually(
    'the program says its number',
    async () => (await readFile(join(dir, 'output'), 'utf8')).trim() || undefined,
  )
  return Number(text.split('\n')[0])
}

test('a process is told from a later one with its number', () => {
  const me = findProcess(process.pid)
  assert.ok(me && isAlive(me))
  assert.equal(isAlive({ pid: me.pid, started: `${me.started}0` }), false)
})

test('how a tethered program ended is how it ended', async (t) => {
  const child = await start(await directory(t), 'exit 7')
  assert.deepEqual(await child.exited, { code: 7, signal: null })
})

test('a program may take its time to stop, and its status arrives', async (t) => {
  const dir = await directory(t)
  const child = await start(dir, 'trap "sleep 0.2; echo stopped; exit 3" TERM; echo $$; while :; do sleep 0.05; done')
  await writtenPid(dir)
  await child.stop(10_000)
  assert.deepEqual(await child.exited, { code: 3, signal: null })
  assert.match(await readFile(join(dir, 'output'), 'utf8'), /\nstopped\n$/)
})

test('a program that will not stop is ended after the grace period', async (t) => {
  const dir = await directory(t)
  const child = await start(dir, 'trap "" TERM; echo $$; while :; do sleep 0.05; done')
  const pid = await writtenPid(dir)
  await child.stop(100)
  await eventually('it is gone', () => findProcess(pid) === undefined)
})

test('stopping what has ended does nothing', async (t) => {
  const child = await start(await directory(t), 'exit 0')
  await child.exited
  await child.stop(0)
  child.kill()
})

test('a program that does not exist is an error of its start', async (t) => {
  const program = { command: '/nonexistent/program', args: [], tether: 'stdin' as const }
  const dir = await directory(t)
  await assert.rejects(() => startProgram({ program, cwd: dir, env: {}, outputPath: join(dir, 'output') }), { code: 'ENOENT' })
})

test('a program ends with its starter, also when that is killed', async (t) => {
  const dir = await directory(t)
  const script = `
    import { startProgram } from ${JSON.stringify(new URL('./processes.ts', import.meta.url).href)}
    await startProgram({ program: ${JSON.stringify(shell('echo $$; while :; do sleep 0.05; done'))}, cwd: '.', env: process.env, outputPath: 'output' })
    await new Promise((resolve) => process.stdin.once('end', resolve).resume())`
  const starter = spawn(process.execPath, ['--input-type=module', '-e', script], {
    cwd: dir,
    stdio: ['pipe', 'inherit', 'inherit'],
  })
  const pid = await eventually('it runs', async () => Number((await readFile(join(dir, 'output'), 'utf8')).trim()) || undefined)
  assert.ok(findProcess(pid))
  starter.kill('SIGKILL')
  await eventually('it is gone', () => findProcess(pid) === undefined)
})

test('what a dead starter has left can be ended by the next', async () => {
  const child = spawn('sleep', ['60'])
  await once(child, 'spawn')
  const identity = findProcess(child.pid ?? 0)
  assert.ok(identity)
  await endLeftover(identity)
  assert.equal(isAlive(identity), false)
  await endLeftover(identity)
})
