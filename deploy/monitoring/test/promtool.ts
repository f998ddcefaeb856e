/** Runs promtool on rules and on what should come of them. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensurePromtool } from 'kube-localplane'
import { stringify } from 'yaml'

export type Told = { ok: boolean; output: string }

let command: Promise<string> | undefined

/** The first call may build it, which takes a minute or two. */
export async function promtool(...args: string[]): Promise<Told> {
  command ??= ensurePromtool({ log: (line) => console.log(line) })
  const file = await command
  return new Promise((resolve) => {
    execFile(file, args, { maxBuffer: 2 ** 24 }, (error, stdout, stderr) =>
      resolve({ ok: error === null, output: stdout + stderr }),
    )
  })
}

/** Series by name and labels; values in promtool's notation, one a minute. */
export type World = Readonly<Record<string, string>>
/** An alert that fires, with the labels that tell which. */
export type Fires = { readonly alertname: string } & Readonly<Record<string, string>>
export type Row = { says: string; world: World; at: readonly (readonly [minute: number, fires: readonly Fires[]])[] }

/** Labels by which firing alerts are told apart. */
const telling = [
  ...['alertname', 'controller', 'resource', 'field', 'manager', 'reason', 'data_plane', 'policy', 'error_type', 'name'],
] as const

const labelsOf = (fires: Fires): string =>
  `{${Object.entries(fires)
    .map(([name, value]) => `${name}="${value}"`)
    .join(',')}}`

/** At each time exactly the named alerts fire, each once, and no other of the rules. */
function testOf({ says, world, at }: Row): object {
  return {
    name: says,
    interval: '1m',
    input_series: Object.entries(world).map(([series, values]) => ({ series, values })),
    promql_expr_test: at.map(([minute, fires]) => ({
      expr: `count by (${telling.join(', ')}) (ALERTS{alertstate="firing"})`,
      eval_time: `${minute}m`,
      exp_samples: fires.map((each) => ({ labels: labelsOf(each), value: 1 })),
    })),
  }
}

/** Rules, and what shall come of them. */
export type Trial = { rules: object; rows: readonly Row[] }

/** Whether the rows come out. Throws when promtool could not try them. */
export async function tried({ rules, rows }: Trial): Promise<Told> {
  const dir = await mkdtemp(join(tmpdir(), 'rules-'))
  try {
    await writeFile(join(dir, 'rules.yaml'), stringify(rules))
    const content = { rule_files: ['rules.yaml'], evaluation_interval: '1m', tests: rows.map(testOf) }
    const file = join(dir, 'test.yaml')
    await writeFile(file, stringify(content))
    const told = await promtool('test', 'rules', file)
    if (!told.ok && !/\bgot:/.test(told.output)) throw new Error(`promtool could not try the rules:\n${told.output}`)
    return told
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

/** `promtool check rules` on rules that are in no file. */
export async function checked(rules: object): Promise<Told> {
  const dir = await mkdtemp(join(tmpdir(), 'rules-'))
  try {
    await writeFile(join(dir, 'rules.yaml'), stringify(rules))
    return await promtool('check', 'rules', join(dir, 'rules.yaml'))
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}
