/** One point: a scenario, run once, during which the program is hit at its n-th write; and what must be true in the end. */
import type { KubeObject } from 'kube-control-loop'
import { eventually } from 'kube-localplane/testing'
import { namespaceKind } from '../scenarios/places.ts'
import type { Scenario } from '../scenarios/scenario.ts'
import type { OpenWorld } from '../scenarios/world.ts'
import { differences, leftIn, lookAt, type Place, shapeOf, type World } from './end-of-world.ts'
import type { Seen } from './follow.ts'
import { faultsInHistory } from './history.ts'
import type { Incarnation } from './incarnation.ts'
import type { Mode } from './interception.ts'
import { complaintsIn } from './pages.ts'
import type { Rig } from './rig.ts'
import { showWrite, type Write } from './writes.ts'

/** A scenario of this tool. `whole`: the coming and going of its network is counted too. */
export type Play = Scenario & { readonly whole?: boolean }

export type PointRequest = {
  readonly scenario: Play
  /** Absent: nothing is hit, writes are counted. */
  readonly hit?: { readonly mode: Mode; readonly at: number }
  /** What the world looks like when nothing is hit. */
  readonly calmShape?: readonly string[]
  readonly patienceMs: number
}

export type PointResult = {
  /** Counted until the end, of the process that was at work in the beginning. */
  readonly writes: readonly Write[]
  readonly leftOut: ReadonlyMap<string, number>
  /** The write that was hit; undefined when there was no such one. */
  readonly struck: string | undefined
  readonly shape: readonly string[]
  /** Sentences; none when all is well. */
  readonly failures: readonly string[]
  readonly ms: number
}

type Run = {
  rig: Rig
  request: PointRequest
  first: Incarnation
  /** Both processes, in order. */
  processes: Incarnation[]
  /** Namespaces that were there before. */
  earlier: ReadonlySet<string>
  /** What was advertised before. */
  advertised: readonly KubeObject[]
  /** What the first process had to complain of before. */
  complaints: ReadonlyMap<string, number>
  /** Rejects when a successor does not come to work. */
  trouble: () => Promise<never>
  /** Resolves when whoever was killed has a successor at work. */
  comeback: Promise<void>
  /** Lets a late write through, if there is one, and resolves when it was answered. */
  late: () => Promise<unknown>
}

export async function runPoint(rig: Rig, request: PointRequest): Promise<PointResult> {
  const begun = performance.now()
  const { scenario, hit } = request
  await rig.current.ready(rig.signal)
  if (hit && hit.mode !== 'lost') await rig.standBy()
  const run = await prepare(rig, request)
  const failures: string[] = []
  const steps: string[] = []
  const said = (error: unknown) => void failures.push(`${steps.at(-1) ?? 'in the beginning'}: ${reasonOf(error)}`)
  const played = await play(run, (sentence) => void steps.push(sentence)).catch(said)
  // What goes with the network is nobody's point: it is not hit any more.
  for (const { interception } of run.processes) interception.disarm()
  const { writes, struck, leftOut } = run.first.interception
  failures.push(...(await judge(run, rig.seen()).catch((error: unknown) => [`a process cannot be asked: ${reasonOf(error)}`])))
  if (!scenario.whole && failures.length === 0) await played?.world.end().catch(said)
  const shape = played?.shape ?? []
  return { writes, leftOut, struck: struck && showWrite(struck), shape, failures, ms: performance.now() - begun }
}

type Played = { world: OpenWorld; shape: string[] }

/** Resolves with the shape of the world in the end. */
async function play(run: Run, say: (sentence: string) => void): Promise<Played> {
  const { rig, request } = run
  const { scenario } = request
  if (scenario.whole) arm(run)
  const world = await rig.stage.open(scenario, say)
  if (!scenario.whole) arm(run)
  const { trouble } = run
  await Promise.race([scenario.run(world), trouble(), rig.broken])
  await run.late()
  await back(run)
  const shape = await Promise.race([settled(run, world), trouble(), rig.broken])
  if (scenario.whole) await Promise.race([world.end(), trouble(), rig.broken])
  await back(run)
  await run.late()
  return { world, shape }
}

