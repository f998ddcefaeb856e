/**
 * The CNI configuration list of an attachment, as the text that stands in its NetworkAttachmentDefinition, for the standard
 * plugins bridge, static and tuning. Nodes run them as root, so nothing but checked fields gets into it. Pure.
 * Source: CNI specification 1.0.0 (network configuration lists); containernetworking/plugins 1.10.0 (keys and what they do).
 */
import { createHash } from 'node:crypto'
import { isIPv4 } from 'node:net'
import { type Cidr, canonicalAddress, contains, parseCidr } from './cidr.ts'

export type Link = {
  /** Bytes; absent: the kernel's default. */
  readonly mtu?: number | undefined
  /** Addresses with prefix length. None: the workload addresses itself, and no address plugin runs. */
  readonly addresses: readonly string[]
  /** Next hops, without prefix length; each address goes with the first one of its family. */
  readonly gateways: readonly string[]
}

/** What an attachment takes from its network. */
export type OnNetwork = {
  /** Name of the bridge device. */
  readonly bridge: string
  /** In the order in which their routes are to stand; some may say the same. */
  readonly ranges: readonly string[]
  readonly hostGateway: boolean
}

/** Two names of the same attachment: of its object, and of its configuration. */
export type Named = { readonly namespace: string; readonly name: string }

/** libcni keeps results in files `<name>-<container id>-<device>`; a file name has 255 bytes, the other two up to 81. */
const longestName = 160

/**
 * Name of the configuration inside the definition: unique in the cluster (a namespace has no dot in it) and the same for the life
 * of the attachment, since nodes find by it what they have attached. Source: libcni, ValidateNetworkName.
 */
export function configurationName({ namespace, name }: Named): string {
  const plain = `${namespace}.${name}`
  if (plain.length <= longestName) return plain
  const digest = createHash('sha256').update(plain).digest('hex').slice(0, 32)
  return `${plain.slice(0, longestName - digest.length)}.${digest}`
}

/**
 * Renders the list. The order of keys and the absence of empty ones are part of the promise: the same input gives the same
 * bytes, so a stored configuration that is still right is never rewritten.
 *
 * Without hostGateway an address stands as it was given, and each range of its family is a route on the link. No gateway is
 * said: the static plugin would send those very routes through it. With hostGateway the address has the length of its range, since
 * the bridge plugin gives the bridge its gateway address with that length, and the node finds its way back by it.
 * Never a default route: the interface is a Pod's second one.
 */
export function conflist(named: Named, link: Link, network: OnNetwork): string {
  const addresses = link.addresses.flatMap((text) => parseCidr(text) ?? [])
  const ranges = distinct(network.ranges.flatMap((text) => parseCidr(text) ?? []))
  const main = {
    type: 'bridge',
    bridge: network.bridge,
    ...(link.mtu ? { mtu: link.mtu } : {}),
    ...(network.hostGateway && addresses.length > 0 ? { isGateway: true } : {}),
    ipMasq: false,
    forceAddress: false,
    ...(addresses.length > 0 ? { ipam: addressing(addresses, ranges, link.gateways, network.hostGateway) } : {}),
  }
  const plugins = [main, { type: 'tuning', sysctl: settings(addresses) }]
  return JSON.stringify({ cniVersion: '1.0.0', name: configurationName(named), plugins })
}

/** Each range once, however it is written: the kernel refuses a second route to it, and with it the workload. */
const distinct = (ranges: readonly Cidr[]) => [...new Map(ranges.map((range) => [prefixOf(range), range])).values()]

/** A range as it is written here. */
export const prefixOf = ({ network, length }: Cidr) => `${network}/${length}`

function addressing(addresses: readonly Cidr[], ranges: readonly Cidr[], gateways: readonly string[], hostGateway: boolean) {
  if (!hostGateway) {
    const onLink = [...addresses.filter(isSingleFour), ...ranges.filter((range) => needsRoute(range, addresses))]
    const routes = onLink.map((range) => ({ dst: prefixOf(range) }))
    return {
      type: 'static',
      addresses: addresses.map(({ address, length }) => ({ address: `${address}/${length}` })),
      ...(routes.length > 0 ? { routes } : {}),
    }
  }
  return {
    type: 'static',
    addresses: addresses.map((cidr) => {
      const length = ranges.find((range) => contains(range, cidr.address))?.length ?? cidr.length
      const gateway = gatewayOf(cidr, gateways)
      return { address: `${cidr.address}/${length}`, ...(gateway === undefined ? {} : { gateway }) }
    }),
  }
}

/** The routes that a stored text says. Anyone may have written it: nothing is taken for granted, and nothing throws. */
export function routesIn(config: string | undefined): Cidr[] {
  let list: unknown
  try {
    list = JSON.parse(config ?? '')
  } catch {
    return []
  }
  const at = (value: unknown, key: string): unknown =>
    typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined
  const routes = at(at(at(at(list, 'plugins'), '0'), 'ipam'), 'routes')
  const written = Array.isArray(routes) ? routes.map((route) => at(route, 'dst')) : []
  return written.flatMap((dst) => (typeof dst === 'string' && parseCidr(dst)) || [])
}

/** CHECK of the bridge plugin looks for a route with the prefix of each address. The kernel makes all but this one. */
const isSingleFour = ({ family, length }: Cidr) => family === 'IPv4' && length === 32

/** A range of a family that is spoken, unless an address stands with a prefix that makes the route by itself. */
const needsRoute = (range: Cidr, addresses: readonly Cidr[]) =>
  addresses.some(({ family }) => family === range.family) &&
  !addresses.some((cidr) => cidr.length <= range.length && contains(cidr, range.network))

/** The next hop that goes with an address: the first one of its family. */
export function gatewayOf({ family }: Pick<Cidr, 'family'>, gateways: readonly string[]): string | undefined {
  const gateway = gateways.find((candidate) => isIPv4(candidate) === (family === 'IPv4'))
  return gateway === undefined ? undefined : canonicalAddress(gateway)
}

/**
 * A Pod with several interfaces answers on each for its own addresses only, and another workload of the segment configures
 * nothing on it. IPv6 is named only where there is an address of it: the files are missing where a kernel has none.
 */
function settings(addresses: readonly Cidr[]): Record<string, string> {
  const four = { 'net.ipv4.conf.IFNAME.arp_announce': '2', 'net.ipv4.conf.IFNAME.arp_ignore': '1' }
  const six = { 'net.ipv6.conf.IFNAME.accept_ra': '0', 'net.ipv6.conf.IFNAME.autoconf': '0' }
  return addresses.some(({ family }) => family === 'IPv6') ? { ...four, ...six } : four
}
