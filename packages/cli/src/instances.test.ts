import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type TestContext, test } from 'node:test'
import { findProcess } from 'kube-localplane'
import { createInstances, type Instance } from './instances.ts'

function world(t: TestContext) {
  const folder = mkdtempSync(path.join(tmpdir(), 'instances-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return { folder, entries: path.join(folder, 'instances'), instances: createInstances(folder) }
}

function instance(over: Partial<Instance> = {}): Instance {
  const pid = over.pid ?? process.pid
  return {
    pid,
    started: findProcess(pid)?.started ?? '',
    mode: 'up',
    kubeconfigPath: '/somewhere/kubeconfig',
    given: false,
    ready: true,
    startedAt: '2026-01-01T00:00:00Z',
    ...over,
  }
}

const ended = () => spawnSync(process.execPath, ['-e', '']).pid

test('an instance is found while its process runs, the newest first', (t) => {
  const { instances } = world(t)
  instances.write(instance())
  instances.write(instance({ pid: process.ppid, startedAt: '2026-02-01T00:00:00Z' }))
  assert.deepEqual(
    instances.live().map(({ pid }) => pid),
    [process.ppid, process.pid],
  )
  instances.remove(process.ppid)
  assert.deepEqual(
    instances.live().map(({ pid }) => pid),
    [process.pid],
  )
})

test('what a crashed run left is removed, its working folder too; a running one keeps its own', (t) => {
  const { instances, entries } = world(t)
  const dead = ended()
  for (const pid of [dead, process.pid]) {
    instances.write(instance({ pid }))
    mkdirSync(path.join(instances.dirOf(pid), 'etcd'), { recursive: true })
  }
  assert.deepEqual(instances.heal(), [dead])
  assert.equal(existsSync(instances.dirOf(dead)), false)
  assert.equal(existsSync(path.join(instances.dirOf(process.pid), 'etcd')), true)
  assert.deepEqual(readdirSync(entries), [`${process.pid}.json`])
  assert.deepEqual(instances.heal(), [])
})

test('a later process of the same number is not taken for the instance', (t) => {
  const { instances } = world(t)
  instances.write(instance({ started: '1' }))
  mkdirSync(instances.dirOf(process.pid))
  assert.deepEqual(instances.live(), [])
  instances.heal()
  assert.equal(existsSync(instances.dirOf(process.pid)), false)
})

test('a folder without an entry is a leftover', (t) => {
  const { instances } = world(t)
  mkdirSync(instances.dirOf(1))
  assert.deepEqual(instances.heal(), [1])
  assert.equal(existsSync(instances.dirOf(1)), false)
})

test('a damaged entry is no instance and goes; nothing that it names is touched', (t) => {
  const { folder, entries, instances } = world(t)
  const other = path.join(folder, 'other')
  mkdirSync(other)
  writeFileSync(path.join(entries, '17.json'), '{"pid": ')
  writeFileSync(path.join(entries, '18.json'), JSON.stringify({ pid: ended(), dir: other }))
  assert.deepEqual(instances.live(), [])
  instances.heal()
  assert.deepEqual(readdirSync(entries), [])
  assert.equal(existsSync(other), true)
})

test('an entry that a running process is writing stays; a dead one’s goes', (t) => {
  const { entries, instances } = world(t)
  writeFileSync(path.join(entries, `${process.pid}.json.partial`), '{')
  writeFileSync(path.join(entries, `${ended()}.json.partial`), '{')
  instances.heal()
  assert.deepEqual(readdirSync(entries), [`${process.pid}.json.partial`])
})
