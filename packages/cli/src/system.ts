/**
 * The whole system on one machine: a control plane (local, or a given cluster), everything installed, NSO and Galactic as two
 * processes with two identities, and the stand-in node.
 */
import { mkdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { nsoAccount, nsoManifests } from '@nso/api'
import { galacticAccount, galacticManifests } from 'galactic/manifests'
import { type StandInNode, standInNodeAccount, standInNodeManifests, startStandInNode } from 'galactic/testing'
import { createLogger, systemClock } from 'kube-control-loop'
import {
  connect,
  installManifests,
  type KubeObject,
  type Plane,
  parseManifests,
  requireAnswer,
  startPlane,
} from 'kube-localplane'
import { type Component, startComponent } from './component.ts'
import { type Account, writeAccountKubeconfig } from './identities.ts'

export type System = {
  readonly dir: string
  /** Of the administrator. */
  readonly kubeconfigPath: string
  /** The local control plane; absent on a given cluster. */
  readonly plane: Plane | undefined
  readonly nso: Component
  readonly galactic: Component
  /** Settles with a sentence when a part ends that nobody stopped. */
  readonly failed: Promise<string>
  /** Ends everything that was started, in order: NSO, Galactic, the node, the control plane. Can be repeated. */
  stop(): Promise<void>
}

export type SystemOptions = {
  /** Working folder; made if missing. */
  dir: string
  /** An existing cluster's; absent: a local control plane is started. */
  kubeconfig?: string | undefined
  port?: number | undefined
  /** Whether the admission policy that adds the claim's finalizer is installed (absent: where the server can). */
  policy?: boolean
  log: (line: string) => void
  signal: AbortSignal
}

const root = path.resolve(import.meta.dirname, '..', '..', '..')
const logLevel = process.env.NSO_LOG_LEVEL ?? 'info'

/** Starts everything; resolves when both processes are ready. What was started is ended when it rejects. */
export async function startSystem(options: SystemOptions): Promise<System> {
  const stops: (() => Promise<void>)[] = []
  const stop = async () => {
    for (let end = stops.pop(); end; end = stops.pop()) await end()
  }
  try {
    return await start(options, stops, stop)
  } catch (error) {
    await stop()
    throw error
  }
}

async function start(options: SystemOptions, stops: (() => Promise<void>)[], stop: () => Promise<void>): Promise<System> {
  const { dir, log, signal } = options
  await mkdir(dir, { recursive: true, mode: 0o700 })
  const plane = options.kubeconfig ? undefined : await startLocal(options)
  if (plane) stops.push(() => plane.stop())
  const kubeconfigPath = plane?.kubeconfigPath ?? path.resolve(options.kubeconfig ?? '')
  if (!plane) await requireAnswer(kubeconfigPath)
  await install(kubeconfigPath, options)
  const identity = (account: Account, file: string) =>
    keepIdentity({ kubeconfigPath, account, file: path.join(dir, file), stops, log })
  const [nsoConfig, galacticConfig, nodeConfig] = await Promise.all([
    identity(nsoAccount, 'nso.kubeconfig'),
    identity(galacticAccount, 'galactic.kubeconfig'),
    identity(standInNodeAccount, 'stand-in-node.kubeconfig'),
  ])
  const launch = (name: string, script: string, kubeconfig: string) => startPart({ name, script, kubeconfig, dir, stops, signal })
  const node = startNode(nodeConfig, stops)
  const [galactic, nso] = await Promise.all([
    launch('galactic', fileURLToPath(import.meta.resolve('galactic/main')), galacticConfig),
    launch('nso', fileURLToPath(import.meta.resolve('@nso/operator/main')), nsoConfig),
  ])
  log(`NSO (process ${nso.pid}) and Galactic (process ${galactic.pid}) are ready`)
  let stopping = false
  const ends: Promise<string>[] = [ended(nso), ended(galactic), node.running.then(() => 'the stand-in node ended', String)]
  if (plane) ends.push(plane.failed)
  return {
    dir,
    kubeconfigPath,
    plane,
    nso,
    galactic,
    failed: new Promise((resolve) => {
      void Promise.race(ends).then((sentence) => {
        if (!stopping) resolve(sentence)
      })
    }),
    stop: () => {
      stopping = true
      return stop()
    },
  }
}

function startLocal({ dir, port, log, signal }: SystemOptions): Promise<Plane> {
  return startPlane({
    dir: path.join(dir, 'control-plane'),
    name: 'nso',
    audit: true,
    log,
    signal,
    ...(port === undefined ? {} : { port }),
  })
}

async function ended(component: Component): Promise<string> {
  const code = await component.exited
  return `${component.name} ended with status ${code}; its log is ${component.logPath}`
}

/** Everything that NSO, Galactic and the stand-in node need, by server-side apply: on a used cluster a no-op. */
async function install(kubeconfigPath: string, { policy, log, signal }: SystemOptions): Promise<void> {
  const nso = nsoManifests()
  const galactic = galacticManifests()
  const joint = parseManifests(await readFile(path.join(root, 'deploy', 'data-planes', 'galactic.yaml'), 'utf8'))
  const withPolicy = policy ?? (await servesMutatingPolicies(kubeconfigPath))
  const manifests = [
    ...nso.crds,
    ...galactic.crds,
    ...(await missingCrds(kubeconfigPath, galactic.local as KubeObject[])),
    ...nso.rbac,
    ...galactic.rbac,
    ...standInNodeManifests(),
    ...(withPolicy ? nso.policies : []),
    ...joint,
  ] as KubeObject[]
  await installManifests(kubeconfigPath, manifests, { signal })
  const note = withPolicy ? '' : ' (without the admission policy: this server does not serve MutatingAdmissionPolicy v1)'
  log(`installed ${manifests.length} manifests: CRDs, roles, admission policy, the DataPlane galactic${note}`)
}

/** CRDs of others (Multus, the node's router) are installed where they are missing and left alone where they stand. */
async function missingCrds(kubeconfigPath: string, crds: readonly KubeObject[]): Promise<KubeObject[]> {
  const connection = await connect(kubeconfigPath)
  try {
    const stands = async ({ metadata }: KubeObject) => {
      const { status } = await connection.request({
        path: `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${metadata.name}`,
      })
      return status === 200
    }
    const found = await Promise.all(crds.map(stands))
    return crds.filter((_, index) => !found[index])
  } finally {
    connection.close()
  }
}

async function servesMutatingPolicies(kubeconfigPath: string): Promise<boolean> {
  const connection = await connect(kubeconfigPath)
  try {
    const { body } = await connection.request({ path: '/apis/admissionregistration.k8s.io/v1' })
    const resources = (body as { resources?: { name: string }[] } | undefined)?.resources ?? []
    return resources.some(({ name }) => name === 'mutatingadmissionpolicies')
  } finally {
    connection.close()
  }
}

type Keep = {
  kubeconfigPath: string
  account: Account
  file: string
  stops: (() => Promise<void>)[]
  log: (line: string) => void
}

/** Writes the kubeconfig of an account now, and again before its token is half through, until the system stops. */
async function keepIdentity({ kubeconfigPath, account, file, stops, log }: Keep): Promise<string> {
  let cancel = () => {}
  const write = async () => {
    const againMs = await writeAccountKubeconfig(kubeconfigPath, account, file)
    cancel = systemClock.after(againMs, () => void renew())
  }
  const renew = () =>
    write().catch((error: unknown) => {
      log(`no new token for ${account.name} (${String(error)}); trying again in a minute`)
      cancel = systemClock.after(60_000, () => void renew())
    })
  await write()
  stops.push(async () => cancel())
  return file
}

type Part = { name: string; script: string; kubeconfig: string; dir: string; stops: (() => Promise<void>)[]; signal: AbortSignal }

async function startPart({ name, script, kubeconfig, dir, stops, signal }: Part): Promise<Component> {
  const component = await startComponent({
    name,
    script,
    args: ({ metrics }) => [
      '--kubeconfig',
      kubeconfig,
      '--leader-elect',
      '--log-level',
      logLevel,
      '--metrics-bind-address',
      metrics,
    ],
    logPath: path.join(dir, `${name}.log`),
    signal,
  })
  stops.push(() => component.stop())
  return component
}

function startNode(kubeconfig: string, stops: (() => Promise<void>)[]): StandInNode {
  const node = startStandInNode({ kubeconfig, log: createLogger({ name: 'stand-in-node', level: 'silent' }) })
  stops.push(() => node.stop())
  return node
}
