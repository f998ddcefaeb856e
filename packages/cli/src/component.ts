/** One child process of the running system: started, waited for until ready, watched, stopped. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { systemClock } from 'kube-control-loop'

export type Component = {
  readonly name: string
  readonly pid: number
  /** Base URL of its metrics page, on loopback. */
  readonly metricsUrl: string
  readonly logPath: string
  /** Resolves with its exit status (128 + signal number when killed by one). */
  readonly exited: Promise<number>
  /** TERM, then after the grace KILL; resolves when it has ended. */
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

/** Starts the process and resolves when its readiness endpoint says yes; rejects with the end of its log when it dies first. */
export async function startComponent({ name, script, args, logPath, signal }: ComponentOptions): Promise<Component> {
  const metrics = `127.0.0.1:${await freePort()}`
  const output = openSync(logPath, 'a')
  const preload = pathToFileURL(path.join(import.meta.dirname, 'exit-with-parent.ts')).href
  // Its own process group: Ctrl-C reaches the parent only, which then stops its children in order.
  const child = spawn(process.execPath, ['--import', preload, script, ...args({ metrics })], {
    stdio: ['pipe', output, output],
    detached: true,
  })
  closeSync(output)
  const exited = once(child, 'exit').then(([code, killedBy]) => (killedBy ? 128 : Number(code)))
  const { pid } = child
  if (pid === undefined) throw new Error(`${name} could not be started: ${script}`)
  const component: Component = {
    name,
    pid,
    logPath,
    exited,
    metricsUrl: `http://${metrics}`,
    async stop(graceMs = 10_000) {
      child.kill('SIGTERM')
      const cancel = systemClock.after(graceMs, () => child.kill('SIGKILL'))
      await exited
      cancel()
    },
  }
  await untilReady(component, `http://${metrics}/readyz`, signal)
  return component
}

async function untilReady(component: Component, url: string, signal: AbortSignal): Promise<void> {
  let dead: number | undefined
  void component.exited.then((code) => {
    dead = code
  })
  for (;;) {
    if (signal.aborted) {
      await component.stop()
      throw signal.reason
    }
    if (dead !== undefined)
      throw new Error(
        `${component.name} ended with status ${dead} before it was ready. The end of ${component.logPath}:\n${await tail(component.logPath)}`,
      )
    const answer = await fetch(url).catch(() => undefined)
    await answer?.arrayBuffer()
    if (answer?.ok) return
    await systemClock.sleep(50, signal).catch(() => undefined)
  }
}

/** The last lines of a log. */
export async function tail(file: string, lines = 15): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => '')
  return text.trimEnd().split('\n').slice(-lines).join('\n')
}

/** A loopback port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port number for a loopback listener')
  return address.port
}
