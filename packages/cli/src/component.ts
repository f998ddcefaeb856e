/** One child process of the running system: started, waited for until ready, watched, stopped. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { systemClock } from 'kube-control-loop'
import { freePorts } from 'kube-localplane'

export type Component = {
  readonly name: string
  readonly pid: number
  /** Base URL of its metrics page, on loopback. */
  readonly metricsUrl: string
  readonly logPath: string
  /** Resolves, once it has ended, with how: `was killed by SIGKILL`, `ended with status 1`. */
  readonly exited: Promise<string>
  /** TERM, then after the grace KILL; resolves when it has ended. Can be repeated. */
  stop(graceMs?: number): Promise<void>
}

export type ComponentOptions = {
  name: string
  /** Module that runs the process. */
  script: string
  /** Arguments, given the loopback address it shall serve metrics and health on. */
  args: (addresses: { metrics: string }) => readonly string[]
  logPath: string
  signal: AbortSignal
}

const preload = pathToFileURL(path.join(import.meta.dirname, 'exit-with-parent.ts')).href
const graceMs = 10_000
const readyWithinMs = 90_000

/** Starts the process and resolves when its readiness endpoint says yes; rejects with the end of its log when it dies first. */
export async function startComponent({ name, script, args, logPath, signal }: ComponentOptions): Promise<Component> {
  signal.throwIfAborted()
  const [port] = await freePorts(1)
  const metrics = `127.0.0.1:${port}`
  const output = openSync(logPath, 'a', 0o600)
  // Its own process group: Ctrl-C reaches the parent only, which then stops its children in order.
  const child = spawn(process.execPath, ['--import', preload, script, ...args({ metrics })], {
    stdio: ['pipe', output, output],
    detached: true,
  })
  closeSync(output)
  const { pid } = child
  if (pid === undefined) {
    const [error] = await once(child, 'error')
    throw new Error(`${name} could not be started: ${String(error)}`, { cause: error })
  }
  const exited = endOf(child)
  const stop = async (withinMs = graceMs) => {
    child.kill('SIGTERM')
    const cancel = systemClock.after(withinMs, () => child.kill('SIGKILL'))
    await exited
    cancel()
  }
  const component = { name, pid, logPath, exited, stop, metricsUrl: `http://${metrics}` }
  await untilReady(component, signal)
  return component
}

async function endOf(child: ChildProcess): Promise<string> {
  const [code, killedBy] = await once(child, 'exit')
  return killedBy ? `was killed by ${String(killedBy)}` : `ended with status ${String(code)}`
}

async function untilReady(component: Component, signal: AbortSignal): Promise<void> {
  const since = systemClock.monotonic()
  let end: string | undefined
  void component.exited.then((how) => {
    end = how
  })
  for (;;) {
    if (signal.aborted) {
      await component.stop()
      throw signal.reason
    }
    if (end !== undefined) throw new Error(await obituary(component, `${end} before it was ready`))
    const answer = await fetch(`${component.metricsUrl}/readyz`).catch(() => undefined)
    const said = await answer?.text()
    if (answer?.ok) return
    if (systemClock.monotonic() - since > readyWithinMs) {
      await component.stop()
      throw new Error(await obituary(component, `was not ready within ${readyWithinMs / 1000} s (${said ?? 'no answer'})`))
    }
    await systemClock.sleep(50, signal).catch(() => undefined)
  }
}

/** That it has ended and how, with the end of its log, for whoever has to find out why. */
export async function obituary({ name, logPath }: Pick<Component, 'name' | 'logPath'>, how: string): Promise<string> {
  return `${name} ${how}. The end of its log:\n${await tail(logPath)}`
}

/** The last lines of a log, each cut to what a screen can show. */
export async function tail(file: string, lines = 12): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => '')
  const last = text.trimEnd().split('\n').slice(-lines)
  return last.map((line) => `  ${line.length > 600 ? `${line.slice(0, 600)} …` : line}`).join('\n')
}
