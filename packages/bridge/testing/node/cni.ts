/** Runs a CNI configuration on a network namespace with the CNI project's `cnitool`, as a container runtime would. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Namespace } from './namespace.ts'

/** Paths of the programs; `cniPath` as in the environment variable CNI_PATH. */
export type CniTools = { cnitool: string; cniPath: string }

/** Result of an ADD. Source: CNI specification 1.0.0, section 5. */
export type CniResult = {
  cniVersion: string
  interfaces?: { name: string; mac?: string; mtu?: number; sandbox?: string }[]
  ips?: { address: string; gateway?: string; interface?: number }[]
  routes?: { dst: string; gw?: string }[]
}

export type CniRequest = {
  verb: 'add' | 'check' | 'del'
  /** Text of the configuration, or of a list. */
  config: string
  /** Path of the workload's network namespace, and the name of the device in it. */
  netns: string
  device: string
}

/** Folders in which cnitool and plugins keep what they have done: to be a node's own. */
export const stateFolders = ['/var/lib/cni', '/run/cni'] as const

/** Resolves with what cnitool printed; rejects with the plugin's complaint. */
export async function runCni(node: Namespace, tools: CniTools, request: CniRequest): Promise<string> {
  const { verb, config, netns, device } = request
  const { name, plugins } = JSON.parse(config) as { name?: string; plugins?: unknown }
  if (!name) throw new Error('the CNI configuration has no name')
  const folder = await mkdtemp(join(tmpdir(), 'cni-'))
  try {
    await writeFile(join(folder, plugins ? 'net.conflist' : 'net.conf'), config)
    const env = { CNI_PATH: tools.cniPath, NETCONFPATH: folder, CNI_IFNAME: device }
    const { code, stdout, stderr } = await node.run(tools.cnitool, [verb, name, netns], { env })
    if (code === 0) return stdout
    // After its own usage text, which nobody asked for.
    const complaint = (stderr + stdout).trim().split('\n').at(-1)
    throw new Error(`cnitool ${verb} of ${name}: ${complaint}`)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
