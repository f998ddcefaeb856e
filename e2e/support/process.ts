/** One real process of a component on a control plane: started under its own identity, ready, stopped or killed. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { freePorts, type Plane } from 'kube-localplane'
import { eventually } from 'kube-localplane/testing'

export type Process = AsyncDisposable & {
  /** Text of its metrics page. */
  metrics(): Promise<string>
  /** TERM; resolves with its exit status. */
  stop(): Promise<number | null>
  /** KILL; resolves when it is gone. */
  kill(): Promise<void>
}

type Options = {
  plane: Plane
  /** Module of its command line, by name. */
  main: string
  account: { namespace: string; name: string }
  flags?: readonly string[]
}

/** Resolves when it says that it is ready; rejects when it ends before. */
export async function startProcess({ plane, main, account, flags = [] }: Options): Promise<Process> {
  const kubeconfig = await plane.kubeconfigFor({ serviceAccount: account })
  const [port] = await freePorts(1)
  const address = `127.0.0.1:${port}`
  const script = fileURLToPath(import.meta.resolve(main))
  const args = [script, '--kubeconfig', kubeconfig, '--metrics-bind-address', address, '--log-level', 'error', ...flags]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] })
  const exited: Promise<number | null> = once(child, 'exit').then(([code]) => code as number | null)
  const page = async (path: string) => await fetch(`http://${address}${path}`)
  await Promise.race([
    eventually(`${main} is ready`, async () => (await page('/readyz')).ok, { timeoutMs: 60_000 }),
    exited.then((code) => Promise.reject(new Error(`${main} ended with ${code} before it was ready`))),
  ])
  const end = (by: NodeJS.Signals) => async (): Promise<number | null> => {
    if (isRunning(child)) child.kill(by)
    return await exited
  }
  const kill = async () => void (await end('SIGKILL')())
  return {
    metrics: async () => await (await page('/metrics')).text(),
    stop: end('SIGTERM'),
    kill,
    [Symbol.asyncDispose]: kill,
  }
}

const isRunning = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode === null && signalCode === null
