/** `nso start` and `nso up`: from the first check until nothing of it is left. */
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import type { OwnershipMode } from 'kube-control-loop'
import { findProcess, type Lock, tryLock } from 'kube-localplane'
import { type AddressSource, projectLabels } from './address-service.ts'
import { cleanUp, demonstrate } from './demonstrate.ts'
import { Explained, keepLogs, messageOf, reasonOf } from './failure.ts'
import { createInstances, type Instance, type Instances, stateFolder } from './instances.ts'
import { dataPlanes, defaultDataPlane } from './planes/index.ts'
import { requireCluster, requireSpace, requireWritable } from './preflight.ts'
import { statusOf } from './signals.ts'
import { type RunningService, type System, startSystem } from './system.ts'

export type StartOptions = {
  mode: 'start' | 'up'
  kubeconfig?: string | undefined
  port?: number | undefined
  /** The default one unless said otherwise. */
  dataPlane?: keyof typeof dataPlanes | undefined
  /** Built in unless said otherwise. */
  addresses?: AddressSource | undefined
  claims: number
  exitWhenReady: boolean
  report?: string | undefined
  /** As of `install`. */
  ownership?: OwnershipMode | undefined
  print: (line: string) => void
  /** Aborted by Ctrl-C or TERM. */
  signal: AbortSignal
}

/**
 * Runs until told to stop, a part fails, or (with `exitWhenReady`) all is done. Resolves with the exit status: 0 when it did
 * what it was to do, 128 and the signal's number when it was interrupted before, else 1.
 */
export async function runStart(options: StartOptions): Promise<number> {
  const { print, signal } = options
  let lock: Lock | undefined
  try {
    const instances = createInstances()
    await preflight(options)
    if (options.mode === 'up') {
      const answer = await tryLock(path.join(stateFolder(), 'up.lock'))
      if (!('release' in answer)) return sayWhoIsUp(options, instances, answer.heldBy.pid)
      lock = answer
    }
    const healed = instances.heal()
    if (healed.length > 0) print(`removed what runs that did not end in order had left (process ${healed.join(', ')})`)
    return await runInstance(options, instances)
  } catch (error) {
    if (signal.aborted) return statusOf(signal)
    print(messageOf(error))
    return 1
  } finally {
    await lock?.release()
  }
}

async function preflight({ report, kubeconfig, port, print, signal }: StartOptions): Promise<void> {
  if (report) requireWritable(report)
  requireSpace(stateFolder())
  if (!kubeconfig) return
  if (port !== undefined) print('--port is the local control plane’s: without effect with --kubeconfig')
  await requireCluster(kubeconfig, signal)
}

/** A second `up`: fine when the first is up and what is asked for, a failure while nobody can know yet whether it will be. */
function sayWhoIsUp(options: StartOptions, instances: Instances, pid: number): number {
  const { print } = options
  const running = instances.live().find((instance) => instance.pid === pid)
  if (running?.ready) {
    const { name, title } = dataPlaneOf(options)
    const others = [
      ...((running.dataPlane ?? defaultDataPlane.name) === name ? [] : [`another data plane than ${title}`]),
      ...((running.addresses ?? 'builtin') === addressesOf(options) ? [] : [`other addresses than ${addressesOf(options)}`]),
    ]
    const isAnother = others.length > 0
    const is = isAnother ? `It is up already, but with ${others.join(' and ')}` : 'It is up already'
    print(`${is} (process ${pid}). Kubeconfig: ${running.kubeconfigPath}. To end it: npx nso down`)
    return isAnother ? 1 : 0
  }
  print(`Another nso up (process ${pid}) is just starting or ending; this one does nothing.`)
  return 1
}

async function runInstance(options: StartOptions, instances: Instances): Promise<number> {
  const { print, signal } = options
  const instance = describe(options, instances)
  const dir = instances.dirOf(instance.pid)
  let system: System | undefined
  let status = 1
  try {
    instances.write(instance)
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    system = await startSystem({ ...options, dataPlane: dataPlaneOf(options), dir, log: print })
    const failure = system.failed.then((sentence) => Promise.reject(new Explained(sentence)))
    const isComplete = options.mode === 'up' || (await Promise.race([demonstrate(system, options), failure]))
    if (!options.exitWhenReady) {
      system.healFromNowOn()
      // Said before it is on record: whoever waits for the record shows what was said until then.
      sayUp(options, system)
      instances.write({ ...instance, kubeconfigPath: system.kubeconfigPath, ready: true })
      await Promise.race([untilAborted(signal), failure])
    }
    status = options.exitWhenReady && !isComplete ? 1 : 0
  } catch (error) {
    status = signal.aborted ? statusOf(signal) : 1
    if (!signal.aborted)
      print(`\n${messageOf(error)}\n${keepLogs(error, dir, path.join(stateFolder(), 'last-failure'))}`.trimEnd())
  }
  if (signal.aborted) print('\nstopping … (Ctrl-C again: without waiting)')
  const isOver = await end(options, instances, { system, dir, pid: instance.pid })
  return isOver ? status : Math.max(status, 1)
}

/** Ends and removes everything. False when something could not be ended, which was said. */
async function end(
  { mode, kubeconfig, print }: StartOptions,
  instances: Instances,
  { system, dir, pid }: { system: System | undefined; dir: string; pid: number },
): Promise<boolean> {
  try {
    if (system && kubeconfig && mode === 'start') await cleanUp(system, print)
    await system?.stop()
    return true
  } catch (error) {
    print(`not everything could be stopped: ${reasonOf(error)}`)
    return false
  } finally {
    if (process.env.NSO_KEEP) print(`kept, until the next start: ${dir}`)
    else instances.remove(pid)
  }
}

const dataPlaneOf = ({ dataPlane }: StartOptions) => (dataPlane === undefined ? defaultDataPlane : dataPlanes[dataPlane])

const addressesOf = ({ addresses = 'builtin' }: StartOptions): AddressSource => addresses

function describe(options: StartOptions, instances: Instances): Instance {
  const { mode, kubeconfig } = options
  const { pid } = process
  return {
    ...(findProcess(pid) ?? { pid, started: '' }),
    mode,
    dataPlane: dataPlaneOf(options).name,
    addresses: addressesOf(options),
    given: kubeconfig !== undefined,
    kubeconfigPath: kubeconfig ? path.resolve(kubeconfig) : path.join(instances.dirOf(pid), 'control-plane', 'kubeconfig'),
    ready: false,
    startedAt: new Date().toISOString(),
  }
}

function sayUp({ mode, kubeconfig, print }: StartOptions, { kubeconfigPath, dir, addressService }: System): void {
  print(
    [
      '\nThe system is up. Look around with:',
      '  npx nso kubectl get networkinterfaceclaims -A',
      `  export KUBECONFIG=${kubeconfigPath}`,
      ...(addressService ? sayService(addressService) : []),
      `Logs: ${dir}`,
      `Ctrl-C (or npx nso down) ends it${kubeconfig ? '' : ' and removes its data'}.`,
      ...(kubeconfig && mode === 'up' ? ['What it has installed on the cluster stays there.'] : []),
    ].join('\n'),
  )
}

function sayService({ kubeconfigPath }: RunningService): string[] {
  const labels = Object.entries(projectLabels('NAMESPACE')).map(([label, value]) => `${label}=${value}`)
  return [
    'What the stand-in for an address service holds: npx nso kubectl get ipclaims,ipallocations,ippools -A',
    `Programs make claims of it with ${kubeconfigPath} (kubectl does not: it sends no token without TLS).`,
    `A namespace of yours takes part with two labels: ${labels.join(' and ')}.`,
  ]
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
