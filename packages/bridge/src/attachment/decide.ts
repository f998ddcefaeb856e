/** What to do about a living attachment: a pure function of what was seen. Tear-down is release.ts. */
import { hindrance, isRendered, type Rendering, type SeenDefinition } from 'kube-multus'
import { labels } from '../api/index.ts'
import { contains, parseCidr } from './cidr.ts'
import { conflist, gatewayOf, type Link, type Named, type OnNetwork, prefixOf, routesIn } from './conflist.ts'

export type SeenAttachment = Named & {
  readonly network: string
  readonly link: Link
  /** On its link besides those of the network. */
  readonly ranges: readonly string[]
  /** Device in the status: written once. */
  readonly recorded: string | undefined
}

/** `bridge` is absent until the network has its name. */
export type SeenNetwork = Omit<OnNetwork, 'bridge'> & { readonly bridge: string | undefined; readonly deleting: boolean }

export type Seen = {
  readonly attachment: SeenAttachment
  readonly network: SeenNetwork | undefined
  /** False: the API server does not serve NetworkAttachmentDefinitions, so there can be none. */
  readonly definitionsServed: boolean
  readonly definition: SeenDefinition | undefined
}

export type BlockedReason =
  | 'AwaitingNetwork'
  | 'NetworkReplaced'
  | 'AddressOutsideNetwork'
  | 'GatewayOutsideNetwork'
  | 'DefinitionConflict'
  | 'AwaitingDefinitionRemoval'
  | 'DefinitionsNotInstalled'

export type Blocked = { readonly do: 'block'; readonly reason: BlockedReason; readonly message: string }

export type Decision =
  /** Nothing can be done before something watched changes. */
  Blocked | { readonly do: 'define' | 'redefine' | 'keep'; readonly bridge: string; readonly rendering: Rendering }

const hindered = {
  unserved: 'DefinitionsNotInstalled',
  deleting: 'AwaitingDefinitionRemoval',
  foreign: 'DefinitionConflict',
} as const satisfies Record<string, BlockedReason>

const block = (reason: BlockedReason, message: string): Blocked => ({ do: 'block', reason, message })

export function decide({ attachment, network: seen, definitionsServed, definition }: Seen): Decision {
  const usable = usableBy(attachment, seen)
  if ('do' in usable) return usable
  const network = { ...usable, ranges: withStanding(attachment.link, usable, definition) }
  const misfit = misfitOf(attachment.link, network)
  if (misfit) return misfit
  const hindrances = hindrance(attachment.name, definitionsServed, definition)
  if (hindrances) return block(hindered[hindrances.is], hindrances.message)
  const rendering = { labels: { [labels.bridge]: network.bridge }, config: conflist(attachment, attachment.link, network) }
  const does = !definition ? 'define' : isRendered(definition, rendering) ? 'keep' : 'redefine'
  return { do: does, bridge: network.bridge, rendering }
}

/** The network with its bridge, or why it cannot be used. Whoever is on it is not disturbed by its waiting to go. */
function usableBy({ network: name, recorded, ranges }: SeenAttachment, network: SeenNetwork | undefined): OnNetwork | Blocked {
  if (!network) return block('AwaitingNetwork', `BridgeNetwork ${name} does not exist`)
  const { bridge, deleting, ...rest } = network
  if (deleting && recorded === undefined)
    return block('AwaitingNetwork', `BridgeNetwork ${name} is being deleted and takes no new attachment`)
  if (bridge === undefined) return block('AwaitingNetwork', `BridgeNetwork ${name} has no bridge yet`)
  if (recorded !== undefined && recorded !== bridge)
    return block('NetworkReplaced', `this attachment is on bridge ${recorded}, BridgeNetwork ${name} has ${bridge}`)
  return { ...rest, bridge, ranges: onLink(rest, ranges) }
}

/**
 * Those of the network first, so that a text which is right stays so when its attachment comes to say them too. Where the node is
 * the gateway all workloads of a bridge must agree on the lengths of their ranges: only the network can say them.
 */
const onLink = ({ ranges, hostGateway }: Pick<OnNetwork, 'ranges' | 'hostGateway'>, further: readonly string[]) =>
  hostGateway ? ranges : [...ranges, ...further]

/**
 * A range that is taken away takes nothing from who has an address of it and is on it: its route stays, and is the memory of that.
 * Only ranges wider than the address count, since each address may have a route to itself.
 */
function withStanding({ addresses }: Link, { ranges, hostGateway }: OnNetwork, definition: SeenDefinition | undefined) {
  if (hostGateway || !definition?.isOurs) return ranges
  const known = ranges.flatMap((range) => parseCidr(range) ?? [])
  const strays = addresses
    .flatMap((address) => parseCidr(address) ?? [])
    .filter(({ address }) => !known.some((range) => contains(range, address)))
  const stood = routesIn(definition.config).filter((range) =>
    strays.some(({ address, length }) => range.length < length && contains(range, address)),
  )
  return stood.length === 0 ? ranges : [...ranges, ...stood.map(prefixOf)]
}

/** What would start and reach nobody is said before it starts. */
function misfitOf({ addresses, gateways }: Link, { ranges, hostGateway }: OnNetwork): Blocked | undefined {
  const known = ranges.flatMap((range) => parseCidr(range) ?? [])
  for (const text of addresses) {
    const cidr = parseCidr(text)
    const range = cidr && known.find((candidate) => contains(candidate, cidr.address))
    if (!range) return block('AddressOutsideNetwork', `address ${text} is in none of the ranges ${listed(ranges)}`)
    const gateway = hostGateway ? gatewayOf(cidr, gateways) : undefined
    if (gateway !== undefined && !contains(range, gateway))
      return block(
        'GatewayOutsideNetwork',
        `gateway ${gateway} of address ${text} is not in its range ${range.network}/${range.length}`,
      )
  }
  return undefined
}

const mostListed = 16

function listed(ranges: readonly string[]): string {
  const rest = ranges.length - mostListed
  return `${ranges.slice(0, mostListed).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}