async function prepare(rig: Rig, request: PointRequest): Promise<Run> {
  const first = rig.current
  const { items } = await rig.client.list(namespaceKind, {}, rig.signal)
  const { advertised } = await look(rig, [])
  const complaints = complaintsIn(await first.metrics())
  first.errors()
  rig.seen()
  return {
    ...{ rig, request, first, advertised, complaints, processes: [first] },
    earlier: new Set(items.map(({ metadata }) => metadata.name)),
    ...{ late: async () => {}, trouble: () => new Promise<never>(() => {}), comeback: Promise.resolve() },
  }
}

/** From now on writes count, and the n-th is hit. */
function arm(run: Run): void {
  const { rig, request, first, earlier } = run
  const isEarlier = (namespace: string) => earlier.has(namespace)
  const { hit } = request
  if (!hit) {
    first.interception.arm(undefined, isEarlier)
    return
  }
  const trouble = Promise.withResolvers<never>()
  trouble.promise.catch(() => {})
  run.trouble = () => trouble.promise
  const comeback = Promise.withResolvers<void>()
  run.comeback = comeback.promise
  const succeed = async () => {
    await first.gone()
    const successor = rig.succeed()
    run.processes.push(successor)
    successor.interception.arm(undefined, isEarlier)
    successor.interception.onAnswered(() => void run.late().catch(trouble.reject))
    successor.open()
    await successor.ready(rig.signal)
    comeback.resolve()
  }
  first.interception.arm(
    {
      ...hit,
      crash() {
        first.crash()
        void succeed().catch(trouble.reject)
      },
      whenLate(send) {
        let sent: Promise<unknown> | undefined
        run.late = () => {
          sent ??= send()
          return sent
        }
      },
    },
    isEarlier,
  )
}

/** A crash can fall on the last write of all, when the scenario has seen what it wanted. */
async function back({ first, request: { hit }, comeback, trouble }: Run): Promise<void> {
  if (first.interception.struck && hit?.mode !== 'lost') await Promise.race([comeback, trouble()])
}

async function look(rig: Rig, namespaces: readonly string[], serviceNamespaces: readonly string[] = []): Promise<World> {
  const place: Place = { client: rig.client, service: rig.service, namespaces, serviceNamespaces }
  return await lookAt(place, rig.signal)
}

/** Resolves with the shape of the world when nothing is left that was claimed, and all is as after a run in which nothing was hit. */
async function settled({ rig, request, earlier, advertised }: Run, world: OpenWorld): Promise<string[]> {
  const { items } = await rig.client.list(namespaceKind, {}, rig.signal)
  const added = items.map(({ metadata }) => metadata.name).filter((name) => !earlier.has(name))
  const own = added.filter((name) => name.startsWith(world.namespace))
  const names = [world.namespace, world.network]
  return await eventually(
    'the world ends as it does when nothing is killed',
    async () => {
      const there = await look(rig, own, own.map(world.serviceNamespace))
      const left = leftIn(there, advertised)
      if (left.length > 0) throw new Error(left.join('; '))
      const shape = shapeOf(there, names)
      const other = request.calmShape ? differences(request.calmShape, shape) : []
      if (other.length > 0) throw new Error(`it differs: ${other.join('; ')}`)
      return shape
    },
    { timeoutMs: request.patienceMs, everyMs: 50, signal: rig.signal },
  )
}

/** What was wrong on the way: at some moment of the world, or as the processes tell of themselves. */
async function judge(run: Run, seen: readonly Seen[]): Promise<string[]> {
  const all = run.processes.map(({ interception }) => interception)
  const deeds = {
    created: new Set(all.flatMap(({ created }) => [...created])),
    deleted: new Set(all.flatMap(({ writes }) => writes.flatMap(({ uid }) => uid ?? []))),
  }
  const found = faultsInHistory(seen, deeds)
  const last = run.processes.at(-1)
  if (last) {
    const now = complaintsIn(await last.metrics())
    for (const [series, count] of now) {
      const before = last === run.first ? (run.complaints.get(series) ?? 0) : 0
      if (count > before && !isOvertaken(run, series)) found.push(`${series} went from ${before} to ${count}`)
    }
  }
  for (const each of run.processes) found.push(...each.errors().map((line) => `logged: ${line.slice(0, 600)}`))
  return found
}

/**
 * A late status of the dead process puts older values in the place of its successor's, under the same manager's name: the
 * successor cannot tell who that was, says its own again, and counts it.
 */
function isOvertaken({ request: { hit } }: Run, series: string): boolean {
  return hit?.mode === 'late' && /status_ownership_conflicts_total.*manager="unknown"/.test(series)
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
