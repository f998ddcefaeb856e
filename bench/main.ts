/**
 * `npm run bench`: the figures that this system promises, each measured and compared with its bound. Ratios and counts inside one
 * run, since absolute times say more about the machine. Exit status 1 and a last line that names what was missed.
 *
 *   bench/main.ts [--quick] [--only chain,latency,burst,rest,policy] [--json FILE]
 *
 * The floor (floor.ts) runs on the same API server at the same time, on copies of the chain's kinds under other groups: it
 * pays for the same server, store, schemas, finalizer policy and neighbours as the real chain, and nobody reacts to it. The
 * ownership policies judge the real chain only, so that their cost is part of every ratio.
 */
import { rmSync, writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { exitStatus, type Figure, lastLine, renderFigure } from './figures.ts'
import { installFloor, startFloor } from './floor.ts'
import { measureBurst, measureChain, measureLatency, measureRest, type Run, warmUp } from './measures.ts'
import { measurePolicy } from './policy.ts'
import { captureTemplates, startReal } from './real.ts'

const measures = {
  chain: measureChain,
  latency: measureLatency,
  burst: measureBurst,
  rest: measureRest,
  policy: measurePolicy,
} as const

const { values: options } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, only: { type: 'string' }, json: { type: 'string' } },
})
const wanted = options.only?.split(',') ?? Object.keys(measures)
for (const name of wanted) {
  if (name in measures) continue
  console.error(`--only ${name}: there are ${Object.keys(measures).join(', ')}`)
  process.exit(2)
}

const stop = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort(new Error(`stopped by ${name}`)))
const print = (line: string) => console.log(line)
process.exitCode = await run(stop.signal)

async function run(signal: AbortSignal): Promise<number> {
  const started = performance.now()
  const load = tellLoad()
  const dir = await mkdtemp(path.join(tmpdir(), 'nso-bench-'))
  const figures: Figure[] = []
  try {
    await measureAll(dir, figures, signal)
  } catch (error) {
    console.error(error)
    print(`the bench did not come to its end: ${error instanceof Error ? error.message : String(error)}`)
    return 1
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
  const seconds = Math.round((performance.now() - started) / 1000)
  if (options.json)
    writeFileSync(options.json, `${JSON.stringify({ load, seconds, quick: options.quick, figures }, undefined, 2)}\n`)
  print('')
  for (const figure of figures) print(renderFigure(figure))
  print(`\nin ${seconds} s`)
  print(lastLine(figures))
  return exitStatus(figures)
}

async function measureAll(dir: string, figures: Figure[], signal: AbortSignal): Promise<void> {
  const real = await startReal(path.join(dir, 'system'), print, signal)
  try {
    await installFloor(real.plane, signal)
    await real.prepare('model')
    const templates = await captureTemplates(real, 'model', signal)
    const floor = await startFloor(real.plane, { from: 'model', templates }, signal)
    try {
      const all: Run = { real, floor, quick: options.quick, print, signal }
      await warmUp(all)
      for (const [name, measure] of Object.entries(measures)) if (wanted.includes(name)) figures.push(...(await measure(all)))
    } finally {
      await floor.stop()
    }
  } finally {
    await real.stop()
  }
}

function tellLoad(): number {
  const [load = 0] = loadavg()
  const cpus = availableParallelism()
  print(`load of this machine (one minute): ${load.toFixed(2)} on ${cpus} processors`)
  if (load > cpus / 4) print('The machine is busy: ratios will be worse than they are, and are no verdict.')
  return load
}
