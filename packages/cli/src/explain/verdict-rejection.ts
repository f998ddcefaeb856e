/** Why a claim is not bound or has no addresses: at which object of its surroundings. Pure. */
import type { KubeObject } from 'kube-control-loop'
import type { StoredCondition } from '../owners/stored.ts'
import { type Break, saidBy } from './break.ts'
import type { Link } from './chain.ts'
import { going } from './deletion.ts'
import { absent, brief, type Facts, missing, refOf, showCondition } from './facts.ts'
import type { ObjectName } from './model.ts'

const locations = ['NoLocationIdentity', 'AmbiguousLocationIdentity']
const families = ['AddressFamiliesUnknown', 'AddressFamilyNotCarried']
const pools = [
  'AddressPoolExhausted',
  'RetainedAddressConflict',
  'AddressAllocationRejected',
  'AllocationFailed',
  'SubnetGatewayUnusable',
  'AddressAllocationMissing',
]
const capabilities = ['AttachmentModeNotSupported', 'AddressFamilyNotSupported']
const interfaces = [
  'InterfaceHeldByAnotherClaim',
  'NetworkMismatch',
  'InterfaceNameMismatch',
  'AddressFamilyMissing',
  'AddressClassMissing',
  'ReclaimPolicyMismatch',
  'InterfaceRefused',
]

const api = 'networking.datumapis.com/v1alpha'

function atNetwork(facts: Facts): { at: ObjectName; how?: string } | undefined {
  const { network, context } = facts.chain
  for (const link of [network, context]) {
    if (!link) continue
    if (link.object?.metadata.deletionTimestamp) return { at: link.wanted, how: going(facts, link.object) }
    const { isKnown, says } = missing(facts, link)
    if (!link.object && isKnown) return { at: link.wanted, how: `it ${says}` }
  }
  return context && { at: context.wanted }
}

const wordsOf = (message: string): ReadonlySet<string> => new Set(message.split(/[\s,;:()]+/))

/** The Subnets that the message names; else those that were asked in vain, or the context, which lacks what was asked for. */
function atPool({ chain }: Facts, { reason, message = '' }: StoredCondition): { at: ObjectName; how?: string } | undefined {
  if (chain.subnets.length === 0) return chain.context && { at: chain.context.wanted, how: 'it has no Subnet' }
  const words = wordsOf(message)
  const named = chain.subnets.filter(({ metadata }) => words.has(metadata.name))
  const [subnet, ...others] = named.length === 0 && reason === 'AddressPoolExhausted' ? chain.subnets : named
  if (!subnet) return chain.context && { at: chain.context.wanted }
  const how = others.length > 0 ? { how: `it and ${others.map((one) => one.metadata.name).join(', ')} are asked` } : {}
  return { at: refOf(subnet), ...how }
}

/** The data plane that the message names; else the one that the claim has, or would get. */
function atPlane({ chain: { plane, planes, offer } }: Facts, { message = '' }: StoredCondition): { at: ObjectName } | undefined {
  const words = wordsOf(message)
  const asked = planes.find(({ metadata }) => words.has(metadata.name)) ?? plane.object ?? offer
  return asked && { at: refOf(asked) }
}

const held = (link: Link): { at: ObjectName } => ({ at: link.wanted })

function placeOf(facts: Facts, condition: StoredCondition): { at: ObjectName; how?: string } | undefined {
  const { reason = '' } = condition
  if (locations.includes(reason)) {
    const [location] = facts.chain.locations
    return { at: location ? refOf(location) : { apiVersion: api, kind: 'ServingLocation', name: '(none)' } }
  }
  if (reason === 'NetworkNotAvailableInLocation') return atNetwork(facts)
  if (families.includes(reason)) return facts.chain.context && { at: facts.chain.context.wanted }
  if (capabilities.includes(reason)) return atPlane(facts, condition)
  if (pools.includes(reason)) return atPool(facts, condition)
  return interfaces.includes(reason) ? held(facts.chain.interface) : undefined
}

/** The object at which a claim's (or interface's) allocation stops, by the reason that its condition gives. */
export function rejectionAt(facts: Facts, object: KubeObject, condition: StoredCondition): Break {
  const { at, how } = placeOf(facts, condition) ?? { at: refOf(object), how: undefined }
  const because = `${brief(condition.message) || 'no message'} (${showCondition(condition)})`
  const unknown = condition.status === 'Unknown' ? absent(facts, 'NSO') : ''
  return { at, because: `${how === undefined ? '' : `${how}; `}${because}${unknown}`, ...saidBy(object, condition) }
}
