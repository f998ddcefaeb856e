import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { createInstances, type Instance, startTicksOf } from './instances.ts'

function folder() {
  return mkdtempSync(path.join(tmpdir(), 'instances-'))
}

function instance(over: Partial<Instance>): Instance {
  const dir = over.dir ?? folder()
  return {
    pid: process.pid,
    mode: 'up',
    dir,
    kubeconfigPath: path.join(dir, 'kubeconfig'),
    ready: true,
    startedAt: '2026-01-01T00:00:00Z',
    ...over,
  }
}

test('an instance is found while its process runs, the newest first', () => {
  const instances = createInstances(folder())
  instances.write(instance({ startTicks: startTicksOf(process.pid) }))
  instances.write(instance({ pid: process.ppid, startedAt: '2026-02-01T00:00:00Z' }))
  assert.deepEqual(
    instances.live().map(({ pid }) => pid),
    [process.ppid, process.pid],
  )
  instances.remove(process.ppid)
  assert.equal(instances.live().length, 1)
})

test('what a crashed run left is removed, its working folder too', () => {
  const instances = createInstances(folder())
  const ended = spawnSync(process.execPath, ['-e', '']).pid
  const dir = folder()
  mkdirSync(path.join(dir, 'etcd'))
  instances.write(instance({ pid: ended, dir }))
  assert.deepEqual(instances.live(), [])
  assert.equal(existsSync(dir), false)
})

test('a later process of the same number is not taken for the instance', () => {
  const instances = createInstances(folder())
  const dir = folder()
  instances.write(instance({ startTicks: '1', dir }))
  assert.deepEqual(instances.live(), [])
  assert.equal(existsSync(dir), false)
})

test('a half-written file is no instance and goes', () => {
  const where = folder()
  const file = path.join(where, `${process.pid}.json`)
  writeFileSync(file, '{"pid": ')
  assert.deepEqual(createInstances(where).live(), [])
  assert.equal(existsSync(file), false)
})
