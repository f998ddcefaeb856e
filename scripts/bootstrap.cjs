'use strict'
// Runs on whatever Node the host has (20 or newer): installs the pinned dependencies when they are missing or changed,
// Node 26 among them, then hands over to it. Plain JavaScript, no dependencies, since nothing is installed yet.
//   node scripts/bootstrap.cjs SCRIPT.ts [arguments…]

const { spawn } = require('node:child_process')
const { createHash } = require('node:crypto')
const { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } = require('node:fs')
const os = require('node:os')
const path = require('node:path')

const root = path.resolve(__dirname, '..')
const modules = path.join(root, 'node_modules')
const stampFile = path.join(modules, '.installed-lock')
const pinnedNode = path.join(modules, '.bin', 'node')
const lockDir = path.join(root, '.local', 'install.lock')
const interrupted = [128 + os.constants.signals.SIGINT, 128 + os.constants.signals.SIGTERM, 128 + os.constants.signals.SIGHUP]

/** What the user can do something about: shown without a stack. */
class Explained extends Error {}

/** Of all that `npm ci` reads here: another script or version in package.json is no reason to install again. */
function wanted() {
  const { workspaces, dependencies, devDependencies, overrides, allowScripts } = JSON.parse(
    readFileSync(path.join(root, 'package.json'), 'utf8'),
  )
  return createHash('sha256')
    .update(JSON.stringify([workspaces, dependencies, devDependencies, overrides, allowScripts]))
    .update(readFileSync(path.join(root, 'package-lock.json')))
    .digest('hex')
}

function installed() {
  return existsSync(pinnedNode) && existsSync(stampFile) && readFileSync(stampFile, 'utf8') === wanted()
}

function isAlive(pid) {
  try {
    process.kill(pid, 0)
  } catch (error) {
    return error.code === 'EPERM'
  }
  // Killed, and not yet waited for by its parent.
  return statOf(pid)?.state !== 'Z'
}

/** Fields 3 and 4 of /proc/PID/stat (proc(5)); undefined where there is none. */
function statOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [state, parent] = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { state, parent }
  } catch {
    return undefined
  }
}

const owner = (dir) => path.join(dir, 'pid')

/** A process that holds this lock (an installer, or the npm that it left behind when it was killed), 0 when it has just been made, -1 when its holder is dead or it is gone. */
function holderOf(dir) {
  try {
    const pids = readFileSync(owner(dir), 'utf8').split(' ').map(Number)
    return pids.find(isAlive) ?? -1
  } catch {
    // Without a pid it is either one instant old or its holder was killed in that instant.
    const made = statSync(dir, { throwIfNoEntry: false })?.mtimeMs
    return made !== undefined && Date.now() - made < 5000 ? 0 : -1
  }
}

function take(dir) {
  try {
    mkdirSync(dir)
    writeFileSync(owner(dir), String(process.pid))
    return true
  } catch (error) {
    if (error.code === 'EEXIST' || error.code === 'ENOENT') return false
    throw new Explained(
      `This checkout (${root}) cannot be written (${error.code}), and its dependencies are not installed yet. ` +
        'Make it writable for the first use, or copy it to a folder of yours.',
      { cause: error },
    )
  }
}

/** Two may find the same dead holder; the slower must not remove the lock that the faster has just taken: one looks at a time. */
function removeDead() {
  const guard = `${lockDir}.takeover`
  if (!take(guard)) {
    if (holderOf(guard) === -1) rmSync(guard, { recursive: true, force: true })
    return
  }
  try {
    if (holderOf(lockDir) === -1) rmSync(lockDir, { recursive: true, force: true })
  } finally {
    rmSync(guard, { recursive: true, force: true })
  }
}

/** One installer at a time; the lock of one that was killed is taken over. */
async function locked(work) {
  try {
    mkdirSync(path.dirname(lockDir), { recursive: true })
  } catch {
    // `take` says why.
  }
  for (let told = false; !take(lockDir); ) {
    const holder = holderOf(lockDir)
    if (holder === -1) removeDead()
    else if (!told) {
      console.error(`Another process (${holder || 'just starting'}) is installing the dependencies; waiting for it …`)
      told = true
    }
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  try {
    return await work()
  } finally {
    rmSync(lockDir, { recursive: true, force: true })
  }
}

/**
 * A killed npm, or the shell between npx and this process that dies of a TERM without passing it on, would leave everything
 * running. Without npm a lost parent means nothing: somebody's shell that has ended, perhaps after nohup.
 */
function whenOrphaned(call) {
  if (!process.env.npm_execpath) return undefined
  const above = () => `${process.ppid} ${process.env.npm_lifecycle_event === 'npx' ? statOf(process.ppid)?.parent : ''}`
  const first = above()
  return setInterval(() => above() !== first && call(), 500)
}

/**
 * Passes every signal on and only waits: the child decides what an interruption means. A terminal's Ctrl-C reaches the child
 * by itself too; whoever sends it to this process alone reaches it by this.
 */
function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    // Before there is a child: a signal in between would end this process and leave the child.
    const forward = (signal) => child.kill(signal)
    const names = ['SIGINT', 'SIGTERM', 'SIGHUP']
    for (const name of names) process.on(name, forward)
    const child = spawn(command, args, { stdio: 'inherit', ...options })
    options.started?.(child.pid)
    const watch = whenOrphaned(() => forward('SIGTERM'))
    child.on('error', reject)
    child.on('exit', (code, signal) => {
      for (const name of names) process.off(name, forward)
      clearInterval(watch)
      resolve(signal ? 128 + (os.constants.signals[signal] ?? 0) : (code ?? 1))
    })
  })
}

async function npmCi() {
  console.error('Installing the pinned dependencies, Node 26 among them (first use, or the lock file changed; about a minute) …')
  // Whatever happens now, the folder is not what the stamp says.
  rmSync(stampFile, { force: true })
  const env = { ...process.env, npm_config_loglevel: 'error' }
  const started = (pid) => pid && writeFileSync(owner(lockDir), `${process.pid} ${pid}`)
  const code = await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: root, env, started }).catch((error) => {
    throw new Explained(`npm could not be started (${error.code}): it comes with Node and must be on PATH.`, { cause: error })
  })
  if (interrupted.includes(code)) return code
  if (code !== 0)
    throw new Explained(
      `npm ci ended with status ${code}; its message is above. Check that the npm registry can be reached and that the disk is not full, then run the same command again.`,
    )
  if (!existsSync(pinnedNode))
    throw new Explained(
      `npm ci has not installed the pinned Node (${pinnedNode} is missing). Does your npm configuration forbid install scripts (ignore-scripts)?`,
    )
  writeFileSync(stampFile, wanted())
  return 0
}

async function install() {
  if (installed()) return 0
  return locked(async () => (installed() ? 0 : npmCi()))
}

async function bootstrap([script, ...args]) {
  const major = Number(process.versions.node.split('.')[0])
  if (major < 20)
    throw new Explained(`This needs Node 20 or newer to start (it then uses its own Node 26); this is ${process.version}.`)
  const code = await install()
  if (code !== 0 || !script) return code
  return run(pinnedNode, [path.resolve(root, script), ...args])
}

/** Ends this process with the status of what it handed over to. */
function main(argv) {
  bootstrap(argv).then(
    (code) => process.exit(code),
    (error) => {
      console.error(error instanceof Explained ? error.message : error)
      process.exit(1)
    },
  )
}

module.exports = { main }
if (require.main === module) main(process.argv.slice(2))
