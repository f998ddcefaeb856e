/** The `nso` command. */
import { spawn, spawnSync } from 'node:child_process'
import { openSync } from 'node:fs'
import path from 'node:path'
import process from 'node:process'
import { Command, InvalidArgumentError } from 'commander'
import { systemClock } from 'kube-control-loop'
import { attachPlane, kubectlCommand } from 'kube-localplane'
import { tail } from './component.ts'
import { createInstances, type Instance, stateFolder } from './instances.ts'
import { runStart } from './start.ts'

type SystemFlags = { kubeconfig?: string; port?: number }
type StartFlags = SystemFlags & { claims: number; exitWhenReady: boolean; report?: string }

const print = (line: string) => console.log(line)

function wholeNumber(least: number, most: number) {
  return (text: string): number => {
    const value = Number(text)
    if (!Number.isInteger(value) || value < least || value > most)
      throw new InvalidArgumentError(`must be a whole number from ${least} to ${most}`)
    return value
  }
}

/** Ctrl-C and TERM stop in order; a second one does not wait. */
function stopSignal(): AbortSignal {
  const controller = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      if (controller.signal.aborted && name === 'SIGINT') process.exit(130)
      controller.abort(new Error(`stopped by ${name}`))
    })
  }
  return controller.signal
}

const program = new Command('nso').description('network-services-operator on this machine').version('0.1.0')

function systemCommand(name: string, description: string): Command {
  return program
    .command(name)
    .description(description)
    .option('--kubeconfig <file>', 'use an existing cluster (its administrator’s kubeconfig) instead of a local control plane')
    .option('--port <number>', 'port of the local API server (default: any free one)', wholeNumber(1, 65_535))
}

systemCommand('start', 'start a control plane, NSO and Galactic, and bring sample claims to Ready')
  .option('--claims <number>', 'how many claims', wholeNumber(1, 5000), 3)
  .option('--exit-when-ready', 'stop when all claims are Ready', false)
  .option('--report <file>', 'write times, API writes and conflicts as JSON')
  .action(async (flags: StartFlags) => {
    process.exitCode = await runStart({ ...flags, mode: 'start', print, signal: stopSignal() })
  })

systemCommand('up', 'start a control plane, NSO and Galactic for daily work')
  .option('--detach', 'return when it is up', false)
  .action(async (flags: SystemFlags & { detach: boolean }) => {
    const running = current('up')
    if (running) {
      print(`It is up already (process ${running.pid}). Kubeconfig: ${running.kubeconfigPath}. To end it: npx nso down`)
      return
    }
    process.exitCode = flags.detach
      ? await detach()
      : await runStart({ ...flags, mode: 'up', claims: 1, exitWhenReady: false, print, signal: stopSignal() })
  })

program
  .command('down')
  .description('end what runs')
  .action(async () => {
    const running = createInstances().live()
    if (running.length === 0) print('Nothing is running.')
    for (const { pid } of running) process.kill(pid, 'SIGTERM')
    await untilGone(running.map(({ pid }) => pid))
    for (const { pid, mode } of running) print(`ended nso ${mode} (process ${pid})`)
  })

program
  .command('kubeconfig')
  .description('print the path of the running system’s kubeconfig')
  .action(() => {
    const running = current()
    if (running) print(running.kubeconfigPath)
    else fail('Nothing is running: start it with npm start or npx nso up.')
  })

program
  .command('kubectl')
  .description('kubectl on the running system')
  .allowUnknownOption()
  .allowExcessArguments()
  .helpOption(false)
  .action(async (_flags: unknown, command: Command) => {
    const running = current()
    if (!running) return fail('Nothing is running: start it with npm start or npx nso up.')
    const plane = await attachPlane(path.join(running.dir, 'control-plane'))
    const { command: binary, args, env } = kubectlCommand(plane, command.args)
    process.exitCode = spawnSync(binary, args, { env, stdio: 'inherit' }).status ?? 1
  })

/** The newest running system that is ready. */
function current(mode?: Instance['mode']): Instance | undefined {
  return createInstances()
    .live()
    .find((instance) => instance.ready && (mode === undefined || instance.mode === mode))
}

function fail(message: string): void {
  console.error(message)
  process.exitCode = 1
}

/** Runs `nso up` in a session of its own and returns when it is ready; shows its output when it is not. */
async function detach(): Promise<number> {
  const log = path.join(stateFolder(), 'up.log')
  const instances = createInstances()
  const output = openSync(log, 'w', 0o600)
  const args = process.argv.slice(1).filter((arg) => arg !== '--detach')
  const child = spawn(process.execPath, args, { detached: true, stdio: ['ignore', output, output] })
  let ended: number | undefined
  child.on('exit', (code) => {
    ended = code ?? 1
  })
  child.unref()
  for (let shown = ''; ; ) {
    const ready = instances.live().find(({ pid, ready: isUp }) => pid === child.pid && isUp)
    const text = await tail(log, 10_000)
    if (text.length > shown.length) process.stdout.write(text.slice(shown.length))
    shown = text
    if (ready) {
      print(`\nup, in the background (process ${ready.pid}). Kubeconfig: ${ready.kubeconfigPath}. To end it: npx nso down`)
      return 0
    }
    if (ended !== undefined) return ended
    await systemClock.sleep(200, new AbortController().signal)
  }
}

async function untilGone(pids: readonly number[]): Promise<void> {
  const instances = createInstances()
  while (instances.live().some(({ pid }) => pids.includes(pid))) await systemClock.sleep(100, new AbortController().signal)
}

await program.parseAsync()
