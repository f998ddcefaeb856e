/**
 * What must be true of every moment of a run, and not of its end only: nobody's address is somebody else's too. Judged from all
 * versions of all objects, in the order in which the server stored them.
 */
import { annotations } from '@nso/api'
import type { KubeObject } from 'kube-control-loop'
import type { Seen } from './follow.ts'

type Address = { address: string }
type Interface = {
  network: { name: string }
  claimRef?: { name: string }
  addresses?: readonly Address[]
  externalAddresses?: readonly Address[]
}
type Holder = { claimName: string; claimUID: string }
type AddressLease = { networkContext: { name: string }; address: string; holder: Holder }
type Attachment = { vpc: { name: string }; interface: { addresses?: readonly string[] } }
type ClaimStatus = {
  networkInterfaceRef?: { name: string }
  addresses?: readonly Address[]
  conditions?: readonly { type: string; status: string }[]
}
type IpClaim = { status?: { allocatedCIDR?: string } }

/** What stands at one moment, by kind and key. */
type Standing = Map<string, Map<string, KubeObject>>

const specOf = <T>({ spec }: KubeObject) => spec as T
const namespaceOf = ({ metadata }: KubeObject) => metadata.namespace ?? ''
const nameOf = ({ kind, metadata }: KubeObject) => `${kind} ${metadata.name} (${metadata.uid})`

/** Inside and outside: what may be held once only. Outside ones come without a prefix length. */
function addressesOf(nic: KubeObject): string[] {
  const { network, addresses = [], externalAddresses = [] } = specOf<Interface>(nic)
  const within = addresses.map(({ address }) => `${namespaceOf(nic)}/${network.name}/${address}`)
  return [...within, ...externalAddresses.map(({ address }) => `outside/${address}`)]
}

function attachedAddresses(attachment: KubeObject): string[] {
  const { vpc, interface: given } = specOf<Attachment>(attachment)
  return (given.addresses ?? []).map((address) => `${namespaceOf(attachment)}/${vpc.name}/${address}`)
}

/** Those of the kind, without the object itself, that hold one of the same. */
function othersWith(standing: Standing, object: KubeObject, held: (other: KubeObject) => readonly string[]): string[] {
  const own = held(object)
  return [...(standing.get(object.kind)?.values() ?? [])]
    .filter(({ metadata }) => metadata.uid !== object.metadata.uid)
    .flatMap((other) => {
      const both = held(other).filter((address) => own.includes(address))
      return both.map((address) => `${address} is held by ${nameOf(object)} and by ${nameOf(other)}`)
    })
}

/** A lease that came, or went, while an attachment that is not its holder's carries the address. */
function attachedElsewhere(standing: Standing, lease: KubeObject, isGone: boolean): string[] {
  const { address, networkContext, holder } = specOf<AddressLease>(lease)
  const full = `${namespaceOf(lease)}/${networkContext.name}/${address}`
  return [...(standing.get('VPCAttachment')?.values() ?? [])]
    .filter((attachment) => attachedAddresses(attachment).includes(full))
    .filter((attachment) => isGone || !isOf(standing, attachment, holder))
    .map((attachment) => `${full} was ${isGone ? 'given back' : 'taken'} while ${nameOf(attachment)} still carried it`)
}

/** Attachments are named as their interfaces; those say whose allocations they have. */
function isOf(standing: Standing, attachment: KubeObject, holder: Holder): boolean {
  const nic = standing.get('NetworkInterface')?.get(`${namespaceOf(attachment)}/${attachment.metadata.name}`)
  return nic === undefined || allocatedFor(nic) === holder.claimName
}

const allocatedFor = ({ metadata, spec }: KubeObject) =>
  metadata.annotations?.[annotations.allocationClaim] ?? (spec as Interface).claimRef?.name

const isBound = ({ conditions = [] }: ClaimStatus) => conditions.some(({ type, status }) => type === 'Bound' && status === 'True')

/** A claim that was bound keeps its interface and its addresses. */
function moved(before: KubeObject | undefined, after: KubeObject): string[] {
  const was = (before?.status ?? {}) as ClaimStatus
  const is = (after.status ?? {}) as ClaimStatus
  if (!before || before.metadata.uid !== after.metadata.uid || !isBound(was) || !isBound(is)) return []
  const listed = ({ addresses = [] }: ClaimStatus) =>
    addresses
      .map(({ address }) => address)
      .sort()
      .join(', ')
  const found: string[] = []
  if (listed(was) !== '' && listed(was) !== listed(is))
    found.push(`${nameOf(after)} is bound and went from ${listed(was)} to ${listed(is) || 'no address'}`)
  const [from, to] = [was.networkInterfaceRef?.name, is.networkInterfaceRef?.name]
  if (from !== undefined && from !== to)
    found.push(`${nameOf(after)} is bound and went from interface ${from} to ${to ?? 'none'}`)
  return found
}

type Context = {
  standing: Standing
  before: KubeObject | undefined
  deeds: Deeds
}

/** Uids of what the program has made and deleted: what somebody else does by hand is no fault of it. */
export type Deeds = { readonly created: ReadonlySet<string>; readonly deleted: ReadonlySet<string> }

const isIn = (uids: ReadonlySet<string>, { metadata }: KubeObject) => uids.has(metadata.uid ?? '')

function faultsOf({ kind: { kind }, object }: Seen, { standing, before, deeds }: Context): string[] {
  switch (kind) {
    case 'NetworkInterface':
      return object ? othersWith(standing, object, addressesOf) : []
    case 'VPCAttachment':
      return object ? othersWith(standing, object, attachedAddresses) : []
    case 'NetworkInterfaceClaim':
      return object ? moved(before, object) : []
    case 'AddressLease':
      return [
        ...(object && !before && isIn(deeds.created, object) ? attachedElsewhere(standing, object, false) : []),
        ...(!object && before && isIn(deeds.deleted, before) ? attachedElsewhere(standing, before, true) : []),
      ]
    case 'IPClaim':
      return object ? othersWith(standing, object, ({ status }) => blocks(status)) : []
    default:
      return []
  }
}

const blocks = (status: unknown) => {
  const { allocatedCIDR } = (status ?? {}) as NonNullable<IpClaim['status']>
  return allocatedCIDR === undefined ? [] : [allocatedCIDR]
}

/** What was wrong at some moment, each once. `seen` in any order. */
export function faultsInHistory(seen: readonly Seen[], deeds: Deeds): string[] {
  const standing: Standing = new Map()
  const found = new Set<string>()
  const inOrder = [...seen].sort((a, b) => (a.version < b.version ? -1 : a.version > b.version ? 1 : 0))
  for (const one of inOrder) {
    const ofKind = standing.get(one.kind.kind) ?? new Map<string, KubeObject>()
    standing.set(one.kind.kind, ofKind)
    const before = ofKind.get(one.key)
    if (one.object) ofKind.set(one.key, one.object)
    else ofKind.delete(one.key)
    for (const fault of faultsOf(one, { standing, before, deeds })) found.add(fault)
  }
  return [...found]
}
