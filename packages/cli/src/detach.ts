/** `nso up --detach`: the same command in a session of its own, its output shown until it is up. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import path from 'node:path'
import { systemClock } from 'kube-control-loop'
import { findProcess } from 'kube-localplane'
import { createInstances, stateFolder } from './instances.ts'
import { statusOf } from './signals.ts'

const everyMs = 100

/** Resolves with 0 when it is up, with its exit status when it ended before. Ctrl-C until then ends it. */
export async function detach(print: (line: string) => void, signal: AbortSignal): Promise<number> {
  const instances = createInstances()
  removeOldLogs()
  const fresh = logOf(`starting-${process.pid}`)
  const output = openSync(fresh, 'w', 0o600)
  const source = await open(fresh)
  const args = process.argv.slice(1).filter((arg) => arg !== '--detach')
  const child = spawn(process.execPath, args, { detached: true, stdio: ['ignore', output, output] })
  closeSync(output)
  const log = logOf(String(child.pid))
  renameSync(fresh, log)
  const ended = once(child, 'exit').then(([code]) => Number(code ?? 1))
  const show = () => showNew(source)
  const isUp = () => instances.live().some(({ pid, ready }) => pid === child.pid && ready)
  const tick = () => systemClock.sleep(everyMs, signal).then(() => undefined)
  try {
    for (;;) {
      const code = await Promise.race([ended, tick()])
      const up = isUp()
      await show()
      if (code !== undefined) return code
      if (!up) continue
      child.unref()
      print(`\nIt runs in the background (process ${child.pid}); its output goes to ${log}. To end it: npx nso down`)
      return 0
    }
  } catch (error) {
    if (!signal.aborted) throw error
    child.kill('SIGTERM')
    await ended
    await show()
    return statusOf(signal)
  } finally {
    await source.close()
  }
}

const logOf = (name: string) => path.join(stateFolder(), `up.${name}.log`)

/** The output of a background process is kept as long as it runs, and afterwards until the next one starts. */
function removeOldLogs(): void {
  for (const name of readdirSync(stateFolder())) {
    const pid = /^up\.(?:starting-)?(\d+)\.log$/.exec(name)?.[1]
    if (pid && !findProcess(Number(pid))) rmSync(path.join(stateFolder(), name), { force: true })
  }
}

/** Passes on what was written since the last call. */
async function showNew(source: FileHandle): Promise<void> {
  for (;;) {
    const { bytesRead, buffer } = await source.read({ buffer: Buffer.alloc(65_536) })
    if (bytesRead === 0) return
    process.stdout.write(buffer.subarray(0, bytesRead))
  }
}
