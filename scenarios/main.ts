/**
 * `npm run scenarios`: what the original's end-to-end suite tells, on the system of `npm start`. Exit status 1 when a scenario did
 * not hold, or a process counts what should not be.
 *
 *   scenarios/main.ts [NAME…] [--addresses builtin|ipam|both] [--kubeconfig FILE] [--list]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { keepLogs, messageOf } from '@nso/cli/failure'
import { stateFolder } from '@nso/cli/instances'
import { statusOf, stopSignal } from '@nso/cli/signals'
import { type Asked, BadArguments, readArguments } from './arguments.ts'
import type { Played } from './play.ts'
import { renderList, renderPlayed, renderTable } from './render.ts'
import { type RunResult, runMode } from './run.ts'
import type { AddressMode } from './scenario.ts'

const print = (line: string) => console.log(line)

/** The mode's system and folder are gone when it settles; logs are kept when something went wrong. */
async function play(mode: AddressMode, { chosen, kubeconfig }: Asked, signal: AbortSignal): Promise<RunResult> {
  const dir = mkdtempSync(path.join(tmpdir(), 'nso-scenarios-'))
  const keep = (error: unknown) => print(keepLogs(error, dir, path.join(stateFolder(), 'last-failure')))
  const told = (played: Played) => {
    if (!signal.aborted) print(renderPlayed(played))
  }
  try {
    const result = await runMode({
      mode,
      scenarios: chosen,
      dir,
      kubeconfig,
      log: (line) => print(`${mode}: ${line}`),
      told,
      signal,
    })
    const failed = result.played.find(({ error }) => error !== undefined)
    if (failed || result.complaints.length > 0) keep(failed?.error ?? new Error(result.complaints.join('\n')))
    return result
  } catch (error) {
    if (!signal.aborted) keep(error)
    throw error
  } finally {
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
  }
}

async function main(args: readonly string[]): Promise<number> {
  const asked = readArguments(args)
  if (asked.list) {
    print(renderList(asked.chosen))
    return 0
  }
  const signal = stopSignal()
  const results: RunResult[] = []
  try {
    for (const mode of asked.modes) {
      if (asked.chosen.some(({ modes }) => modes.includes(mode))) results.push(await play(mode, asked, signal))
    }
  } catch (error) {
    if (signal.aborted) return statusOf(signal)
    print(messageOf(error))
    return 1
  }
  print(`\n${renderTable(results.flatMap(({ played }) => played))}`)
  const complaints = results.flatMap((result) => result.complaints)
  for (const complaint of complaints) print(complaint)
  const failed = results.flatMap(({ played }) => played).filter(({ error }) => error !== undefined)
  return failed.length + complaints.length > 0 ? 1 : 0
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  console.error(error instanceof BadArguments ? error.message : error)
  process.exitCode = 2
}
