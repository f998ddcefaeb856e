/**
 * Preloaded (`node --import`) into child processes that the command line starts: their standard input is a pipe that nobody
 * writes to, and it ends when the parent ends, however it ends. So a killed parent leaves nothing running: a process that does
 * not manage its orderly stop, which may want a server that went at the same time, is ended by force.
 */
import process from 'node:process'

const graceMs = 5000
// Held here, since nothing else refers to the running limit. It does not keep a process alive that has ended in order.
let limit: AbortSignal | undefined

process.stdin.resume()
process.stdin.once('end', () => {
  process.kill(process.pid, 'SIGTERM')
  limit = AbortSignal.timeout(graceMs)
  limit.addEventListener('abort', () => process.kill(process.pid, 'SIGKILL'))
})
// A pipe that holds the process open would keep a finished child alive.
const { stdin } = process as { stdin: NodeJS.ReadStream & { unref?(): void } }
stdin.unref?.()
