/** The objects of one chain, picked out of what was read. Pure; anything may be missing. */
import {
  AddressLease,
  annotations,
  contextName,
  DataPlane,
  labels,
  Network,
  NetworkContext,
  NetworkInterface,
  NetworkInterfaceClaim,
  parseDataPlaneChoice,
  ServingLocation,
  Subnet,
} from '@nso/api'
import { addressLeaseName, chooseFor } from '@nso/operator'
import type { KubeObject } from 'kube-control-loop'
import { conditionOf, groupOf, isFields, pick, textAt } from '../owners/stored.ts'
import { type Made, madeBy } from './made.ts'
import { findIn, type KindRef, listOf, type Snapshot } from './snapshot.ts'

/** An object that belongs into the chain, whether it stands or not. */
export type Wanted = { apiVersion: string; kind: string; namespace?: string; name: string }

export type Link = { readonly wanted: Wanted; readonly object: KubeObject | undefined }

export type Target = { readonly kind: 'claim' | 'interface'; readonly namespace: string; readonly name: string }

export type Chain = {
  readonly target: Target
  /** For an interface: the claim that holds it, if any. */
  readonly claim: Link | undefined
  readonly interface: Link
  /** Whether the interface is held by another claim than the one that was asked for. */
  readonly heldBy: string | undefined
  readonly location: string | undefined
  /** The one that the interface was given. */
  readonly plane: { readonly chosen: { name: string; uid: string } | undefined; readonly object: DataPlane | undefined }
  /** The one that an interface of this location would be given. */
  readonly offer: DataPlane | undefined
  readonly planes: readonly DataPlane[]
  /** Absent where no data plane says of which kind it would be. */
  readonly attachment: Link | undefined
  readonly networkObject: Link | undefined
  /** What the data plane made for the attachment, as far as it is known what that is. */
  readonly made: readonly Link[]
  readonly network: Link | undefined
  readonly context: Link | undefined
  readonly subnets: readonly Subnet[]
  /** On the addresses of the interface; without an interface those that stand for the claim. */
  readonly leases: readonly Link[]
  readonly locations: readonly ServingLocation[]
}

/** Apis of NSO's own kinds, for objects that are missing. */
const own = 'networking.datumapis.com/v1alpha'

function linkTo(snapshot: Snapshot, kind: KindRef, apiVersion: string, at: { namespace?: string; name: string }): Link {
  return { wanted: { apiVersion, kind: kind.kind, ...at }, object: findIn(snapshot, kind, at) }
}

/** Picks the chain of a claim or an interface. */
export function chainOf(snapshot: Snapshot, target: Target): Chain {
  const { namespace } = target
  const within = (kind: KindRef, name: string) => linkTo(snapshot, kind, own, { namespace, name })
  const start = target.kind === 'claim' ? within(NetworkInterfaceClaim, target.name) : undefined
  const nic = within(NetworkInterface, start ? interfaceName(start.object, target.name) : target.name)
  const holder = textAt(nic.object?.spec, 'claimRef', 'name')
  const claim = start ?? (holder === undefined ? undefined : within(NetworkInterfaceClaim, holder))
  // What a claim asks for is its own, also where the interface that it wants is on another network.
  const networkName = textAt(start?.object?.spec, 'network', 'name') ?? textAt(nic.object?.spec, 'network', 'name')
  const locations = listOf<ServingLocation>(snapshot, ServingLocation)
  const location = nic.object?.metadata.labels?.[labels.location] ?? onlyName(locations)
  const isOfNetwork = textAt(nic.object?.spec, 'network', 'name') === networkName
  const contextIs =
    (isOfNetwork ? textAt(nic.object?.status, 'networkContextRef', 'name') : undefined) ??
    (networkName && location ? contextName(networkName, location) : undefined)
  const planes = listOf<DataPlane>(snapshot, DataPlane)
  const plane = planeOf(nic.object, planes)
  const attachment = attachmentOf(snapshot, nic, plane.object)
  return {
    ...{ target, claim, interface: nic, heldBy: otherHolder(start?.object, nic.object, target.name), location, plane, planes },
    offer: location === undefined ? undefined : offerFor(planes, location),
    attachment,
    networkObject: contextIs === undefined ? undefined : networkObjectOf(snapshot, plane.object, { namespace, name: contextIs }),
    made: attachment?.object ? madeBy(attachment.object, plane.object).flatMap((each) => linksTo(snapshot, each)) : [],
    network: networkName === undefined ? undefined : within(Network, networkName),
    context: contextIs === undefined ? undefined : within(NetworkContext, contextIs),
    subnets: subnetsOf(snapshot, namespace, contextIs),
    leases: leasesOf(snapshot, { namespace, nic: nic.object, claim: claim?.wanted.name }),
    locations,
  }
}

const onlyName = (objects: readonly KubeObject[]): string | undefined =>
  objects.length === 1 ? objects[0]?.metadata.name : undefined

