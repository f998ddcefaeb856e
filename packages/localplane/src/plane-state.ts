/** What a plane's directory says about the plane: read by other processes, and by the next start after a crash. */
import { readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ControlPlane } from './control-plane.ts'
import { isAlive, type ProcessIdentity } from './processes.ts'
import { planeFiles } from './server-flags.ts'

export type PlaneState = {
  name: string
  dir: string
  url: string
  port: number
  kubeconfigPath: string
  caPath: string
  auditLogPath?: string
  /** The process that started it and ends it. */
  starter: ProcessIdentity
  /** By role, for example `server` and `controllers`. */
  processes: Record<string, ProcessIdentity>
  programs: ControlPlane
}

/** Whoever reads it sees a whole state, never half of one. */
export async function writeState(state: PlaneState): Promise<void> {
  const path = join(state.dir, planeFiles.state)
  const partial = `${path}.${crypto.randomUUID()}.partial`
  await writeFile(partial, `${JSON.stringify(state, undefined, 2)}\n`, { mode: 0o600 })
  await rename(partial, path)
}

/** Takes a plane's directory or its plane.json. Undefined when there is no readable state. */
export async function readState(dirOrFile: string): Promise<PlaneState | undefined> {
  try {
    const isDir = (await stat(dirOrFile)).isDirectory()
    const state = JSON.parse(await readFile(isDir ? join(dirOrFile, planeFiles.state) : dirOrFile, 'utf8')) as PlaneState
    return typeof state.url === 'string' && state.processes ? state : undefined
  } catch {
    return undefined
  }
}

/** The state of a plane whose server runs; undefined for what a crash has left. */
export async function findRunningPlane(dirOrFile: string): Promise<PlaneState | undefined> {
  const state = await readState(dirOrFile)
  const server = state?.processes.server
  return server && isAlive(server) ? state : undefined
}
