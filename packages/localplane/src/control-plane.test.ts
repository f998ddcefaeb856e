import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { home } from '../test/scripted-go.ts'
import { ensureControlPlane } from './control-plane.ts'
import { eventually } from './wait.ts'

test('the first use builds and says how far it is, the second finds what the first built', async (t) => {
  const { env, buildsSeen, cache } = await home(t)
  const lines: string[] = []
  const first = await ensureControlPlane({ env, log: (line) => lines.push(line) })
  assert.match(
    lines.join('\n'),
    /^building the control plane .*go9\.9\.9 test\/one.*\ndownloaded 1 of up to \d+ modules\n.*up to 3 packages\nbuilt .* in \d+ s/,
  )
  assert.deepEqual(await ensureControlPlane({ env, log: () => assert.fail('nothing to say') }), first)
  assert.equal((await buildsSeen()).length, 1)
  assert.deepEqual(await readdir(cache), [dirname(first.apiServer.command).split('/').at(-1)])
})

test('two at once build once', async (t) => {
  const { env, hold, buildsSeen } = await home(t)
  await writeFile(hold, '')
  const lines: string[] = []
  const both = [1, 2].map(() => ensureControlPlane({ env, log: (line) => lines.push(line) }))
  await eventually('one waits', () =>
    lines.some((line) => line === `waiting for process ${process.pid}, which is building the control plane`),
  )
  await rm(hold)
  const [one, two] = await Promise.all(both)
  assert.deepEqual(one, two)
  assert.equal((await buildsSeen()).length, 1)
})

test('a build that was killed half-way is cleaned up and done again', async (t) => {
  const { env, hold, buildsSeen, cache } = await home(t)
  await writeFile(hold, '')
  const program = new URL('./build.ts', import.meta.url).pathname
  const first = spawn(process.execPath, [program], { env, stdio: 'ignore' })
  const [compiler] = await eventually(
    'the build has begun',
    async () => (await buildsSeen()).length === 1 && (await buildsSeen()),
  )
  first.kill('SIGKILL')
  await once(first, 'exit')
  await eventually('its compiler has ended too', () => !isRunning(Number(compiler)))
  assert.equal((await readdir(cache)).length, 2, 'its lock and its directory are still there')
  await rm(hold)
  await ensureControlPlane({ env })
  assert.equal((await readdir(cache)).length, 1, 'only what was built is left')
})

test('an abort ends the build and leaves nothing', async (t) => {
  const { env, hold, buildsSeen, cache } = await home(t)
  await writeFile(hold, '')
  const stop = new AbortController()
  const build = ensureControlPlane({ env, signal: stop.signal })
  const [compiler] = await eventually(
    'the build has begun',
    async () => (await buildsSeen()).length === 1 && (await buildsSeen()),
  )
  const reason = new Error('enough')
  stop.abort(reason)
  await assert.rejects(() => build, reason)
  assert.deepEqual(await readdir(cache), [])
  assert.equal(isRunning(Number(compiler)), false)
})

const failures = [
  {
    says: 'a full disk',
    go: 'echo "write /x: no space left on device" >&2; exit 1',
    want: { code: 'NO_DISK_SPACE', message: /the disk is full/ },
  },
  {
    says: 'no network',
    go: 'echo "dial tcp: lookup proxy.example: no such host" >&2; exit 1',
    want: { code: 'BUILD_FAILED', message: /module proxy could not be reached/ },
  },
  {
    says: 'an error',
    go: 'echo "main.go:7: undefined: x" >&2; exit 1',
    want: { code: 'BUILD_FAILED', message: /go build failed:\n.*main\.go:7: undefined: x$/s },
  },
]
for (const { says, go, want } of failures) {
  test(`a build that meets ${says} says so and leaves nothing`, async (t) => {
    const { env, cache } = await home(t, { go })
    await assert.rejects(() => ensureControlPlane({ env }), want)
    assert.deepEqual(await readdir(cache), [])
  })
}

test('without Go the choices are named', async () => {
  const env = { HOME: '/nonexistent', PATH: '/nonexistent' }
  await assert.rejects(() => ensureControlPlane({ env, goPlaces: [] }), {
    code: 'NO_TOOLCHAIN',
    message: /Go .* on PATH[\s\S]*KUBEBUILDER_ASSETS[\s\S]*--kubeconfig/,
  })
})

test('without Go what was built before still serves', async (t) => {
  const { env } = await home(t)
  const built = await ensureControlPlane({ env })
  assert.deepEqual(await ensureControlPlane({ env: { ...env, PATH: '/nonexistent' }, goPlaces: [] }), built)
})

test('programs of one’s own are used as they are', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'assets-'))
  t.after(() => rm(dir, { recursive: true }))
  const env = { KUBEBUILDER_ASSETS: dir }
  await writeFile(join(dir, 'etcd'), '', { mode: 0o755 })
  await assert.rejects(() => ensureControlPlane({ env }), { code: 'ASSETS_INCOMPLETE', message: /has no kube-apiserver;/ })
  await writeFile(join(dir, 'kube-apiserver'), '', { mode: 0o755 })
  const lines: string[] = []
  const programs = await ensureControlPlane({ env, log: (line) => lines.push(line) })
  assert.equal(programs.etcd?.command, join(dir, 'etcd'))
  assert.match(lines.join(), /no kube-controller-manager: owner references, .* will not work/)
})

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
