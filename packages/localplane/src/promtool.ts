/** promtool, which checks Prometheus' rules and runs their unit tests: the user's own, or built like the control plane. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { readGoSources } from './build-inputs.ts'
import type { BuildNeeds } from './disk-space.ts'
import { LocalplaneError } from './errors.ts'
import { type EnsureOptions, ensureGoProgram } from './go-program.ts'

/** The first that knows `keep_firing_for`. */
const oldestUsable = [2, 42] as const

/** Measured for Prometheus 3.15 and rounded up. */
const needs: Omit<BuildNeeds, 'marker'> = { what: 'promtool', binary: 60, buildCache: 900, modules: 1000 }

const module = 'github.com/prometheus/prometheus'

/**
 * The command to call promtool by: `promtool` where PATH has one that is new enough, else a binary in the user's cache, built
 * with progress to `log` (a minute or two, once for each user and version).
 * Rejects with `NO_TOOLCHAIN`, `NO_DISK_SPACE` or `BUILD_FAILED`.
 */
export async function ensurePromtool(options: EnsureOptions = {}): Promise<string> {
  if (await isUsable(options.env ?? process.env)) return 'promtool'
  const sources = await readGoSources({
    folder: 'go-tools/promtool',
    files: ['go.mod', 'go.sum'],
    targets: [`${module}/cmd/promtool`],
    // Service discovery of clouds is most of Prometheus' weight; rules need none of it.
    flags: () => ['-trimpath', '-buildvcs=false', '-tags', 'remove_all_sd', '-ldflags', '-s -w'],
  })
  const version = sources.version(module)
  const program = {
    name: 'promtool',
    version: `${module} ${version}`,
    sources,
    needs: { ...needs, marker: `${module}@${version}` },
  }
  const binary = await ensureGoProgram(program, options)
  return binary ?? noToolchain()
}

async function isUsable(env: NodeJS.ProcessEnv): Promise<boolean> {
  try {
    const { stdout, stderr } = await promisify(execFile)('promtool', ['--version'], { env })
    const [, major = 0, minor = 0] = /version (\d+)\.(\d+)/.exec(stdout + stderr)?.map(Number) ?? []
    return major > oldestUsable[0] || (major === oldestUsable[0] && minor >= oldestUsable[1])
  } catch {
    return false
  }
}

function noToolchain(): never {
  throw new LocalplaneError(
    'NO_TOOLCHAIN',
    [
      'checking the alert rules needs one of these, and none was found:',
      `  - promtool ${oldestUsable.join('.')} or later on PATH (it comes with Prometheus)`,
      '  - Go 1.26 or later on PATH (https://go.dev/dl): promtool is then built once, in a minute or two',
    ].join('\n'),
  )
}
