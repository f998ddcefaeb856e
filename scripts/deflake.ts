/**
 * Runs one test file again and again, in random order with a new seed each time, until it fails; prints the seed.
 *
 *   scripts/deflake.ts FILE [RUNS]      RUNS: how often at most (default 100)
 */
import { spawnSync } from 'node:child_process'

const [file, runs = '100'] = process.argv.slice(2)
if (!file || !Number.isInteger(Number(runs))) {
  console.error('usage: npm run deflake -- FILE [RUNS]')
  process.exit(2)
}
for (let run = 1; run <= Number(runs); run++) {
  const seed = Math.floor(Math.random() * 2 ** 31)
  const args = ['--test', '--test-reporter=dot', `--test-random-seed=${seed}`, file]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', maxBuffer: 2 ** 28 })
  process.stdout.write(status === 0 ? '.' : '')
  if (status === 0) continue
  console.log(`\n${stdout}${stderr}\nrun ${run} failed; the same order again:\n  node ${args.join(' ')}`)
  process.exit(1)
}
console.log(`\n${runs} runs, none failed`)
