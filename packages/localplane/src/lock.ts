/**
 * A lock between processes: a file with its holder's identity. A holder that was killed leaves the file; the next one to
 * ask sees that no such process runs and takes it over.
 */
import { link, readFile, rm, unlink, writeFile } from 'node:fs/promises'
import { hasCode } from './errors.ts'
import { findProcess, isAlive, type ProcessIdentity } from './processes.ts'
import { sleep } from './wait.ts'

export type Lock = { release(): Promise<void> }

const pollMs = 100

/** Takes the lock, or says who holds it. */
export async function tryLock(path: string): Promise<Lock | { heldBy: ProcessIdentity }> {
  const mine = `${path}.${process.pid}.${crypto.randomUUID()}`
  await writeFile(mine, JSON.stringify(findProcess(process.pid)), { mode: 0o600 })
  try {
    for (;;) {
      if (await linked(mine, path)) return { release: () => unlinkIfThere(path) }
      const holder = await readHolder(path)
      if (holder === 'gone') continue
      if (holder !== 'nobody' && isAlive(holder)) return { heldBy: holder }
      await removeStale(path)
    }
  } finally {
    await unlinkIfThere(mine)
  }
}

/** Waits for the lock. `onWait` is called once for each holder that is waited for. */
export async function waitForLock(path: string, onWait: (holder: ProcessIdentity) => void, signal?: AbortSignal): Promise<Lock> {
  let announced: number | undefined
  for (;;) {
    const answer = await tryLock(path)
    if ('release' in answer) return answer
    if (announced !== answer.heldBy.pid) onWait(answer.heldBy)
    announced = answer.heldBy.pid
    await sleep(pollMs, signal)
  }
}

/** A link appears with its content, so nobody reads a half-written holder. */
async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
    return true
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false
    throw error
  }
}

async function readHolder(path: string): Promise<ProcessIdentity | 'gone' | 'nobody'> {
  try {
    const holder: unknown = JSON.parse(await readFile(path, 'utf8'))
    const valid = typeof holder === 'object' && holder !== null && 'pid' in holder && 'started' in holder
    return valid ? (holder as ProcessIdentity) : 'nobody'
  } catch (error) {
    return hasCode(error, 'ENOENT') ? 'gone' : 'nobody'
  }
}

/**
 * Two processes may find the same stale lock; the slower must not remove the lock that the faster has just taken. So a
 * second lock guards the removal and the first is read again under it. A guard left by a kill within these lines is
 * taken over when its process is gone.
 */
async function removeStale(path: string): Promise<void> {
  const guard = `${path}.takeover`
  try {
    await writeFile(guard, JSON.stringify(findProcess(process.pid)), { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
    const holder = await readHolder(guard)
    if (holder !== 'gone' && holder !== 'nobody' && !isAlive(holder)) await rm(guard, { force: true })
    return await sleep(pollMs)
  }
  try {
    const holder = await readHolder(path)
    if (holder === 'nobody' || (holder !== 'gone' && !isAlive(holder))) await unlinkIfThere(path)
  } finally {
    await unlinkIfThere(guard)
  }
}

async function unlinkIfThere(path: string): Promise<void> {
  try {
    await unlink(path)
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
  }
}
