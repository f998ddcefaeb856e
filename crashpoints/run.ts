/** Tries the points of a matrix on one or more systems side by side, and tells of each. */
import { eventually } from 'kube-localplane/testing'
import { namespaceKind } from '../scenarios/places.ts'
import type { AddressMode } from '../scenarios/scenario.ts'
import { modes as allModes, type Mode } from './interception.ts'
import { type Point, pointsOf, random, sample } from './matrix.ts'
import { type Play, type PointResult, runPoint } from './point.ts'
import { type ProgramName, type Rig, startRig } from './rig.ts'

export type RunOptions = {
  readonly addresses: AddressMode
  readonly program: ProgramName
  readonly scenarios: readonly Play[]
  readonly modes: readonly Mode[]
  /** Chooses the sample. */
  readonly seed: number
  /** Absent: all points. */
  readonly sample?: number | undefined
  /** Only this write of each scenario. */
  readonly only?: number | undefined
  /** Systems side by side. */
  readonly lanes: number
  readonly patienceMs: number
  readonly print: (line: string) => void
  readonly signal: AbortSignal
}

/** A run in which nothing is hit: how many writes there are, and how the world ends. */
export type Calm = { readonly scenario: Play; readonly result: PointResult }
export type Tried = Point & { readonly result: PointResult }

export type Report = {
  readonly calm: readonly Calm[]
  readonly tried: readonly Tried[]
  /** Sentences of what belongs to no point. */
  readonly failures: readonly string[]
  /** Everything was tried that was to be. */
  readonly complete: boolean
}

/** Rejects only where no system can be started. */
export async function tryPoints(options: RunOptions): Promise<Report> {
  const { print, signal } = options
  const failures: string[] = []
  const lanes = await Promise.all(Array.from({ length: options.lanes }, () => openLane(options, failures)))
  const [first] = lanes
  if (!first) throw new Error('at least one lane is needed')
  const tried: Tried[] = []
  let calm: Calm[] = []
  let complete = false
  try {
    calm = await runCalmly(options, first)
    const points = choose(options, calm)
    sayEstimate(options, calm, points)
    const queue = [...points]
    await Promise.all(lanes.map((lane) => workOff({ options, lane, queue, calm, tried })))
    complete = !signal.aborted
  } catch (error) {
    if (!signal.aborted) failures.push(String(error))
  } finally {
    await Promise.all(lanes.map((lane) => lane.close()))
  }
  for (const failure of failures) print(failure)
  return { calm, tried, failures, complete }
}

type Lane = {
  rig(): Rig
  /** Throws away a system in which something went wrong, since what is left there would disturb the points that follow. */
  renew(): Promise<void>
  close(): Promise<void>
}

async function openLane(options: RunOptions, failures: string[]): Promise<Lane> {
  const { addresses: mode, program, patienceMs, signal, print: log } = options
  const start = () => startRig({ mode, program, patienceMs, log, signal })
  let rig = await start()
  return {
    rig: () => rig,
    async renew() {
      await rig.stop()
      rig = await start()
    },
    async close() {
      const left = signal.aborted ? '' : await namespacesLeft(rig)
      if (left !== '') failures.push(left)
      await rig.stop()
    },
  }
}

/** Of runs that are over: their networks and what the data plane has for them go with them, when no finalizer is stuck. */
async function namespacesLeft({ client, signal }: Rig): Promise<string> {
  const gone = async () => {
    const { items } = await client.list(namespaceKind, {}, signal)
    const going = items.filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
    if (going.length > 0) throw new Error(`namespaces ${going.map(({ metadata }) => metadata.name).join(', ')} stay`)
    return true
  }
  return await eventually('all namespaces of runs are gone', gone, { timeoutMs: 120_000, everyMs: 200, signal }).then(
    () => '',
    (error: unknown) => String(error),
  )
}

/** Twice, since the first run after a start may find more to do; the second tells. */
async function runCalmly({ scenarios, patienceMs, print, signal }: RunOptions, lane: Lane): Promise<Calm[]> {
  const calm: Calm[] = []
  for (const scenario of scenarios) {
    if (signal.aborted) break
    const result = await runPoint(lane.rig(), { scenario, patienceMs })
    calm.push({ scenario, result })
    print(`${scenario.name}: ${result.writes.length} writes, ${seconds(result.ms)} when nothing is killed`)
    if (result.failures.length === 0) continue
    for (const failure of result.failures) print(`  ${failure}`)
    await lane.renew()
  }
  return calm
}

function choose({ modes, seed, sample: count, only }: RunOptions, calm: readonly Calm[]): Point[] {
  const sound = calm.filter(({ result }) => result.failures.length === 0)
  // One more than was counted: whether there are more shows when that one is hit.
  const all = sound.flatMap(({ scenario, result }) =>
    pointsOf(
      scenario,
      result.writes.length + (count === undefined ? 1 : 0),
      allModes.filter((mode) => modes.includes(mode)),
    ),
  )
  if (only !== undefined) return sound.flatMap(({ scenario }) => modes.map((mode) => ({ scenario, mode, at: only })))
  return count === undefined ? all : sample(all, count, random(seed))
}

/** A successor needs so long to come to work, on an idle machine. */
const restartMs = 1500

function sayEstimate({ print, lanes }: RunOptions, calm: readonly Calm[], points: readonly Point[]): void {
  const took = new Map(calm.map(({ scenario, result }) => [scenario, result.ms]))
  const each = points.map(({ scenario, mode }) => (took.get(scenario) ?? 0) + (mode === 'lost' ? 0 : restartMs))
  const ms = each.reduce((sum, one) => sum + one, 0) / lanes
  print(`${points.length} points, about ${Math.ceil(ms / 60_000)} min`)
}

type Work = { options: RunOptions; lane: Lane; queue: Point[]; calm: readonly Calm[]; tried: Tried[] }

async function workOff({ options, lane, queue, calm, tried }: Work): Promise<void> {
  const { patienceMs, print, signal, only, sample: count } = options
  const goesOn = only === undefined && count === undefined
  for (let point = queue.shift(); point && !signal.aborted; point = queue.shift()) {
    const { scenario, mode, at } = point
    const before = calm.find((each) => each.scenario === scenario)?.result
    const calmShape = before ? { calmShape: before.shape } : {}
    const result = await runPoint(lane.rig(), { scenario, patienceMs, hit: { mode, at }, ...calmShape })
    if (signal.aborted) return
    tried.push({ ...point, result })
    print(lineOf(options, point, before?.writes.length ?? 0, result))
    if (goesOn && result.struck && at > (before?.writes.length ?? 0)) queue.unshift({ scenario, mode, at: at + 1 })
    if (result.failures.length > 0) await lane.renew()
  }
}

function lineOf({ addresses, program }: RunOptions, { scenario, mode, at }: Point, count: number, result: PointResult): string {
  const where = `${addresses} ${program} ${scenario.name} ${mode} ${at}/${count}`
  const what = result.struck ?? 'there was no such write'
  const how = result.failures.length === 0 ? 'ok' : `FAILED\n  ${result.failures.join('\n  ')}`
  return `${where} ${what}: ${how} (${seconds(result.ms)})`
}

export const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`
