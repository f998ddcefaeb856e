import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import process from 'node:process'
import { type TestContext, test } from 'node:test'
import type { ConformanceFlags } from './conformance.ts'
import { hooksOf } from './conformance-hooks.ts'

const never = new AbortController().signal
const flags = { planeVersion: 'unknown', detachGrace: 1, burst: 1, idle: 1, format: 'tap' } as const
const hooks = (given: Partial<ConformanceFlags>) => hooksOf({ ...flags, patience: 30_000, ...given })

function folder(t: TestContext): string {
  const dir = mkdtempSync(path.join(tmpdir(), 'nso-hooks-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

test('a command for traffic is told the attachment', async (t) => {
  const dir = folder(t)
  const { traffic } = hooks({ trafficStartCommand: `echo "$NAMESPACE/$NAME" > ${dir}/up`, trafficStopCommand: 'true' })
  await traffic?.start({ namespace: 'a', name: 'web' }, never)
  await traffic?.stop({ namespace: 'a', name: 'web' }, never)
  assert.equal(readFileSync(`${dir}/up`, 'utf8'), 'a/web\n')
})

const failures: { says: string; command: string; patience?: number; want: RegExp }[] = [
  { says: 'fails', command: 'exit 3', want: /exit 3 ended with status 3\.$/ },
  { says: 'is killed', command: 'kill -9 $$', want: /ended with SIGKILL\.$/ },
  { says: 'is not there', command: '/nowhere/restart', want: /ended with status 127\.$/ },
  { says: 'takes too long', command: 'sleep 1000', patience: 50, want: /was not done within 0\.1 s\.$/ },
]
for (const { says, command, want, patience = 30_000 } of failures) {
  test(`a command that ${says} is said to`, async () => {
    const { restart } = hooks({ restartCommand: command, patience })
    await assert.rejects(async () => restart?.(never), want)
  })
}

test('what a command has started ends with it when the run is broken off', async (t) => {
  const dir = folder(t)
  const stop = new AbortController()
  const { restart } = hooks({ restartCommand: `sleep 1000 & echo $! > ${dir}/pid.new; mv ${dir}/pid.new ${dir}/pid; wait` })
  const restarting = restart?.(stop.signal)
  const pid = await untilRead(`${dir}/pid`)
  assert.equal(isAlive(pid), true)
  stop.abort(new Error('Ctrl-C'))
  await assert.rejects(async () => restarting, /Ctrl-C/)
  while (isAlive(pid)) await new Promise(setImmediate)
})

async function untilRead(file: string): Promise<number> {
  for (;;) {
    try {
      return Number(readFileSync(file, 'utf8'))
    } catch {
      await new Promise(setImmediate)
    }
  }
}

test('what was lifted is restored, also when the run is broken off meanwhile', async (t) => {
  const dir = folder(t)
  const stop = new AbortController()
  const { liftEnforcement } = hooks({ liftCommand: `touch ${dir}/lifted`, restoreCommand: `rm ${dir}/lifted` })
  const restore = await liftEnforcement?.(stop.signal)
  assert.equal(readFileSync(`${dir}/lifted`, 'utf8'), '')
  stop.abort(new Error('Ctrl-C'))
  await restore?.()
  assert.throws(() => readFileSync(`${dir}/lifted`))
})
