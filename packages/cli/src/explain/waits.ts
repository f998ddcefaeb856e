/** What a condition that does not hold waits for, in words. Pure; undefined where nothing tells. */
import { NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import type { KubeObject } from 'kube-control-loop'
import type { StoredCondition } from '../owners/stored.ts'
import { type Facts, nameOf, reported, reporterOf, reportOf } from './facts.ts'
import { kindOf, sameKind } from './snapshot.ts'

const isOwn = (object: KubeObject): boolean =>
  [NetworkInterfaceClaim, NetworkInterface].some((kind) => sameKind(kindOf(object), kind))

/** Whether the chain goes through this object's report. */
const isReporting = ({ chain }: Facts, object: KubeObject): boolean =>
  object === chain.attachment?.object || object === chain.networkObject?.object

/** The documented reporter of a condition, in words. */
export function reporterName(facts: Facts, object: Pick<KubeObject, 'apiVersion' | 'kind'>, type: string): string {
  const { name, writer } = reporterOf(facts, object, type)
  return writer === undefined ? name : `${writer} (${name})`
}

const fromNetworks: readonly string[] = ['AwaitingVPC', 'AwaitingVPCIdentifier', 'AwaitingNetworkContext']

function forNetwork({ chain: { networkObject, context } }: Facts, reason: string): string | undefined {
  if (reason === 'AwaitingNetworkContext') return context && nameOf(context.wanted)
  if (!networkObject) return undefined
  return reason === 'AwaitingVPC' ? nameOf(networkObject.wanted) : `the identifier of ${nameOf(networkObject.wanted)}`
}

function forReport(facts: Facts, type: string, reason: string): string | undefined {
  const { attachment, location } = facts.chain
  if (reason === 'NoDataPlane') return `an accepted DataPlane that serves location ${location ?? '(unknown)'}`
  if (reason === 'DataPlaneNotInstalled') return `kind ${attachment?.wanted.kind ?? 'of the attachment'} being installed`
  if (reason === 'AttachmentRefused') return `the API server taking ${attachment ? nameOf(attachment.wanted) : 'the attachment'}`
  if (reason === 'NetworkObjectForeign') return forForeign(facts)
  if (fromNetworks.includes(reason)) return forNetwork(facts, reason)
  const report = reportOf(facts)
  if (!attachment || !report) return undefined
  if (!attachment.object) return `NSO to make ${nameOf(attachment.wanted)}`
  const condition = (type === 'Programmed' ? report.programmed : undefined) ?? report.prepared
  const whose = `condition ${condition} of ${nameOf(attachment.wanted)}, which ${reporterName(facts, attachment.object, condition)} reports`
  return reason === 'ReportStale' ? `${whose}, for generation ${attachment.object.metadata.generation}` : whose
}

function forForeign({ chain: { networkObject } }: Facts): string {
  return `the foreign ${networkObject ? nameOf(networkObject.wanted) : 'network object'} being gone`
}

function forCapability({ chain: { location } }: Facts): string {
  return `a DataPlane for location ${location ?? '(unknown)'} that can do what it asks for`
}

const forClaim: Readonly<Record<string, (facts: Facts) => string | undefined>> = {
  NoLocationIdentity: () => 'a ServingLocation',
  AmbiguousLocationIdentity: () => 'one ServingLocation, or the location being set',
  NetworkNotAvailableInLocation: ({ chain: { context } }) => context && nameOf(context.wanted),
  AddressPoolExhausted: ({ chain: { subnets } }) =>
    subnets.length > 0 ? `a free address in ${subnets.map((subnet) => subnet.metadata.name).join(', ')}` : 'a Subnet',
  AttachmentModeNotSupported: forCapability,
  AddressFamilyNotSupported: forCapability,
  InterfaceHeldByAnotherClaim: ({ chain }) => `${nameOf(chain.interface.wanted)} to be let go by ${chain.heldBy ?? 'its claim'}`,
}

/** For a condition of an object of the chain that is not True, or is absent. */
export function waitsFor(
  facts: Facts,
  object: KubeObject,
  type: string,
  condition: StoredCondition | undefined,
): string | undefined {
  if (condition?.status === 'True' || object.metadata.deletionTimestamp) return undefined
  const reason = condition?.reason ?? ''
  if (!isOwn(object)) {
    if (!isReporting(facts, object)) return undefined
    if (!condition || !reported(object, type)) return reporterName(facts, object, type)
    return fromNetworks.includes(reason) ? forNetwork(facts, reason) : undefined
  }
  const part = /^Not(Bound|Allocated|Prepared|Programmed)$/.exec(reason)?.[1]
  if (part) return `condition ${part}`
  if (type === 'Prepared' || type === 'Programmed') return forReport(facts, type, reason)
  if (!reported(object, type)) return reporterName(facts, object, type)
  return forClaim[reason]?.(facts)
}
