/** The pre-step, with an `npm` that installs nothing but a link: what it does around npm is its own work. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type TestContext, test } from 'node:test'

const root = path.resolve(import.meta.dirname, '..')

/** A checkout with nothing but the pre-step and a script to hand over to, and an `npm` that notes each call. */
function checkout(t: TestContext, npm = installs) {
  const dir = mkdtempSync(path.join(tmpdir(), 'bootstrap-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  mkdirSync(path.join(dir, 'scripts'))
  mkdirSync(path.join(dir, 'bin'))
  cpSync(path.join(root, 'scripts', 'bootstrap.cjs'), path.join(dir, 'scripts', 'bootstrap.cjs'))
  for (const name of ['package.json', 'package-lock.json']) writeFileSync(path.join(dir, name), '{}')
  writeFileSync(path.join(dir, 'hello.js'), 'console.log("hello", process.argv[2], process.cwd()); process.exitCode = 7\n')
  writeFileSync(path.join(dir, 'bin', 'npm'), `#!/bin/sh\necho call >> calls\n${npm}`)
  chmodSync(path.join(dir, 'bin', 'npm'), 0o755)
  const calls = () => {
    const file = path.join(dir, 'calls')
    return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').length : 0
  }
  return { dir, calls, start: (env: NodeJS.ProcessEnv = {}) => start(dir, env) }
}

const installs = `mkdir -p node_modules/.bin && ln -sf ${process.execPath} node_modules/.bin/node`

function start(dir: string, env: NodeJS.ProcessEnv) {
  const child = spawn(process.execPath, [path.join(dir, 'scripts', 'bootstrap.cjs'), 'hello.js', 'you'], {
    cwd: tmpdir(),
    env: { ...process.env, PATH: `${path.join(dir, 'bin')}:${process.env.PATH}`, ...env },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  const ended = once(child, 'close').then(([code]) => ({ code: code as number, output }))
  const sees = async (text: string) => {
    while (!output.includes(text)) {
      const more = await Promise.race([once(child.stderr, 'data'), ended])
      if ('output' in more && !output.includes(text)) throw new Error(`it ended without '${text}':\n${output}`)
    }
  }
  return { child, ended, sees }
}

test('installs once, hands over with arguments and the caller’s folder, and passes the status on', async (t) => {
  const { calls, start } = checkout(t)
  const first = await start().ended
  assert.equal(first.code, 7)
  assert.match(first.output, new RegExp(`Installing the pinned dependencies[\\s\\S]*hello you ${tmpdir()}`))
  const second = await start().ended
  assert.deepEqual(second, { code: 7, output: `hello you ${tmpdir()}\n` })
  assert.equal(calls(), 1)
})

test('a changed lock file is installed again', async (t) => {
  const { dir, calls, start } = checkout(t)
  await start().ended
  writeFileSync(path.join(dir, 'package-lock.json'), '{ "changed": true }')
  assert.equal((await start().ended).code, 7)
  assert.equal(calls(), 2)
})

test('of several at once one installs, the others wait and say so', async (t) => {
  const { dir, calls, start } = checkout(t, `while [ ! -e go ]; do sleep 0.05; done\n${installs}`)
  const first = start()
  await first.sees('Installing')
  const others = [start(), start()]
  for (const other of others) await other.sees(`Another process (${first.child.pid}) is installing`)
  writeFileSync(path.join(dir, 'go'), '')
  for (const run of [first, ...others]) assert.equal((await run.ended).code, 7)
  assert.equal(calls(), 1)
})

test('one that was killed half-way is taken over, by one of several', async (t) => {
  const { dir, calls, start } = checkout(t, `echo $$ > npm.pid\nif [ ! -e go ]; then exec sleep 60; fi\n${installs}`)
  const killed = start()
  const npmPid = () => (existsSync(path.join(dir, 'npm.pid')) ? Number(readFileSync(path.join(dir, 'npm.pid'), 'utf8')) : 0)
  const lock = path.join(dir, '.local', 'install.lock', 'pid')
  while (npmPid() === 0 || !readFileSync(lock, 'utf8').endsWith(` ${npmPid()}`)) await new Promise(setImmediate)
  killed.child.kill('SIGKILL')
  killed.child.stdout.destroy()
  killed.child.stderr.destroy()
  await killed.ended
  // A half-made folder, as a killed npm leaves it.
  mkdirSync(path.join(dir, 'node_modules', '.bin'), { recursive: true })
  writeFileSync(path.join(dir, 'go'), '')
  const next = [start(), start(), start()]
  // Its npm runs on and still writes there.
  for (const run of next) await run.sees(`Another process (${npmPid()}) is installing`)
  process.kill(npmPid())
  for (const run of next) assert.equal((await run.ended).code, 7)
  assert.equal(calls(), 2)
  assert.equal(existsSync(path.join(dir, '.local', 'install.lock')), false)
})

test('npm failing, npm missing, and a Node that was not installed are each named', async (t) => {
  const failing = await checkout(t, 'echo "npm error code ENOSPC" >&2; exit 28').start().ended
  assert.equal(failing.code, 1)
  assert.match(failing.output, /npm error code ENOSPC\nnpm ci ended with status 28; its message is above\. Check/)
  const nothing = await checkout(t, 'exit 0').start().ended
  assert.equal(nothing.code, 1)
  assert.match(nothing.output, /has not installed the pinned Node .*ignore-scripts/)
  const { dir, start } = checkout(t)
  rmSync(path.join(dir, 'bin', 'npm'))
  const missing = await start({ PATH: path.join(dir, 'bin') }).ended
  assert.equal(missing.code, 1)
  assert.match(missing.output, /npm could not be started \(ENOENT\)/)
  assert.doesNotMatch(missing.output, /\n\s+at /)
})

test('a failed installation is tried again by the next run', async (t) => {
  const { dir, start } = checkout(t, `if [ ! -e go ]; then exit 1; fi\n${installs}`)
  assert.equal((await start().ended).code, 1)
  writeFileSync(path.join(dir, 'go'), '')
  assert.equal((await start().ended).code, 7)
})

test('Ctrl-C during the installation ends it with 130, without advice', async (t) => {
  const { calls, start } = checkout(t, 'exec sleep 60')
  const run = start()
  while (calls() === 0) await new Promise(setImmediate)
  run.child.kill('SIGINT')
  const { code, output } = await run.ended
  assert.equal(code, 130)
  assert.doesNotMatch(output, /Check that/)
})

test('under npm, a parent that dies ends what was started; without npm it does not matter', async (t) => {
  const { dir, start } = checkout(t)
  await start().ended
  const script = 'process.on("SIGTERM", () => { console.log("told"); process.exit() }); console.log("up", process.pid)'
  writeFileSync(path.join(dir, 'hello.js'), `${script}; setTimeout(() => console.log("left alone") || process.exit(), 2000)`)
  for (const [env, expected] of [
    [{ npm_execpath: 'npm' }, 'told'],
    [{ npm_execpath: '' }, 'left alone'],
  ] as const) {
    const command = `${process.execPath} scripts/bootstrap.cjs hello.js; true`
    const parent = spawn('/bin/sh', ['-c', command], {
      cwd: dir,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    for await (const text of parent.stdout.setEncoding('utf8')) {
      output += text
      if (text.includes('up')) parent.kill('SIGKILL')
    }
    assert.match(output, new RegExp(`${expected}\n$`))
  }
})

test('a checkout that cannot be written is named', async (t) => {
  const { dir, start } = checkout(t)
  // A file where the folder should go stands for a disk that refuses it: the superuser may write everywhere else.
  writeFileSync(path.join(dir, '.local'), '')
  const { code, output } = await start().ended
  assert.equal(code, 1)
  assert.match(output, /cannot be written \(ENOTDIR\), and its dependencies are not installed yet/)
})
