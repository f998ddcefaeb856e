/** What a machine must have for workloads to be attached on it. */
import { platform } from 'node:os'
import { run } from './run.ts'

/** All that is tried here goes with the namespace it is tried in. */
const trial = 'ip link add trial0 type bridge && ip link add trial1 type veth peer name trial2 && mount -t tmpfs none /run'

const programs = { unshare: 'util-linux', nsenter: 'util-linux', ip: 'iproute2', python3: 'python3' } as const

/** Sentences about what is missing for namespaces, bridges and probes; empty where all is there. */
export async function missingForNode(): Promise<string[]> {
  if (platform() !== 'linux') return ['network namespaces exist on Linux only']
  const absent = await Promise.all(
    Object.entries(programs).map(async ([name, from]) =>
      (await isThere(name)) ? [] : [`the program ${name} is not installed (Debian package ${from})`],
    ),
  )
  if (absent.flat().length > 0) return absent.flat()
  if (process.getuid?.() !== 0) return ['this user is not root, who alone may make network namespaces here']
  const { code, stderr } = await run('unshare', ['--net', '--mount', '--', '/bin/sh', '-c', trial])
  return code === 0 ? [] : [`this machine gives root no network namespaces with bridges in them (${stderr.trim()})`]
}

async function isThere(program: string): Promise<boolean> {
  return await run(program, ['--version']).then(
    () => true,
    () => false,
  )
}
