/** The CNI project's own `cnitool` and standard plugins, unmodified: the user's own, or built like the control plane. */
import { execFile } from 'node:child_process'
import { access, constants } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { readGoSources } from './build-inputs.ts'
import type { BuildNeeds } from './disk-space.ts'
import { LocalplaneError } from './errors.ts'
import { type EnsureOptions, ensureGoPrograms } from './go-program.ts'

export type CniTools = {
  /** Path of `cnitool`, which runs a configuration as a container runtime would. */
  cnitool: string
  /** Folders of the plugins, as the environment variable CNI_PATH has them. */
  cniPath: string
}

const libraries = 'github.com/containernetworking/cni'
const plugins = 'github.com/containernetworking/plugins'

const targets = {
  cnitool: `${libraries}/cnitool`,
  bridge: `${plugins}/plugins/main/bridge`,
  static: `${plugins}/plugins/ipam/static`,
  tuning: `${plugins}/plugins/meta/tuning`,
}

/** Version of the CNI specification that plugins found on the machine must know. */
const spokenVersion = '1.0.0'

/** Measured for plugins 1.10 and rounded up. */
const needs: Omit<BuildNeeds, 'marker'> = { what: 'the CNI tools', binary: 30, buildCache: 200, modules: 120 }

/**
 * cnitool and the plugins bridge, static and tuning: those of CNI_PATH where all four stand there and speak CNI 1.0.0, else
 * built from the Go module proxy with progress to `log` (a minute at most, once for each user and version).
 * Rejects with `NO_TOOLCHAIN`, `NO_DISK_SPACE` or `BUILD_FAILED`.
 */
export async function ensureCniTools(options: EnsureOptions = {}): Promise<CniTools> {
  const own = await findOwn(options)
  if (own) return own
  const names = Object.keys(targets)
  const sources = await readGoSources({
    folder: 'go-tools/cni',
    files: ['go.mod', 'go.sum'],
    targets: Object.values(targets),
    flags: () => ['-trimpath', '-buildvcs=false', '-ldflags', '-s -w'],
  })
  const version = `cnitool ${sources.version(libraries)}, plugins ${sources.version(plugins)}`
  const marker = `${plugins}@${sources.version(plugins)}`
  const folder = (await ensureGoPrograms({ names, version, sources, needs: { ...needs, marker } }, options)) ?? noToolchain()
  return { cnitool: join(folder, 'cnitool'), cniPath: folder }
}

async function findOwn({ env = process.env, log = () => {} }: EnsureOptions): Promise<CniTools | undefined> {
  const cniPath = env.CNI_PATH
  if (!cniPath) return undefined
  const found = await Promise.all(Object.keys(targets).map(async (name) => [name, await findIn(cniPath, name)] as const))
  const missing = found.filter(([, path]) => path === undefined).map(([name]) => name)
  if (missing.length > 0) {
    log(`CNI_PATH (${cniPath}) has no ${missing.join(', ')}: building them instead`)
    return undefined
  }
  const paths = Object.fromEntries(found) as Record<keyof typeof targets, string>
  const mute = await Promise.all(
    [paths.bridge, paths.static, paths.tuning].map(async (path) => ((await speaks(path)) ? [] : [path])),
  )
  if (mute.flat().length === 0) return { cnitool: paths.cnitool, cniPath }
  log(`${mute.flat().join(', ')} does not speak CNI ${spokenVersion}: building others instead`)
  return undefined
}

async function findIn(path: string, name: string): Promise<string | undefined> {
  for (const folder of path.split(delimiter)) {
    const file = join(folder, name)
    const isThere = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (isThere) return file
  }
  return undefined
}

/** Asks the plugin as the specification has it (CNI_COMMAND=VERSION). */
async function speaks(plugin: string): Promise<boolean> {
  const asking = promisify(execFile)(plugin, [], { env: { CNI_COMMAND: 'VERSION' } })
  asking.child.stdin?.end(JSON.stringify({ cniVersion: spokenVersion }))
  try {
    const { supportedVersions } = JSON.parse((await asking).stdout) as { supportedVersions?: string[] }
    return supportedVersions?.includes(spokenVersion) === true
  } catch {
    return false
  }
}

function noToolchain(): never {
  throw new LocalplaneError(
    'NO_TOOLCHAIN',
    [
      'attaching workloads needs one of these, and none was found:',
      '  - Go 1.26 or later on PATH (https://go.dev/dl): the CNI tools are then built once, in a minute at most',
      `  - CNI_PATH: a folder with cnitool and the CNI plugins bridge, static and tuning (${plugins})`,
    ].join('\n'),
  )
}
