/** What a network needs: its prefix, and a context in every location that is served. Pure. */
import { contextName, Network, NetworkContext } from '@nso/api'
import { apiVersionOf, type JsonPatchOperation } from 'kube-control-loop'
import type { Block } from '../../addresses/cidr.ts'
import type { RefusalReason } from '../../addresses/port.ts'
import { changeEntries, changeValue } from '../../json-patch.ts'
import { advice } from '../../messages.ts'
import { controllerReference, isDeleting, isOwnedBy, isTooLong, placeLabels } from '../objects.ts'
import { networkClaimName, type RangeRef, type RangeRequest, rangeRequest } from '../range-claim.ts'
import { familiesOf, heldPrefix, ipv4RangeOf, pickPrefix, statedIpv6Range } from '../ranges.ts'
import type { RangesSeen, Seen } from './observe.ts'

export type Ranges =
  /** No range is asked for: another policy gives them, or there is no family to carry. */
  | { kind: 'none' }
  /** `ref`: where an address service holds it. */
  | { kind: 'held'; prefix: Block | undefined; ref?: RangeRef }
  /** An address service is to be asked. */
  | ({ kind: 'ask' } & RangeRequest)
  | Refused

/** `retry`: nothing that is watched tells when it would be otherwise. */
type Refused = { kind: 'refused'; reason: 'RangeUnsupported' | 'RangeOccupied' | RefusalReason; message: string; retry?: boolean }

export type Decision =
  | { do: 'release'; remove: readonly NetworkContext[] }
  | {
      do: 'serve'
      ranges: Ranges
      create: readonly NetworkContext[]
      change: readonly { context: NetworkContext; operations: readonly JsonPatchOperation[] }[]
      /** Contexts of locations that are not served any more, as far as the cache knows. */
      retire: readonly NetworkContext[]
      /** Names of contexts that no object can have. */
      tooLong: readonly string[]
    }

export function decide(seen: Seen): Decision {
  const { network, contexts, locations } = seen
  const own = contexts.filter((context) => isOwnedBy(context, network))
  if (isDeleting(network)) {
    return { do: 'release', remove: own.filter((context) => !isDeleting(context)) }
  }
  const wanted = locations.map((location) => contextFor(network, location))
  const standing = new Map(contexts.map((context) => [context.metadata.name, context]))
  const live = own.filter((context) => !isDeleting(context))
  return {
    do: 'serve',
    ranges: rangesOf(seen),
    create: wanted.filter(({ metadata: { name } }) => !standing.has(name) && !isTooLong(name)),
    change: live.flatMap((context) => {
      const want = wanted.find((each) => each.metadata.name === context.metadata.name)
      const operations = want ? changes(context, want) : []
      return operations.length > 0 ? [{ context, operations }] : []
    }),
    retire: live.filter((context) => !locations.includes(context.spec.location.name)),
    tooLong: wanted.map(({ metadata: { name } }) => name).filter(isTooLong),
  }
}

/** An explicit range wins; else what the status records stays, whatever others hold; else a prefix is chosen. */
function rangesOf({ network, ranges }: Seen): Ranges {
  const families = familiesOf(network)
  if (network.spec.ipam.mode !== 'Auto' || families.length === 0) return { kind: 'none' }
  if (ranges.kind === 'service') return askFor(network, ranges)
  const ipv4 = families.includes('IPv4') ? ipv4RangeOf(network) : undefined
  if (ipv4?.kind === 'unsupported') return { kind: 'refused', reason: 'RangeUnsupported', message: ipv4.message }
  if (!families.includes('IPv6')) return { kind: 'held', prefix: undefined }
  const stated = statedIpv6Range(network)
  if (stated?.kind === 'unsupported') return { kind: 'refused', reason: 'RangeUnsupported', message: stated.message }
  const prefix = stated?.range ?? heldPrefix(network) ?? pickPrefix(network.metadata.uid ?? network.metadata.name, ranges.held)
  if (prefix) return { kind: 'held', prefix }
  const message = advice(
    'Every /48 of fd20::/20 is held by another network',
    'delete networks that are not used, or set spec.ipam.ipv6Range',
  )
  return { kind: 'refused', reason: 'AddressPoolExhausted', message }
}

/** An address service holds an IPv6 range for each network, of its own choice. Of IPv4 addresses it has pools that no network owns. */
function askFor(network: Network, { className, project }: Extract<RangesSeen, { kind: 'service' }>): Ranges {
  const { name, uid } = network.metadata
  if (!className || !uid || !familiesOf(network).includes('IPv6')) return { kind: 'none' }
  if (network.spec.ipam.ipv6Range) {
    const what = `spec.ipam.ipv6Range ${network.spec.ipam.ipv6Range} cannot be had, the address service chooses the ranges`
    return { kind: 'refused', reason: 'RangeUnsupported', message: advice(what, 'leave spec.ipam.ipv6Range out') }
  }
  if (project.kind === 'refused') return { ...project, retry: true }
  const claim = { name: networkClaimName(uid), className, project: project.project, place: { network: name } }
  return { kind: 'ask', ...rangeRequest(claim) }
}

/** The presence of a network in one location, as its POST says it. */
export function contextFor(network: Network, location: string): NetworkContext {
  const { name, namespace, uid, generation } = network.metadata
  const ipFamilies = [...familiesOf(network)]
  return {
    apiVersion: apiVersionOf(NetworkContext),
    kind: NetworkContext.kind,
    metadata: {
      name: contextName(name, location),
      ...(namespace === undefined ? {} : { namespace }),
      labels: placeLabels({ network: name, location, networkUid: uid }),
      ownerReferences: [controllerReference(Network, network)],
    },
    spec: {
      network: { name },
      location: { name: location },
      ...(ipFamilies.length > 0 ? { ipFamilies } : {}),
      mtu: network.spec.mtu,
      ...(generation === undefined ? {} : { networkGeneration: generation }),
    },
  }
}

/** What of a context follows its network. The network and the location are its identity and never move. */
function changes(context: NetworkContext, want: NetworkContext): JsonPatchOperation[] {
  const projected = ['ipFamilies', 'mtu', 'networkGeneration'] as const
  return [
    ...projected.flatMap((field) => changeValue(`/spec/${field}`, context.spec[field], want.spec[field])),
    ...changeEntries('/metadata/labels', context.metadata.labels, want.metadata.labels ?? {}),
  ]
}
