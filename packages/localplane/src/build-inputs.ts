/** What a built binary depends on, and the name of its place in the cache that follows from it. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export type GoSources = {
  /** Of go.mod. */
  dir: string
  /** The packages to build: `.`, or import paths of ones that go.mod pins. */
  targets: readonly string[]
  /** Of the files and the build flags. */
  hash: string
  /** Modules that go.mod requires: an upper bound of what is downloaded. */
  moduleCount: number
  flags: string[]
}

/** With its `v`, as go.mod pins a module. */
type VersionOf = (module: string) => string

type Inputs = {
  dir?: string
  folder: string
  files: readonly string[]
  targets: readonly string[]
  flags: (version: VersionOf) => string[]
}

/** `folder` is one of this package; `dir` stands for a copy of it. */
export async function readGoSources({
  folder,
  dir = fileURLToPath(new URL(`../${folder}`, import.meta.url)),
  files,
  targets,
  flags: flagsFor,
}: Inputs): Promise<GoSources & { version: VersionOf }> {
  const texts = await Promise.all(files.map((file) => readFile(join(dir, file), 'utf8')))
  const goMod = texts[files.indexOf('go.mod')] ?? ''
  const lines = goMod.split('\n')
  const version = (module: string) =>
    lines
      .map((line) =>
        line
          .trim()
          .replace(/^require /, '')
          .split(' '),
      )
      .find(([name]) => name === module)?.[1] ?? 'v0.0.0'
  const flags = flagsFor(version)
  const hash = createHash('sha256')
  for (const text of [...texts, ...flags]) hash.update(text).update('\0')
  const moduleCount = lines.filter((line) => /^\t\S+ v\S+/.test(line)).length
  return { dir, targets, hash: hash.digest('hex').slice(0, 32), moduleCount, flags, version }
}

/** The control plane's. */
export async function readSources(dir?: string): Promise<GoSources & { kubernetesVersion: string }> {
  const kubernetes = 'k8s.io/kubernetes'
  const sources = await readGoSources({
    folder: 'control-plane',
    files: ['main.go', 'go.mod', 'go.sum'],
    targets: ['.'],
    flags: (version) => buildFlags(version(kubernetes)),
    ...(dir === undefined ? {} : { dir }),
  })
  return { ...sources, kubernetesVersion: sources.version(kubernetes) }
}

/** Without them the server calls itself v0.0.0, and clients that ask for its version are misled. */
export function buildFlags(kubernetesVersion: string): string[] {
  const [major = '0', minor = '0'] = kubernetesVersion.slice(1).split('.')
  const facts = { gitVersion: kubernetesVersion, gitMajor: major, gitMinor: minor, gitTreeState: 'clean' }
  const set = Object.entries(facts).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`)
  return ['-trimpath', '-buildvcs=false', '-ldflags', ['-s', '-w', ...set].join(' ')]
}

/** `goVersion` as `go version` prints it after its first two words: `go1.26.0 linux/amd64`. */
export function cacheKey(sources: Pick<GoSources, 'hash'>, goVersion: string): string {
  return `${sources.hash}-${goVersion.replace(/[^A-Za-z0-9.]+/g, '-')}`
}
