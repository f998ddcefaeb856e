/**
 * Mutation run over the modules that decide about races and ownership, with their scripted-transport tests only: proves that
 * these tests fail without the code. Writes docs/mutation.md. First one deadly mutant is planted in each module: where the
 * tests pass all the same they have loaded another copy (workspace links can do that), and a run would prove nothing. Exit
 * status 1 then, and when a mutant survives that is not listed, with its reason, in docs/mutation-accepted.json.
 *
 *   scripts/mutation.ts [FILE…]      only these modules (names without folder), without writing the page
 */
import { spawn } from 'node:child_process'
import { cp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import path from 'node:path'
import { Stryker } from '@stryker-mutator/core'
import { type MutationGroup, mutationGroups } from './mutation-modules.ts'

type Result = Awaited<ReturnType<Stryker['runMutationTest']>>[number]
type Mutant = { file: string; mutant: string; status: string }
type Accepted = { file: string; mutant: string; why: string }

const root = path.resolve(import.meta.dirname, '..')
const temporary = '.stryker-tmp'
/** What tests beside the code take from a folder of tests that need a server. */
const builders = ['packages/operator/test/objects.ts']
const chosen = process.argv.slice(2)
const groups = mutationGroups
  .map((group) => ({ ...group, modules: group.modules.filter((file) => chosen.length === 0 || chosen.includes(file)) }))
  .filter(({ modules }) => modules.length > 0)
const started = performance.now()
const isKilled = ({ status }: Mutant) => status === 'Killed' || status === 'Timeout'
const isSame = (a: Accepted | Mutant) => (b: Accepted | Mutant) => a.file === b.file && a.mutant === b.mutant
const isUnlisted = (mutant: Mutant) => !isKilled(mutant) && !accepted.some(isSame(mutant))
const accepted: Accepted[] = JSON.parse(await readFile(path.join(root, 'docs/mutation-accepted.json'), 'utf8'))

await requireDeadly()
const mutants: Mutant[] = []
for (const group of groups) mutants.push(...(await mutate(group)))

const survivors = mutants.filter((each) => !isKilled(each))
const unlisted = survivors.filter(isUnlisted)
const files = groups.flatMap(({ modules }) => modules)
const stale = accepted.filter((each) => files.includes(each.file) && !survivors.some(isSame(each)))
// A test that failed shows that the changed copy runs; a mutant that never ended does not.
const unproved = files.filter((file) => !mutants.some((each) => each.file === file && each.status === 'Killed'))

const minutes = ((performance.now() - started) / 60_000).toFixed(1)
if (chosen.length === 0) await writeFile(path.join(root, 'docs/mutation.md'), page())
for (const { file, mutant } of stale) console.log(`accepted, but it did not survive: ${file} ${mutant}`)
for (const file of unproved) console.log(`${file}: not one mutant was killed: the tests do not load the changed copy`)
console.log(
  `${mutants.filter(isKilled).length} of ${mutants.length} mutants killed, ${survivors.length - unlisted.length} accepted, ${unlisted.length} survived, in ${minutes} min`,
)
process.exit(unlisted.length + unproved.length > 0 ? 1 : 0)

/** The command that runs a group's tests, below the root of a copy of the repository. */
function testsOf({ folder, tests }: MutationGroup): string {
  const [only, ...more] = tests.map((file) => `${folder}/${file}`)
  // A test that waits for ever keeps its process alive: it is to fail, not to run into the limit of the whole run.
  const node =
    'node_modules/.bin/node --import ./scripts/fixed-seed.ts --test-reporter=./scripts/first-failure.ts --test-timeout=3000'
  return more.length === 0 ? `${node} ${only}` : `${node} --test --test-isolation=none ${[only, ...more].join(' ')}`
}

/** Plants one deadly mutant per module in a copy of its own; exits when one is not noticed. */
async function requireDeadly(): Promise<void> {
  const copy = path.join(root, temporary, 'deadly')
  await rm(copy, { recursive: true, force: true })
  await mkdir(copy, { recursive: true })
  try {
    await symlink(path.join(root, 'node_modules'), path.join(copy, 'node_modules'))
    for (const folder of new Set(groups.map(({ folder }) => folder)))
      await cp(path.join(root, folder, '..'), path.join(copy, folder, '..'), { recursive: true })
    for (const each of ['package.json', 'scripts', ...builders])
      await cp(path.join(root, each), path.join(copy, each), { recursive: true })
    const unnoticed: string[] = []
    for (const group of groups) {
      if (!(await passes(group, copy))) throw new Error(`the tests fail without any mutant: ${testsOf(group)}`)
      for (const module of group.modules) if (await survivesDeath(group, module, copy)) unnoticed.push(module)
    }
    for (const module of unnoticed) console.log(`${module}: a deadly mutant was not noticed`)
    if (unnoticed.length > 0) process.exit(1)
    console.log(`a deadly mutant was noticed in each of ${groups.flatMap(({ modules }) => modules).length} modules`)
  } finally {
    await rm(copy, { recursive: true, force: true })
  }
}

async function survivesDeath(group: MutationGroup, module: string, copy: string): Promise<boolean> {
  const file = path.join(copy, group.folder, module)
  const text = await readFile(file, 'utf8')
  await writeFile(file, `${text}\nthrow new Error('a deadly mutant')\n`)
  const isUnnoticed = await passes(group, copy)
  await writeFile(file, text)
  return isUnnoticed
}

async function passes(group: MutationGroup, cwd: string): Promise<boolean> {
  const child = spawn(testsOf(group), { cwd, shell: true, stdio: 'ignore', timeout: 120_000 })
  return (await new Promise((resolve) => child.on('close', resolve))) === 0
}

async function mutate(group: MutationGroup): Promise<Mutant[]> {
  const { folder, modules } = group
  const results = await new Stryker({
    mutate: modules.map((file) => `${folder}/${file}`),
    testRunner: 'command',
    commandRunner: { command: testsOf(group) },
    plugins: ['./scripts/mutation-messages.ts'],
    ignorers: ['messages'],
    ignorePatterns: [
      'config',
      'docs',
      'bench',
      'e2e',
      'deploy',
      '.local',
      'packages/*/test',
      ...builders.map((file) => `!${file}`),
      'packages/localplane',
    ],
    concurrency: Math.max(1, Math.min(2, availableParallelism())),
    timeoutMS: 10_000,
    reporters: ['dots'],
    logLevel: 'error',
    tempDirName: temporary,
    // TypeScript 7 has no JavaScript API, which the rewriting of a tsconfig would need; nothing is compiled here anyway.
    tsconfigFile: 'none.json',
    allowConsoleColors: false,
  } as never).runMutationTest()
  const counted = results.filter(({ status }) => status !== 'Ignored')
  const mutants = await Promise.all(counted.map(describe))
  const killed = mutants.filter(isKilled).length
  console.log(
    `${modules.join(', ')}: ${killed} of ${mutants.length} killed, ${Math.round((performance.now() - started) / 1000)} s`,
  )
  for (const { file, mutant, status } of mutants.filter(isUnlisted)) console.log(`${status}: ${file} ${mutant}`)
  return mutants
}

/**
 * A mutant as one line that stays the same when lines above it move: the source line, the part of it, and what that became.
 * Of equal lines in one file each but the first carries its number.
 */
async function describe({ fileName, location: { start, end }, replacement, mutatorName, status }: Result): Promise<Mutant> {
  const all = (await readFile(path.resolve(root, fileName), 'utf8')).split('\n')
  const lines = all.slice(start.line - 1, end.line)
  const line = lines[0]?.trim() ?? ''
  const number = all.slice(0, start.line).filter((each) => each.trim() === line).length
  const text = lines.join('\n')
  const part = text.slice(start.column - 1, text.length - (lines.at(-1)?.length ?? 0) + end.column - 1)
  const where = `\`${line}\`${number > 1 ? ` (${number})` : ''}`
  const mutant = `${mutatorName} in ${where}: \`${short(part)}\` → \`${short(replacement ?? '')}\``
  return { file: path.basename(fileName), mutant, status }
}

function short(text: string): string {
  return text.replace(/\s+/g, ' ').slice(0, 80)
}

function page(): string {
  const rows = files.map((file) => {
    const own = mutants.filter((each) => each.file === file)
    const timedOut = own.filter(({ status }) => status === 'Timeout').length
    return `| \`${file}\` | ${own.length} | ${own.filter(isKilled).length} | ${timedOut} | ${own.filter((each) => accepted.some(isSame(each))).length} |`
  })
  const reasons = accepted
    .filter((one) => survivors.some(isSame(one)))
    .map(({ file, mutant, why }) => `- \`${file}\`: ${mutant}\n  ${why}`)
  return [
    '# Mutation run',
    '',
    'Written by `npm run mutation`: each module that decides about races and ownership is changed in one place at a time, and',
    'its unit tests with the scripted transport must notice. Texts for people (error messages, log lines) are left as they are.',
    'Before anything else one deadly mutant is planted in each module and must be noticed: the tests run the changed copy.',
    '',
    '| module | mutants | killed | of these never ended | accepted |',
    '|---|---|---|---|---|',
    ...rows,
    '',
    '## Accepted survivors',
    '',
    ...(reasons.length > 0 ? reasons : ['None.']),
    '',
  ].join('\n')
}
