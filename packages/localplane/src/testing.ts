/** For tests: one control plane for many of them, a namespace for each. */
import { rmSync } from 'node:fs'
import { type Plane, type PlaneOptions, startPlane } from './plane.ts'
import { attachPlane, type PlaneAccess } from './plane-access.ts'

export { type Converter, startConverter } from './converter.ts'
export { installManifests } from './install-manifests.ts'
export { type EventuallyOptions, eventually } from './wait.ts'

let shared: Promise<PlaneAccess> | undefined

/**
 * The plane that the environment's LOCALPLANE_SHARED names (its directory or plane.json), else one of this process's own,
 * which ends with the process. All callers of one process share it: use names of your own for what is not in a namespace.
 */
export function sharedPlane(options: SharedPlaneOptions = {}): Promise<PlaneAccess> {
  shared ??= findOrStart(options)
  return shared
}

/** Of a plane that is started here; the first caller's count. */
export type SharedPlaneOptions = Pick<PlaneOptions, 'auditBodies'>

async function findOrStart(options: SharedPlaneOptions): Promise<PlaneAccess> {
  const running = process.env.LOCALPLANE_SHARED
  if (running) return await attachPlane(running)
  const plane: Plane = await startPlane({ ...options, name: 'shared', log: (line) => process.stderr.write(`${line}\n`) })
  process.once('exit', () => {
    plane.kill()
    rmSync(plane.dir, { recursive: true, force: true, maxRetries: 3 })
  })
  return plane
}

export type TestNamespace = { name: string; [Symbol.asyncDispose](): Promise<void> }

/** A namespace with a name of its own. Disposing asks for its deletion and does not wait for it. */
export async function testNamespace(plane: Pick<PlaneAccess, 'connection'>, prefix: string): Promise<TestNamespace> {
  const name = `${prefix}-${crypto.randomUUID().slice(0, 8)}`
  const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }
  await plane.connection.must({ method: 'POST', path: '/api/v1/namespaces', body })
  return {
    name,
    async [Symbol.asyncDispose]() {
      await plane.connection.request({ method: 'DELETE', path: `/api/v1/namespaces/${name}` }).catch(() => {})
    },
  }
}
