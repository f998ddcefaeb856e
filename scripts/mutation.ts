/**
 * Mutation run over the race and ownership modules of the runtime, with their scripted-transport tests only: proves that these
 * tests fail without the code. Writes docs/mutation.md; exit status 1 when a mutant survives that is not listed, with its
 * reason, in docs/mutation-accepted.json, or when a file has no killed mutant at all: then the tests have loaded another copy
 * than the mutated one (workspace links can do that), and the run proves nothing.
 *
 *   scripts/mutation.ts [FILE…]      only these modules (names without folder), without writing the page
 */

import { readFile, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import path from 'node:path'
import { Stryker } from '@stryker-mutator/core'

const root = path.resolve(import.meta.dirname, '..')
const folder = 'packages/runtime/src'
const modules = [
  'races.ts',
  'write-refusal.ts',
  'write-signals.ts',
  'object-writer.ts',
  'status-writer.ts',
  'status-intent.ts',
  'status-memory.ts',
  'managed-fields.ts',
  'conflict-teller.ts',
  'fenced-transport.ts',
  'together.ts',
]
const tests = [
  'races',
  'object-writer',
  'status-writer',
  'status-intent',
  'status-memory',
  'managed-fields',
  'conflict-teller',
  'write-',
  'fenced',
  'together',
]

type Result = Awaited<ReturnType<Stryker['runMutationTest']>>[number]
type Accepted = { file: string; mutant: string; why: string }

const chosen = process.argv.slice(2)
const mutated = chosen.length > 0 ? chosen : modules
const started = performance.now()
const results = await new Stryker({
  mutate: mutated.map((file) => `${folder}/${file}`),
  testRunner: 'command',
  commandRunner: {
    command: `node_modules/.bin/node --test --test-concurrency=1 ${tests.map((name) => `'${folder}/${name}*.test.ts'`).join(' ')}`,
  },
  ignorePatterns: ['config', 'docs', 'bench', 'e2e', 'deploy', '.local'],
  concurrency: Math.max(1, Math.min(2, availableParallelism())),
  timeoutMS: 20_000,
  reporters: ['progress-append-only'],
  tempDirName: '.stryker-tmp',
  // TypeScript 7 has no JavaScript API, which the rewriting of a tsconfig would need; nothing is compiled here anyway.
  tsconfigFile: 'none.json',
  allowConsoleColors: false,
  mutator: { excludedMutations: ['StringLiteral'] },
} as never).runMutationTest()

const accepted: Accepted[] = JSON.parse(await readFile(path.join(root, 'docs/mutation-accepted.json'), 'utf8'))
const killed = (result: Result) => result.status === 'Killed' || result.status === 'Timeout'
const counted = results.filter(({ status }) => status !== 'Ignored' && status !== 'CompileError')
const survivors = await Promise.all(counted.filter((result) => !killed(result)).map(describe))
const unlisted = survivors.filter(({ file, mutant }) => !accepted.some((one) => one.file === file && one.mutant === mutant))
const unproved = mutated.filter((file) => {
  const own = counted.filter((result) => path.basename(result.fileName) === file)
  return own.length > 0 && !own.some(killed)
})

const minutes = ((performance.now() - started) / 60_000).toFixed(1)
if (chosen.length === 0) await writeFile(path.join(root, 'docs/mutation.md'), page())
for (const { file, mutant } of unlisted) console.log(`survived: ${file} ${mutant}`)
for (const file of unproved) console.log(`${file}: not one mutant was killed: the tests do not load the mutated copy`)
console.log(
  `${counted.filter(killed).length} of ${counted.length} mutants killed, ${survivors.length - unlisted.length} accepted, ${unlisted.length} survived, in ${minutes} min`,
)
process.exit(unlisted.length + unproved.length > 0 ? 1 : 0)

/** A mutant as one line that stays the same when lines above it move: the source line, and what it became. */
async function describe(result: Result): Promise<{ file: string; mutant: string }> {
  const text = await readFile(path.join(root, folder, path.basename(result.fileName)), 'utf8')
  const line = text.split('\n')[result.location.start.line - 1]?.trim() ?? ''
  const became = result.replacement.replace(/\s+/g, ' ').slice(0, 80)
  return { file: path.basename(result.fileName), mutant: `\`${line}\` → ${result.mutatorName}: \`${became}\`` }
}

function page(): string {
  const rows = modules.map((file) => {
    const own = counted.filter((result) => path.basename(result.fileName) === file)
    const why = accepted.filter((one) => one.file === file && survivors.some(({ mutant }) => mutant === one.mutant))
    return `| \`${file}\` | ${own.length} | ${own.filter(killed).length} | ${why.length} |`
  })
  const reasons = accepted
    .filter((one) => survivors.some(({ file, mutant }) => file === one.file && mutant === one.mutant))
    .map(({ file, mutant, why }) => `- \`${file}\`: ${mutant}\n  ${why}`)
  return [
    '# Mutation run',
    '',
    'Written by `npm run mutation`: each module of the runtime that decides about races and ownership is changed in one place at a',
    'time, and the unit tests with the scripted transport must notice. String literals are left as they are (messages).',
    '',
    '| module | mutants | killed | accepted |',
    '|---|---|---|---|',
    ...rows,
    '',
    '## Accepted survivors',
    '',
    ...(reasons.length > 0 ? reasons : ['None.']),
    '',
  ].join('\n')
}
