/** A node: one network namespace for its bridges, and one for each workload that runs on it. Real kernel, real plugins, no kubelet. */
import { type CniResult, type CniTools, runCni, stateFolders } from './cni.ts'
import { type Namespace, openNamespace } from './namespace.ts'

export type Device = {
  name: string
  mtu: number
  mac: string
  /** With prefix lengths, as the kernel prints them; link-local ones left out. */
  addresses: string[]
}

export type Workload = Namespace & {
  readonly name: string
  /** Devices inside, the loopback left out. */
  devices(): Promise<Device[]>
}

export type Attached = {
  readonly result: CniResult
  /** Rejects when what was made is not there as it was made. */
  check(): Promise<void>
  /** With the configuration that it was attached with, whatever has become of it since. Can be repeated. */
  detach(): Promise<void>
}

export type AttachRequest = { config: string; device: string }

export type Node = {
  /** A namespace for a workload; it goes with the node at the latest. */
  workload(name: string): Promise<Workload>
  attach(workload: Workload, request: AttachRequest): Promise<Attached>
  /** Bridges of the node, each with its ports. */
  bridges(): Promise<{ name: string; ports: string[] }[]>
  /** Ends everything inside and the namespaces with it. Can be repeated. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export async function openNode(tools: CniTools): Promise<Node> {
  const own = await openNamespace({ ownFolders: stateFolders })
  const workloads: Workload[] = []
  const close = async () => {
    await Promise.all(workloads.splice(0).map((workload) => workload.close()))
    await own.close()
  }
  return {
    async workload(name) {
      const namespace = await openNamespace()
      const workload = { ...namespace, name, devices: async () => (await linksIn(namespace)).map(deviceOf) }
      workloads.push(workload)
      return workload
    },
    async attach({ path: netns }, { config, device }) {
      const cni = (verb: 'add' | 'check' | 'del') => runCni(own, tools, { verb, config, netns, device })
      const result = JSON.parse(await cni('add')) as CniResult
      return {
        result,
        check: async () => void (await cni('check')),
        detach: async () => void (await cni('del')),
      }
    },
    async bridges() {
      const links = await linksIn(own)
      const isBridge = ({ linkinfo }: Link) => linkinfo?.info_kind === 'bridge'
      return links.filter(isBridge).map(({ ifname }) => ({
        name: ifname,
        ports: links.filter(({ master }) => master === ifname).map((port) => port.ifname),
      }))
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** What is used of one entry of `ip -json -details address`. */
type Link = {
  ifname: string
  mtu: number
  address: string
  master?: string
  linkinfo?: { info_kind?: string }
  addr_info: { local: string; prefixlen: number; scope: string }[]
}

async function linksIn(namespace: Namespace): Promise<Link[]> {
  const links = JSON.parse(await namespace.must('ip', ['-json', '-details', 'address'])) as Link[]
  return links.filter(({ ifname }) => ifname !== 'lo')
}

function deviceOf({ ifname, mtu, address, addr_info }: Link): Device {
  const addresses = addr_info.filter(({ scope }) => scope !== 'link').map(({ local, prefixlen }) => `${local}/${prefixlen}`)
  return { name: ifname, mtu, mac: address, addresses }
}
