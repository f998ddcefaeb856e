/**
 * Preloaded (`node --import`) into child processes that the command line starts: their standard input is a pipe that nobody
 * writes to, and it ends when the parent ends, however it ends. So a killed parent leaves nothing running.
 */
import process from 'node:process'

process.stdin.resume()
process.stdin.once('end', () => process.kill(process.pid, 'SIGTERM'))
// A pipe that holds the process open would keep a finished child alive.
const { stdin } = process as { stdin: NodeJS.ReadStream & { unref?(): void } }
stdin.unref?.()
