/** Builds the control plane, promtool or the CNI tools, if not in the cache, with progress: `node src/build.ts [promtool|cni]`. */
import { ensureCniTools } from './cni-tools.ts'
import { ensureControlPlane } from './control-plane.ts'
import { LocalplaneError } from './errors.ts'
import { ensurePromtool } from './promtool.ts'

const stop = new AbortController()
process.once('SIGINT', () => stop.abort(new LocalplaneError('BUILD_FAILED', 'interrupted')))
process.once('SIGTERM', () => stop.abort(new LocalplaneError('BUILD_FAILED', 'interrupted')))
try {
  const options = { log: (line: string) => console.error(line), signal: stop.signal }
  if (process.argv[2] === 'promtool') console.log(await ensurePromtool(options))
  else if (process.argv[2] === 'cni') console.log((await ensureCniTools(options)).cniPath)
  else console.log((await ensureControlPlane(options)).apiServer.command)
} catch (error) {
  if (!(error instanceof LocalplaneError)) throw error
  console.error(error.message)
  process.exitCode = 1
}