function interfaceName(claim: KubeObject | undefined, fallback: string): string {
  return textAt(claim?.status, 'networkInterfaceRef', 'name') ?? textAt(claim?.spec, 'networkInterfaceName') ?? fallback
}

function otherHolder(claim: KubeObject | undefined, nic: KubeObject | undefined, name: string): string | undefined {
  const holder = textAt(nic?.spec, 'claimRef', 'name')
  if (!claim || holder === undefined) return undefined
  if (holder !== name) return `claim ${holder}`
  const uid = nic?.metadata.annotations?.[annotations.claimUid]
  return uid === undefined || uid === claim.metadata.uid ? undefined : `an earlier claim of this name (uid ${uid})`
}

function planeOf(nic: KubeObject | undefined, planes: readonly DataPlane[]): Chain['plane'] {
  const chosen = parseDataPlaneChoice(nic?.metadata.annotations?.[annotations.dataPlane])
  const object = chosen && planes.find(({ metadata }) => metadata.name === chosen.name && metadata.uid === chosen.uid)
  return { chosen, object }
}

/** NSO offers the accepted ones only; without any of those, what keeps the one that would serve is worth knowing. */
function offerFor(planes: readonly DataPlane[], location: string): DataPlane | undefined {
  const accepted = planes.filter((each) => conditionOf(each, 'Accepted')?.status === 'True')
  return chooseFor(accepted, location) ?? chooseFor(planes, location)
}

/** Which kind a DataPlane's template makes; undefined where it does not say. */
function templateOf(
  plane: DataPlane | undefined,
  of: 'attachment' | 'network',
): { apiVersion: string; kind: string } | undefined {
  const [apiVersion, kind] = [textAt(plane?.spec, of, 'apiVersion'), textAt(plane?.spec, of, 'kind')]
  return apiVersion === undefined || kind === undefined ? undefined : { apiVersion, kind }
}

/** Of the kind that the data plane makes, else of the one that the interface's status names. */
function attachmentOf(snapshot: Snapshot, nic: Link, plane: DataPlane | undefined): Link | undefined {
  const { namespace = '', name } = nic.wanted
  const template = templateOf(plane, 'attachment')
  if (template) {
    const kind = { group: groupOf(template.apiVersion), kind: template.kind }
    return linkTo(snapshot, kind, template.apiVersion, { namespace, name })
  }
  const [group, kind, named] = ['apiGroup', 'kind', 'name'].map((field) => textAt(nic.object?.status, 'attachmentRef', field))
  if (group === undefined || kind === undefined) return undefined
  const at = { namespace, name: named ?? name }
  const found = findIn(snapshot, { group, kind }, at)
  // Without a version: whichever is served.
  return { wanted: { apiVersion: found?.apiVersion ?? `${group}/`, kind, ...at }, object: found }
}

function networkObjectOf(
  snapshot: Snapshot,
  plane: DataPlane | undefined,
  at: { namespace: string; name: string },
): Link | undefined {
  const template = templateOf(plane, 'network')
  if (!template) return undefined
  return linkTo(snapshot, { group: groupOf(template.apiVersion), kind: template.kind }, template.apiVersion, at)
}

/** Under those of its names where one stands; else under the first. */
function linksTo(snapshot: Snapshot, { kind, apiVersion, at }: Made): Link[] {
  const found = at.map((each) => linkTo(snapshot, kind, apiVersion, each))
  const standing = found.filter(({ object }) => object)
  return standing.length > 0 ? standing : found.slice(0, 1)
}

function subnetsOf(snapshot: Snapshot, namespace: string, context: string | undefined): Subnet[] {
  if (context === undefined) return []
  return byName(
    listOf<Subnet>(snapshot, Subnet, namespace).filter(({ spec }) => textAt(spec, 'networkContext', 'name') === context),
  )
}

type Addressed = { namespace: string; nic: KubeObject | undefined; claim: string | undefined }

function leasesOf(snapshot: Snapshot, { namespace, nic, claim }: Addressed): Link[] {
  const network = textAt(nic?.spec, 'network', 'name')
  const names = network === undefined ? [] : addressesOf(nic).flatMap((address) => addressLeaseName(network, address) ?? [])
  if (names.length > 0) return names.map((name) => linkTo(snapshot, AddressLease, own, { namespace, name }))
  if (claim === undefined) return []
  const standing = byName(listOf<AddressLease>(snapshot, AddressLease, namespace))
  return standing
    .filter(({ spec }) => pick(spec, 'holder', 'claimName') === claim)
    .map((object) => linkTo(snapshot, AddressLease, own, { namespace, name: object.metadata.name }))
}

/** Every address that an interface lists, inner and external. */
export function addressesOf(nic: KubeObject | undefined): string[] {
  const listed = ['addresses', 'externalAddresses'].flatMap((field) => pick(nic?.spec, field) ?? [])
  return listed.flatMap((each) => (isFields(each) ? (textAt(each, 'address') ?? []) : []))
}

const byName = <O extends KubeObject>(objects: readonly O[]): O[] =>
  [...objects].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
