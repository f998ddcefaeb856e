/** One process of a program, really started and really killed, and the proxies through which it reaches its servers. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import path from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { systemClock } from 'kube-control-loop'
import { freePorts, readKubeconfig, writeKubeconfig } from 'kube-localplane'
import { createInterception, type Interception } from './interception.ts'
import { type Crossing, startProxy } from './proxy.ts'

/** A program as it is run here. */
export type Program = {
  readonly name: string
  /** Module of its command line. */
  readonly main: string
  /** Flags that name a kubeconfig, each with the file that the program has without a proxy. */
  readonly kubeconfigs: Readonly<Record<string, string>>
  readonly flags: readonly string[]
}

export type Incarnation = {
  readonly pid: number
  readonly interception: Interception
  /** Lets it act: before, its requests wait. */
  open(): void
  /** Resolves when it says that it is ready; rejects when it ends before. */
  ready(signal: AbortSignal): Promise<void>
  /** Kills it in this instant; nothing of it reaches a server any more. */
  crash(): void
  /** Resolves when it is gone and what it had sent is stored. */
  gone(): Promise<void>
  /** Resolves with how it ended, when nobody asked for it. */
  readonly ended: Promise<string>
  metrics(): Promise<string>
  /** Lines of its log at level error since the last call. */
  errors(): string[]
  readonly logPath: string
  stop(): Promise<void>
}

const preload = fileURLToPath(new URL('../packages/cli/src/exit-with-parent.ts', import.meta.url))
const graceMs = 5000

/** It waits at its proxies until `open`. `dir` takes its log and its kubeconfigs. */
export async function startIncarnation(program: Program, dir: string, id: number): Promise<Incarnation> {
  const interception = createInterception()
  const gate = Promise.withResolvers<void>()
  const proxies: Crossing[] = []
  const flags: string[] = []
  for (const [flag, file] of Object.entries(program.kubeconfigs)) {
    const access = await readKubeconfig(file)
    const ca = access.ca === undefined ? {} : { ca: access.ca }
    const proxy = await startProxy({ upstream: access.url, ...ca, interception, opened: gate.promise })
    proxies.push(proxy)
    const own = path.join(dir, `${program.name}-${id}-${path.basename(file)}`)
    // Without TLS on loopback; the library that reads it wants to be told that this is meant.
    const plain = { insecure: true, cluster: 'through-proxy', user: program.name }
    await writeKubeconfig(own, { url: proxy.url, credential: access.credential, ...plain })
    flags.push(flag, own)
  }
  const [port] = await freePorts(1)
  const metrics = `127.0.0.1:${port}`
  const logPath = path.join(dir, `${program.name}-${id}.log`)
  const output = openSync(logPath, 'a', 0o600)
  const script = fileURLToPath(import.meta.resolve(program.main))
  const args = ['--import', preload, script, ...flags, '--no-leader-elect', '--metrics-bind-address', metrics, ...program.flags]
  const child = spawn(process.execPath, args, { stdio: ['pipe', output, output], detached: true })
  closeSync(output)
  await once(child, 'spawn')
  const asked = { end: false }
  const exited = endOf(child)
  const page = (which: string) => fetch(`http://${metrics}${which}`)
  let readTo = 0
  const kill = (by: NodeJS.Signals) => {
    asked.end = true
    child.kill(by)
  }
  return {
    pid: child.pid ?? 0,
    interception,
    logPath,
    open: gate.resolve,
    ready: (signal) => untilReady(() => page('/readyz'), exited, signal),
    crash() {
      kill('SIGKILL')
      for (const proxy of proxies) proxy.cut()
    },
    async gone() {
      await exited
      await Promise.all(proxies.map((proxy) => proxy.settled()))
    },
    ended: exited.then((how) => (asked.end ? new Promise<string>(() => {}) : `${program.name} ${how}; log: ${logPath}`)),
    metrics: async () => await (await page('/metrics')).text(),
    errors() {
      const text = readFileSync(logPath, 'utf8')
      const lines = text.slice(readTo).split('\n')
      readTo = text.length - (lines.pop() ?? '').length
      return lines.filter((line) => line !== '' && (line.includes('"level":"error"') || !line.startsWith('{')))
    },
    async stop() {
      gate.resolve()
      kill('SIGTERM')
      const cancel = systemClock.after(graceMs, () => kill('SIGKILL'))
      await exited
      cancel()
      await Promise.all(proxies.map((proxy) => proxy.close()))
    },
  }
}

async function endOf(child: ChildProcess): Promise<string> {
  const [code, killedBy] = await once(child, 'exit')
  return killedBy ? `was killed by ${String(killedBy)}` : `ended with status ${String(code)}`
}

async function untilReady(ask: () => Promise<Response>, exited: Promise<string>, signal: AbortSignal): Promise<void> {
  let end: string | undefined
  void exited.then((how) => {
    end = how
  })
  for (;;) {
    if (end !== undefined) throw new Error(`it ${end} before it was ready`)
    const answer = await ask().catch(() => undefined)
    await answer?.arrayBuffer()
    if (answer?.ok) return
    await systemClock.sleep(20, signal)
  }
}
