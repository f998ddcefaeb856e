/** What `nso conformance` does. */
import { readFile, writeFile } from 'node:fs/promises'
import process from 'node:process'
import { DataPlane, nsoAccount } from '@nso/api'
import {
  type CaseName,
  contractVersion,
  mustFailures,
  NothingTried,
  notTried,
  type PlaneUnderTest,
  printers,
  problemsOf,
  reportOf,
  rules,
  runConformance,
  writeReport,
} from '@nso/conformance'
import { isPlaneName, startLocalPlane } from '@nso/conformance/planes'
import type { Manifest, Transport } from 'kube-control-loop'
import { parseManifests } from 'kube-localplane'
import { type Cluster, openCluster, unreadBecause } from './cluster.ts'
import type { ConformanceFlags } from './conformance.ts'
import { hooksOf } from './conformance-hooks.ts'
import { Explained, reasonOf } from './failure.ts'
import { visible, write } from './output.ts'
import { requireWritable } from './preflight.ts'
import { statusOf, stopSignal } from './signals.ts'

/** Resolves with the exit status. Rejects with `Explained` where the mistake is the user’s, or the cluster cannot be asked. */
export async function conform(name: string | undefined, flags: ConformanceFlags): Promise<number> {
  requireSense(name, flags)
  if (flags.verify !== undefined) return await verify(flags.verify)
  if (flags.report) requireWritable(flags.report)
  const only = flags.only && casesNamed(flags.only)
  const signal = stopSignal()
  try {
    return name === undefined ? await onCluster(flags, only, signal) : await here(name, flags, only, signal)
  } catch (error) {
    if (signal.aborted) return statusOf(signal)
    throw explained(error)
  }
}

/** Options that say nothing of a data plane which is brought up here: its own run knows better. */
const ofClusters = {
  kubeconfig: '--kubeconfig',
  file: '--file',
  user: '--user',
  requester: '--requester',
  auditLog: '--audit-log',
  restartCommand: '--restart-command',
  trafficStartCommand: '--traffic-start-command',
  trafficStopCommand: '--traffic-stop-command',
  liftCommand: '--lift-command',
  restoreCommand: '--restore-command',
} as const satisfies Partial<Record<keyof ConformanceFlags, string>>

function requireSense(name: string | undefined, flags: ConformanceFlags): void {
  const { verify: file, dataPlane, report, signedOffBy } = flags
  if (file !== undefined) {
    if (name !== undefined || dataPlane !== undefined) throw new Explained('--verify looks at a report and tries no data plane.')
    return
  }
  if ((name === undefined) === (dataPlane === undefined)) {
    throw new Explained('Name one data plane: one of this repository, or --data-plane NAME on a cluster.')
  }
  const idle = Object.entries(ofClusters).find(([key]) => flags[key as keyof typeof ofClusters] !== undefined)
  if (name !== undefined && idle)
    throw new Explained(`${idle[1]} goes with --data-plane: ${name} has a control plane of its own.`)
  if (signedOffBy !== undefined && report === undefined) throw new Explained('--signed-off-by goes with --report.')
}

function casesNamed(names: readonly string[]): readonly CaseName[] {
  const given = names.map((name) => name.trim()).filter((name) => name !== '')
  const found = given.map((name) => {
    const rule = rules.find((each) => each.case === name || each.id === name.toUpperCase())
    if (!rule) throw new Explained(`There is no case ${name}. There are: ${rules.map((each) => each.case).join(', ')}.`)
    return rule.case
  })
  if (found.length === 0) throw new Explained('--only names no case.')
  return [...new Set(found)]
}

function explained(error: unknown): unknown {
  if (error instanceof NothingTried) return new Explained(error.message, { cause: error })
  return new Explained(`The API server refused: ${unreadBecause(error).message}`, { cause: error })
}

type Only = readonly CaseName[] | undefined

async function here(name: string, flags: ConformanceFlags, only: Only, signal: AbortSignal): Promise<number> {
  if (!isPlaneName(name)) throw new Explained(`${name} cannot be started here.`)
  await using local = await startLocalPlane(name, (line) => process.stderr.write(`${line}\n`), signal)
  const broken = new AbortController()
  void local.failed.then((sentence) => broken.abort(new Explained(sentence)))
  const both = AbortSignal.any([signal, broken.signal])
  return await tryPlane(local.plane, { flags, only, kubeconfig: local.kubeconfig, signal: both })
}

