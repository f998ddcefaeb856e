/** Builds the control plane if it is not in the cache, with progress: `node src/build.ts`. */
import { ensureControlPlane } from './control-plane.ts'
import { LocalplaneError } from './errors.ts'

const stop = new AbortController()
process.once('SIGINT', () => stop.abort(new LocalplaneError('BUILD_FAILED', 'interrupted')))
process.once('SIGTERM', () => stop.abort(new LocalplaneError('BUILD_FAILED', 'interrupted')))
try {
  const { apiServer } = await ensureControlPlane({ log: (line) => console.error(line), signal: stop.signal })
  console.log(apiServer.command)
} catch (error) {
  if (!(error instanceof LocalplaneError)) throw error
  console.error(error.message)
  process.exitCode = 1
}
