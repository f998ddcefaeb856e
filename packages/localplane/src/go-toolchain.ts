/** The Go toolchain: finding it, and building with visible progress. */
import { execFile, spawn } from 'node:child_process'
import { delimiter } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import type { GoSources } from './build-inputs.ts'
import { compileProgress, downloadProgress, type Progress } from './build-progress.ts'
import { LocalplaneError } from './errors.ts'
import { commandLine } from './processes.ts'

export type Toolchain = {
  /** Where `go` is found. */
  path: string
  /** `go1.26.0 linux/amd64`. */
  version: string
  buildCache: string
  moduleCache: string
}

/** Where Go's installers put it when they leave PATH alone. */
export const usualPlaces = ['/usr/local/go/bin', '/opt/homebrew/bin', '/usr/lib/go/bin']

/** On PATH, else in `places`. Asked in `dir`, since go.mod may choose the toolchain. Undefined when Go is not installed. */
export async function findToolchain(env: NodeJS.ProcessEnv, dir: string, places = usualPlaces): Promise<Toolchain | undefined> {
  const PATH = [env.PATH, ...places].join(delimiter)
  const run = async (...args: string[]) => {
    const { stdout } = await promisify(execFile)('go', args, { cwd: dir, env: { ...env, PATH } })
    return stdout.trim()
  }
  try {
    const version = (await run('version')).replace(/^go version /, '')
    const [buildCache = '', moduleCache = ''] = (await run('env', 'GOCACHE', 'GOMODCACHE')).split('\n')
    return { path: PATH, version, buildCache, moduleCache }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new LocalplaneError('BUILD_FAILED', `go does not run: ${error instanceof Error ? error.message : error}`, {
      cause: error,
    })
  }
}

export type CompileRequest = {
  toolchain: Toolchain
  sources: GoSources
  /** A file; where there are several targets, a folder, with `/` at its end. */
  output: string
  env: NodeJS.ProcessEnv
  log: (line: string) => void
  signal?: AbortSignal
}

/** Downloads, compiles and links. Rejects with `BUILD_FAILED` or `NO_DISK_SPACE`. */
export async function compile(request: CompileRequest): Promise<void> {
  const { sources, output, log } = request
  const packages = await runGo(
    request,
    ['list', '-deps', '-f', '{{.ImportPath}}', ...sources.flags, ...sources.targets],
    downloadProgress(sources.moduleCount),
  )
  const total = packages.length
  log(`all modules are here; compiling up to ${total} packages`)
  await runGo(request, ['build', '-v', ...sources.flags, '-o', output, ...sources.targets], compileProgress(total))
}

/** Resolves with the lines of its standard output. The progress sees those of standard error. */
async function runGo(
  { toolchain, sources, env, log, signal }: CompileRequest,
  args: string[],
  progress: Progress,
): Promise<string[]> {
  signal?.throwIfAborted()
  const tethered = commandLine({ command: 'go', args, tether: 'shell' })
  const child = spawn(tethered.command, tethered.args, {
    cwd: sources.dir,
    env: { ...env, PATH: toolchain.path, CGO_ENABLED: '0', GOFLAGS: '', GOWORK: 'off' },
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const endGroup = () => child.stdin.destroy()
  signal?.addEventListener('abort', endGroup, { once: true })
  const output: string[] = []
  const complaints: string[] = []
  createInterface({ input: child.stdout }).on('line', (line) => output.push(line))
  createInterface({ input: child.stderr }).on('line', (line) => {
    const said = progress.saw(line)
    if (said) log(said)
    complaints.push(line)
    if (complaints.length > 30) complaints.shift()
  })
  const code = await new Promise((resolve) => {
    child.once('close', resolve)
    child.once('error', () => resolve(-1))
  })
  signal?.removeEventListener('abort', endGroup)
  signal?.throwIfAborted()
  if (code !== 0) throw buildError(args[0] ?? '', complaints)
  return output
}

function buildError(step: string, lines: string[]): LocalplaneError {
  const text = lines.join('\n')
  if (/no space left on device/i.test(text)) return new LocalplaneError('NO_DISK_SPACE', `the disk is full:\n${text}`)
  const hint = /dial tcp|lookup .* no such host|proxyconnect|i\/o timeout/.test(text)
    ? '\nThe Go module proxy could not be reached: the first build needs it (GOPROXY names another one).'
    : ''
  return new LocalplaneError('BUILD_FAILED', `go ${step} failed:\n${text}${hint}`)
}