async function onCluster(flags: ConformanceFlags, only: Only, signal: AbortSignal): Promise<number> {
  const { dataPlane: name = '', planeVersion, user, auditLog, detachGrace, kubeconfig, file } = flags
  const requester = flags.requester ?? (file ? undefined : `system:serviceaccount:${nsoAccount.namespace}:${nsoAccount.name}`)
  const hooks = hooksOf(flags)
  const given = file === undefined ? undefined : await fromFile(file, name)
  const cluster = await openCluster({ kubeconfig, retryForMs: 10_000 })
  try {
    const plane: PlaneUnderTest = {
      ...{ name, version: planeVersion, user, requester, auditLog, detachGraceMs: detachGrace },
      dataPlane: given ?? (await fromCluster(name, cluster, signal)),
      ...hooks,
    }
    return await tryPlane(plane, { flags, only, signal, transport: cluster.transport })
  } finally {
    await cluster.close()
  }
}

async function fromFile(file: string, name: string): Promise<Manifest> {
  const objects = manifestsIn(file, await textOf(file))
  const planes = objects.filter(({ kind }) => kind === DataPlane.kind)
  const found = planes.find(({ metadata }) => metadata.name === name)
  const others = planes.map(({ metadata }) => metadata.name)
  if (!found) throw new Explained(`${file} has no DataPlane ${name}${others.length > 0 ? `; it has ${others.join(', ')}` : ''}.`)
  return found
}

function manifestsIn(file: string, text: string): Manifest[] {
  try {
    return parseManifests(text) as Manifest[]
  } catch (cause) {
    throw new Explained(`${file} is no YAML: ${reasonOf(cause).split('\n')[0]}`, { cause })
  }
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    throw new Explained(`${file} cannot be read: ${reasonOf(cause)}`, { cause })
  }
}

async function fromCluster(name: string, { client }: Cluster, signal: AbortSignal): Promise<Manifest> {
  const found = await client.find(DataPlane, { name }, signal)
  if (!found) throw new Explained(`The cluster has no DataPlane ${name}.`)
  return found as unknown as Manifest
}

type Run = { flags: ConformanceFlags; only: Only; kubeconfig?: string; transport?: Transport; signal: AbortSignal }

async function tryPlane(plane: PlaneUnderTest, { flags, only, kubeconfig, transport, signal }: Run): Promise<number> {
  const printer = printers[flags.format]
  const print = async (lines: readonly string[]) => {
    if (lines.length > 0) await write(lines.join('\n'))
  }
  let count = 0
  await print(printer.begin({ plane: plane.name, version: plane.version, contract: contractVersion }, (only ?? rules).length))
  const results = await runConformance(plane, {
    ...{ burst: flags.burst, idleMs: flags.idle, patienceMs: flags.patience, signal },
    ...(only ? { only } : {}),
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(transport ? { transport } : {}),
    onResult: (result) => void print(printer.result(result, ++count)),
  }).catch(async (error: unknown) => {
    await print(printer.bail(error instanceof Error ? error.message : String(error)))
    throw error
  })
  await print(printer.end(results))
  if (flags.report) await writeFile(flags.report, writeReport(reportOf(results, flags.signedOffBy)))
  return mustFailures(results).length === 0 ? 0 : 1
}

async function verify(file: string): Promise<number> {
  const { report, problems } = visible(problemsOf(await textOf(file)))
  if (report && problems.length === 0) {
    const { plane, planeVersion, contract, date, signedOff } = report
    const by = signedOff.by === undefined ? 'signed off by nobody' : `signed off by ${signedOff.by}`
    const left = notTried(report).map((rule) => `  not tried: ${rule}`)
    const head = `${file}: ${plane} ${planeVersion} obeys contract ${contract}, as tried on ${date.slice(0, 10)}; ${by}`
    await write([head, ...left].join('\n'))
    return 0
  }
  for (const problem of problems) console.error(`${file}: ${problem}`)
  return 1
}
