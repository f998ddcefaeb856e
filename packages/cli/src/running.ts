/** What is asked of systems that run already. Each resolves with an exit status. */
import { spawn } from 'node:child_process'
import path from 'node:path'
import { systemClock } from 'kube-control-loop'
import { attachPlane, isAlive, kubectlCommand } from 'kube-localplane'
import { createInstances } from './instances.ts'
import { findCurrent } from './running-instance.ts'

const nothingRuns = 'Nothing is running: start it with npm start or npx nso up.'
/** Longer than everything that a system gives its parts to end in order. */
const patienceMs = 60_000

/** Ends all systems of this user and waits for it; one that does not end in time is killed, which ends its parts too. */
export async function down(print: (line: string) => void): Promise<number> {
  const instances = createInstances()
  const running = instances.live()
  if (running.length === 0) print('Nothing is running.')
  for (const { pid, mode } of running) {
    print(`ending nso ${mode} (process ${pid}) …`)
    send('SIGTERM', pid)
  }
  const deadline = systemClock.monotonic() + patienceMs
  const left = () => running.filter(isAlive)
  while (left().length > 0 && systemClock.monotonic() < deadline) await systemClock.sleep(50, new AbortController().signal)
  for (const { pid, mode } of left()) {
    print(`nso ${mode} (process ${pid}) has not ended within ${patienceMs / 1000} s and is killed`)
    send('SIGKILL', pid)
  }
  instances.heal()
  if (running.length > 0) print('ended')
  return 0
}

function send(signal: NodeJS.Signals, pid: number): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    // It ended between the question and the signal.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Prints the path, and nothing else, to standard output. */
export function kubeconfig(print: (line: string) => void): number {
  const running = findCurrent()
  if (!running) return complain(nothingRuns)
  print(running.kubeconfigPath)
  return 0
}

/** kubectl with its arguments, on the running system: the control plane's own; on a given cluster the one on PATH. */
export async function kubectl(args: readonly string[]): Promise<number> {
  const instances = createInstances()
  const running = findCurrent(instances)
  if (!running) return complain(nothingRuns)
  const {
    command,
    args: all,
    env,
  } = running.given
    ? { command: 'kubectl', args, env: { ...process.env, KUBECONFIG: running.kubeconfigPath } }
    : kubectlCommand(await attachPlane(path.join(instances.dirOf(running.pid), 'control-plane')), args)
  const child = spawn(command, all, { env, stdio: 'inherit' })
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => child.kill(name))
  return await new Promise((resolve) => {
    child.once('error', (error) => resolve(complain(`kubectl could not be started: ${error.message}`)))
    child.once('close', (code) => resolve(code ?? 1))
  })
}

function complain(message: string): number {
  console.error(message)
  return 1
}
