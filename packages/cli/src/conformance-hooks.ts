/** What a data plane under test is made to do by commands of its author. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import process from 'node:process'
import type { At, PlaneUnderTest } from '@nso/conformance'
import type { ConformanceFlags } from './conformance.ts'
import { Explained } from './failure.ts'

type Hooks = Pick<PlaneUnderTest, 'restart' | 'traffic' | 'liftEnforcement'>

/** A command may take so many times the patience that the data plane is given. */
const patiences = 2

type Pair = readonly [string, string]

/** Both or neither: half of a pair would leave things as they must not stay. */
function pairOf(first: string | undefined, second: string | undefined, names: string): Pair | undefined {
  if ((first === undefined) !== (second === undefined)) throw new Explained(`${names} go together.`)
  return first === undefined || second === undefined ? undefined : [first, second]
}

export function hooksOf(flags: ConformanceFlags): Hooks {
  const { restartCommand, trafficStartCommand, trafficStopCommand, liftCommand, restoreCommand, patience } = flags
  const traffic = pairOf(trafficStartCommand, trafficStopCommand, '--traffic-start-command and --traffic-stop-command')
  const guard = pairOf(liftCommand, restoreCommand, '--lift-command and --restore-command')
  const limitMs = patiences * patience
  const at = (command: string) => (place: At, signal: AbortSignal) =>
    run(command, { NAMESPACE: place.namespace, NAME: place.name }, limitMs, signal)
  return {
    ...(restartCommand === undefined ? {} : { restart: (signal) => run(restartCommand, {}, limitMs, signal) }),
    ...(traffic ? { traffic: { start: at(traffic[0]), stop: at(traffic[1]) } } : {}),
    ...(guard ? { liftEnforcement: (signal) => lifted(guard, limitMs, signal) } : {}),
  }
}

/** What was lifted is restored also when the run was broken off. */
async function lifted([lift, restore]: Pair, limitMs: number, signal: AbortSignal): Promise<() => Promise<void>> {
  await run(lift, {}, limitMs, signal)
  return () => run(restore, {}, limitMs)
}

/**
 * By the shell; what it prints goes to standard error, since results stand on standard output. Rejects when it fails, and when it takes
 * too long: then it is killed with all that it has started.
 */
async function run(command: string, env: Record<string, string>, limitMs: number, signal?: AbortSignal): Promise<void> {
  const late = AbortSignal.timeout(limitMs)
  const end = signal ? AbortSignal.any([signal, late]) : late
  end.throwIfAborted()
  const child = spawn(command, { shell: true, detached: true, stdio: ['ignore', 2, 2], env: { ...process.env, ...env } })
  const kill = () => killGroup(child.pid)
  end.addEventListener('abort', kill, { once: true })
  process.once('exit', kill)
  try {
    const [status, killedBy] = await once(child, 'exit')
    signal?.throwIfAborted()
    if (late.aborted) throw new Explained(`${command} was not done within ${limitMs / 1000} s.`)
    if (status !== 0) throw new Explained(`${command} ended with ${killedBy ? String(killedBy) : `status ${String(status)}`}.`)
  } finally {
    end.removeEventListener('abort', kill)
    process.removeListener('exit', kill)
  }
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    // It has ended in this instant.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
