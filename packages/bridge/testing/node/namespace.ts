/**
 * A network namespace that lives as long as a process in it. That process reads its standard input, whose other end is held
 * here: however this process ends, the kernel closes it, the holder ends, and the namespace goes with all devices in it.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { mustRun, type Ran, type RunOptions, run } from './run.ts'

export type NamespaceOptions = {
  /** Folders that are empty and its own inside, so that what programs leave there goes with it. Made where they are missing. */
  ownFolders?: readonly string[]
}

export type Namespace = {
  /** As programs take a network namespace: `/proc/PID/ns/net`. */
  readonly path: string
  /** Command line that runs another inside. */
  inside(command: string, ...args: string[]): [command: string, args: string[]]
  /** Resolves with what it said, whatever its exit status. */
  run(command: string, args: readonly string[], options?: RunOptions): Promise<Ran>
  /** Resolves with its standard output; rejects when its exit status is not 0. */
  must(command: string, args: readonly string[], options?: RunOptions): Promise<string>
  /** Starts a program that ends when its standard input does; resolves when it has printed `ready`. It ends with the namespace. */
  keep(command: string, args: readonly string[]): Promise<void>
  /** Ends what runs inside; resolves when the processes have ended. Can be repeated. */
  close(): Promise<void>
}

const becomeReady = 'ip link set lo up && echo ready && exec cat'

/** Rejects with what the machine answered where it gives no namespaces. */
export async function openNamespace({ ownFolders }: NamespaceOptions = {}): Promise<Namespace> {
  const unshared = ['--net', ...(ownFolders ? ['--mount'] : [])]
  const mounts = (ownFolders ?? []).map((folder) => `mkdir -p ${folder} && mount -t tmpfs none ${folder} && `)
  const holder = await startHeld('unshare', [...unshared, '--', '/bin/sh', '-c', `${mounts.join('')}${becomeReady}`])
  const { pid } = holder
  const kept: ChildProcess[] = [holder]
  const inside = (command: string, ...args: string[]): [string, string[]] => [
    'nsenter',
    ['--target', String(pid), ...unshared, '--', command, ...args],
  ]
  return {
    path: `/proc/${pid}/ns/net`,
    inside,
    run: (command, args, options) => run(...inside(command, ...args), options),
    must: (command, args, options) => mustRun(...inside(command, ...args), options),
    async keep(command, args) {
      kept.push(await startHeld(...inside(command, ...args)))
    },
    async close() {
      await Promise.all(kept.splice(0).reverse().map(end))
    },
  }
}

/** In a process group of its own: Ctrl-C in the terminal is for its starter, which then ends things in order. */
async function startHeld(command: string, args: readonly string[]): Promise<ChildProcess> {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], detached: true })
  let complaint = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint += text
  })
  child.stdin.on('error', () => {})
  const ready = new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', (line) => {
      if (line === 'ready') resolve()
      else reject(new Error(`${command} ${args.join(' ')} said: ${line}`))
    })
    child.once('error', reject)
    child.once('close', (code) => reject(new Error(`${command} ${args.join(' ')}: status ${code}: ${complaint.trim()}`)))
  })
  await ready
  return child
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.stdin?.destroy()
  child.kill('SIGTERM')
  await exited
}
