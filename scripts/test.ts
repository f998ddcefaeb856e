/**
 * All tests, in the order in which a mistake is cheapest to find: lint, types, generated files, unit tests, then
 * everything that needs the real API server, then the whole system. Ends with the ten slowest tests and one line
 * `N passed, N failed`; exit status 1 when anything failed.
 *
 *   scripts/test.ts [--only unit|api|e2e|static] [--soak] [FILTER…]     FILTER: part of a file's path
 */
import { spawn } from 'node:child_process'
import { glob } from 'node:fs/promises'
import path from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { parseArgs } from 'node:util'
import { kinds as nsoKinds } from '@nso/api'
import { kinds as galacticKinds, localKinds } from 'galactic'
import { ensureControlPlane, ensurePromtool, startPlane } from 'kube-localplane'

type Tally = { passed: number; failed: number; timed: { name: string; file: string; ms: number }[] }

const root = path.resolve(import.meta.dirname, '..')
const groups = {
  unit: [
    'packages/*/src/**/*.test.ts',
    'packages/ipam/stand-in/*.test.ts',
    'scripts/*.test.ts',
    'bench/*.test.ts',
    'scenarios/*.test.ts',
    'crashpoints/*.test.ts',
  ],
  api: ['packages/*/test/**/*.test.ts', 'deploy/**/*.test.ts'],
  e2e: ['e2e/**/*.test.ts'],
} as const
type Group = keyof typeof groups

/** Files that take longest begin first: a long one that begins last keeps the others' places empty. */
const longest = ['broken', 'races/claims', 'planes', 'write-a-data-plane', 'conformance', 'interrupted', 'up', 'existing-cluster']

/** Kinds whose every version tests hold against the ownership tables. */
const auditBodies = [...new Set([...nsoKinds, ...galacticKinds, ...localKinds].map(({ group }) => group))].map((group) => ({
  group,
}))

const { values: options, positionals: filters } = parseArgs({
  options: { only: { type: 'string' }, soak: { type: 'boolean', default: false } },
  allowPositionals: true,
})
if (options.soak) process.env.SOAK = '1'
// Hundreds of processes load the same modules.
process.env.NODE_COMPILE_CACHE ??= path.join(root, 'node_modules', '.cache', 'compiled')

const tally: Tally = { passed: 0, failed: 0, timed: [] }
const started = performance.now()
const wants = (group: string) => options.only === undefined || options.only === group

if (wants('static') && filters.length === 0) {
  await step('lint and format', 'biome', ['check', '.'])
  await step('types', 'tsc', ['--noEmit'])
  await step('generated files', 'node', ['scripts/generate.ts', '--verify'])
}
if (wants('unit')) await runFiles('unit', 4)
if (wants('api') || wants('e2e')) await withControlPlane()

for (const { name, file, ms } of tally.timed.sort((a, b) => b.ms - a.ms).slice(0, 10))
  console.log(`${(ms / 1000).toFixed(1).padStart(7)} s  ${name}  (${path.relative(root, file)})`)
console.log(`in ${Math.round((performance.now() - started) / 1000)} s`)
console.log(`${tally.passed} passed, ${tally.failed} failed`)
process.exit(tally.failed === 0 && tally.passed > 0 ? 0 : 1)

/** A command that must succeed; its output is shown when it does not. Counts as one test. */
async function step(name: string, command: string, args: readonly string[]): Promise<void> {
  const begun = performance.now()
  const child = spawn(path.join(root, 'node_modules', '.bin', command), args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  const output: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => output.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => output.push(chunk))
  const code = await new Promise<number>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (status) => resolve(status ?? 1))
  })
  const ms = performance.now() - begun
  if (code === 0) tally.passed++
  else {
    tally.failed++
    process.stdout.write(Buffer.concat(output))
  }
  console.log(`${code === 0 ? '✔' : '✖'} ${name} (${Math.round(ms)} ms)`)
}

async function filesOf(group: Group): Promise<string[]> {
  const files: string[] = []
  for await (const file of glob([...groups[group]], { cwd: root, exclude: (name) => name === 'node_modules' })) {
    if (filters.length === 0 || filters.some((filter) => file.includes(filter))) files.push(path.join(root, file))
  }
  return files.sort((one, other) => rank(one) - rank(other) || (one < other ? -1 : 1))
}

function rank(file: string): number {
  const at = longest.findIndex((part) => file.includes(`/${part}`))
  return at < 0 ? longest.length : at
}

/** Runs the files, `concurrency` at a time, each in its own process, and adds their leaf tests to the tally. */
async function runFiles(group: Group, concurrency: number): Promise<void> {
  const files = await filesOf(group)
  if (files.length === 0) return
  console.log(`${group}: ${files.length} files`)
  const stream = run({ files, concurrency, timeout: 600_000, cwd: root })
  stream.on('test:pass', ({ name, file, details, skip, todo }) => {
    if (details.type === 'suite' || isFile(name)) return
    // A skipped test proves nothing: it counts as a failure, so that nobody lives with one.
    if (skip !== undefined || todo !== undefined) tally.failed++
    else tally.passed++
    tally.timed.push({ name, file: file ?? '', ms: details.duration_ms })
  })
  stream.on('test:fail', ({ name, file, details }) => {
    if (details.type === 'suite') return
    tally.failed++
    tally.timed.push({ name, file: file ?? '', ms: details.duration_ms })
  })
  const reporter = stream.compose(spec)
  reporter.pipe(process.stdout, { end: false })
  await new Promise((resolve, reject) => reporter.on('end', resolve).on('error', reject))
}

function isFile(name: string): boolean {
  return path.isAbsolute(name) || name.endsWith('.test.ts')
}

/** Builds the control plane and promtool (visible progress, first use only), starts the one that tests share, and runs what needs it. */
async function withControlPlane(): Promise<void> {
  const log = (line: string) => console.log(line)
  await ensureControlPlane({ log })
  if (wants('api')) {
    // Without it the tests of the alerts fail and say so; the others need it not.
    await ensurePromtool({ log }).catch((error: Error) => log(error.message))
    await using plane = await startPlane({ name: 'shared', log, auditBodies })
    process.env.LOCALPLANE_SHARED = plane.dir
    await runFiles('api', 3)
    delete process.env.LOCALPLANE_SHARED
  }
  if (wants('e2e')) await runFiles('e2e', 3)
}
