import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { tryLock, waitForLock } from './lock.ts'
import { findProcess } from './processes.ts'

async function directory(t: { after(call: () => unknown): void }): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'lock-'))
  t.after(() => rm(dir, { recursive: true }))
  return dir
}

async function identityOfDeadProcess() {
  const child = spawn('sleep', ['60'])
  await once(child, 'spawn')
  const identity = findProcess(child.pid ?? 0)
  child.kill('SIGKILL')
  await once(child, 'exit')
  return identity
}

test('a lock is held by one at a time and can be taken again after its release', async (t) => {
  const path = join(await directory(t), 'lock')
  const first = await tryLock(path)
  assert.ok('release' in first)
  assert.deepEqual(await tryLock(path), { heldBy: findProcess(process.pid) })
  await first.release()
  assert.ok('release' in (await tryLock(path)))
})

const stale: { says: string; content: () => Promise<string> }[] = [
  { says: 'a killed process', content: async () => JSON.stringify(await identityOfDeadProcess()) },
  { says: 'a process whose number another one has now', content: async () => JSON.stringify({ pid: process.pid, started: '1' }) },
  { says: 'nobody: an empty file', content: async () => '' },
  { says: 'nobody: half a file', content: async () => '{"pid": 12' },
]
for (const { says, content } of stale) {
  test(`a lock left by ${says} is taken over`, async (t) => {
    const dir = await directory(t)
    await writeFile(join(dir, 'lock'), await content())
    const lock = await tryLock(join(dir, 'lock'))
    assert.ok('release' in lock)
    await lock.release()
    assert.deepEqual(await readdir(dir), [], 'nothing is left behind')
  })
}

test('a take-over that was itself killed half-way is finished', async (t) => {
  const dir = await directory(t)
  const dead = JSON.stringify(await identityOfDeadProcess())
  await writeFile(join(dir, 'lock'), dead)
  await writeFile(join(dir, 'lock.takeover'), dead)
  assert.ok('release' in (await tryLock(join(dir, 'lock'))))
})

test('many that find the same stale lock still enter one after the other', async (t) => {
  const path = join(await directory(t), 'lock')
  await writeFile(path, JSON.stringify(await identityOfDeadProcess()))
  let inside = 0
  let entered = 0
  const contender = async () => {
    const lock = await waitForLock(path, () => {})
    assert.equal(++inside, 1, 'alone')
    entered++
    await new Promise(setImmediate)
    inside--
    await lock.release()
  }
  await Promise.all(Array.from({ length: 12 }, contender))
  assert.equal(entered, 12)
})

test('who waits is told once for whom', async (t) => {
  const path = join(await directory(t), 'lock')
  const first = await tryLock(path)
  assert.ok('release' in first)
  const told: number[] = []
  const second = waitForLock(path, ({ pid }) => {
    told.push(pid)
    void first.release()
  })
  await (await second).release()
  assert.deepEqual(told, [process.pid])
})
