/**
 * `npm run crashpoints`: each scenario again and again, with a process killed at each of its writes.
 *
 *   crashpoints/main.ts [--addresses builtin|ipam] [--process nso|galactic] [--scenario NAME,…] [--mode before|after|lost|late,…]
 *                       [--sample K --seed N] [--only N] [--lanes N] [--patience SECONDS]
 *
 * Exit status 0 when every world ended as it should, 1 when not, 2 when it was asked for wrongly.
 */
import process from 'node:process'
import { parseArgs } from 'node:util'
import { type Mode, modes } from './interception.ts'
import { playsFor } from './plays.ts'
import { isGood, linesOf } from './report.ts'
import { type ProgramName, programs } from './rig.ts'
import { type RunOptions, seconds, tryPoints } from './run.ts'

const { values: given } = parseArgs({
  options: {
    addresses: { type: 'string', default: 'builtin' },
    process: { type: 'string', default: 'nso' },
    scenario: { type: 'string' },
    mode: { type: 'string' },
    sample: { type: 'string' },
    seed: { type: 'string' },
    only: { type: 'string' },
    lanes: { type: 'string', default: '2' },
    patience: { type: 'string', default: '60' },
  },
})

const stop = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const)
  process.once(name, () => {
    console.log('\nstopping …')
    stop.abort(new Error(`stopped by ${name}`))
  })
process.exitCode = await run()

async function run(): Promise<number> {
  const asked = readOptions()
  if (typeof asked === 'string') {
    console.error(asked)
    return 2
  }
  const begun = performance.now()
  console.log(`seed ${asked.seed}`)
  try {
    const report = await tryPoints(asked)
    for (const line of linesOf(asked, report)) console.log(line)
    console.log(`${report.tried.length} points in ${seconds(performance.now() - begun)}${report.complete ? '' : ', not all'}`)
    return isGood(report) ? 0 : 1
  } catch (error) {
    if (!stop.signal.aborted) console.error(error)
    return 1
  }
}

/** A sentence: what is wrong with them. */
function readOptions(): RunOptions | string {
  const { addresses, process: program, seed = String(Math.floor(Math.random() * 2 ** 31)) } = given
  if (addresses !== 'builtin' && addresses !== 'ipam') return `--addresses ${addresses}: there are builtin, ipam`
  if (!isProgram(program)) return `--process ${program}: there are ${programs.join(', ')}`
  const plays = playsFor(addresses)
  const names = given.scenario?.split(',') ?? plays.map(({ name }) => name)
  const unknown = names.find((name) => !plays.some((play) => play.name === name))
  if (unknown !== undefined) return `--scenario ${unknown}: there are ${plays.map(({ name }) => name).join(', ')}`
  const wanted = given.mode?.split(',') ?? [...modes]
  if (!wanted.every(isMode)) return `--mode ${given.mode}: there are ${modes.join(', ')}`
  const numbers = { seed, sample: given.sample, only: given.only, lanes: given.lanes, patience: given.patience }
  const wrong = Object.entries(numbers).find(([, text]) => text !== undefined && !/^\d+$/.test(text))
  if (wrong) return `--${wrong[0]} ${wrong[1]}: not a number`
  return {
    ...{ addresses, program, scenarios: plays.filter(({ name }) => names.includes(name)), modes: wanted },
    ...{ seed: Number(seed), sample: numberOf(given.sample), only: numberOf(given.only), lanes: Number(given.lanes) },
    ...{ patienceMs: 1000 * Number(given.patience), print: (line) => console.log(line), signal: stop.signal },
  }
}

function numberOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text)
}

function isProgram(text: string): text is ProgramName {
  return programs.some((each) => each === text)
}

function isMode(text: string): text is Mode {
  return modes.some((each) => each === text)
}
