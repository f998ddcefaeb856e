/** What the built binary depends on, and the name of its place in the cache that follows from it. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export type Sources = {
  dir: string
  /** Of the files and the build flags. */
  hash: string
  /** With its `v`. */
  kubernetesVersion: string
  /** Modules that go.mod requires: an upper bound of what is downloaded. */
  moduleCount: number
  flags: string[]
}

const files = ['main.go', 'go.mod', 'go.sum']

export async function readSources(dir = fileURLToPath(new URL('../control-plane', import.meta.url))): Promise<Sources> {
  const texts = await Promise.all(files.map((file) => readFile(join(dir, file), 'utf8')))
  const goMod = texts[1] ?? ''
  const kubernetesVersion = /k8s\.io\/kubernetes (v\S+)/.exec(goMod)?.[1] ?? 'v0.0.0'
  const flags = buildFlags(kubernetesVersion)
  const hash = createHash('sha256')
  for (const text of [...texts, ...flags]) hash.update(text).update('\0')
  const moduleCount = goMod.split('\n').filter((line) => /^\t\S+ v\S+/.test(line)).length
  return { dir, hash: hash.digest('hex').slice(0, 32), kubernetesVersion, moduleCount, flags }
}

/** Without them the server calls itself v0.0.0, and clients that ask for its version are misled. */
export function buildFlags(kubernetesVersion: string): string[] {
  const [major = '0', minor = '0'] = kubernetesVersion.slice(1).split('.')
  const facts = { gitVersion: kubernetesVersion, gitMajor: major, gitMinor: minor, gitTreeState: 'clean' }
  const set = Object.entries(facts).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`)
  return ['-trimpath', '-buildvcs=false', '-ldflags', ['-s', '-w', ...set].join(' ')]
}

/** `goVersion` as `go version` prints it after its first two words: `go1.26.0 linux/amd64`. */
export function cacheKey(sources: Pick<Sources, 'hash'>, goVersion: string): string {
  return `${sources.hash}-${goVersion.replace(/[^A-Za-z0-9.]+/g, '-')}`
}
