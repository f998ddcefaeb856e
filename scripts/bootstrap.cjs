'use strict'
// Runs on whatever Node the host has (20 or newer): installs the pinned dependencies when they are missing or changed,
// Node 26 among them, then hands over to it. Plain JavaScript, no dependencies, since nothing is installed yet.
//   node scripts/bootstrap.cjs SCRIPT.ts [arguments…]

const { spawn } = require('node:child_process')
const { createHash } = require('node:crypto')
const { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } = require('node:fs')
const path = require('node:path')

const root = path.resolve(__dirname, '..')
const modules = path.join(root, 'node_modules')
const stampFile = path.join(modules, '.installed-lock')
const pinnedNode = path.join(modules, '.bin', 'node')
const lockDir = path.join(root, '.local', 'install.lock')

function wanted() {
  const hash = createHash('sha256')
  for (const file of ['package.json', 'package-lock.json']) hash.update(readFileSync(path.join(root, file)))
  return hash.digest('hex')
}

function installed() {
  return existsSync(pinnedNode) && existsSync(stampFile) && readFileSync(stampFile, 'utf8') === wanted()
}

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

/** One installer at a time; the lock of one that was killed is taken over. */
async function locked(work) {
  mkdirSync(path.dirname(lockDir), { recursive: true })
  const owner = path.join(lockDir, 'pid')
  for (let told = false; ; ) {
    try {
      mkdirSync(lockDir)
      writeFileSync(owner, String(process.pid))
      break
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
    // A lock without a pid is either one instant old or its owner was killed in that instant.
    const pid = existsSync(owner) ? Number(readFileSync(owner, 'utf8')) : 0
    const dead = pid ? !isAlive(pid) : existsSync(lockDir) && Date.now() - statSync(lockDir).mtimeMs > 5000
    if (dead) rmSync(lockDir, { recursive: true, force: true })
    else if (!told) {
      console.error(`Another process (${pid || 'starting'}) is installing the dependencies; waiting for it …`)
      told = true
    }
    if (!dead) await new Promise((resolve) => setTimeout(resolve, 300))
  }
  try {
    return await work()
  } finally {
    rmSync(lockDir, { recursive: true, force: true })
  }
}

/** Lets the children of this shell answer Ctrl-C themselves; this process only waits for them. */
function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, stdio: 'inherit', ...options })
    const forward = (signal) => child.kill(signal)
    const quiet = () => {}
    process.on('SIGTERM', forward).on('SIGHUP', forward).on('SIGINT', quiet)
    child.on('error', reject)
    child.on('exit', (code, signal) => {
      process.off('SIGTERM', forward).off('SIGHUP', forward).off('SIGINT', quiet)
      resolve(signal ? 128 + (require('node:os').constants.signals[signal] ?? 0) : (code ?? 1))
    })
  })
}

async function install() {
  if (installed()) return 0
  return locked(async () => {
    if (installed()) return 0
    console.error(
      'Installing the pinned dependencies, Node 26 among them (first use, or the lock file changed; about a minute) …',
    )
    const code = await run('npm', ['ci', '--no-audit', '--no-fund'], { env: { ...process.env, npm_config_loglevel: 'error' } })
    if (code !== 0) {
      console.error(
        `npm ci ended with status ${code}. Check that the npm registry can be reached and that the disk is not full, then run the same command again.`,
      )
      return code
    }
    writeFileSync(stampFile, wanted())
    return 0
  })
}

async function main() {
  const [script, ...args] = process.argv.slice(2)
  const major = Number(process.versions.node.split('.')[0])
  if (major < 20) {
    console.error(`This needs Node 20 or newer to start (it then uses its own Node 26); this is ${process.version}.`)
    return 1
  }
  const code = await install()
  if (code !== 0 || !script) return code
  return run(pinnedNode, [path.resolve(root, script), ...args])
}

main().then(
  (code) => process.exit(code),
  (error) => {
    console.error(error)
    process.exit(1)
  },
)
