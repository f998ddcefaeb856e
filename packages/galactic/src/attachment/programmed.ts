/**
 * What the node side reports on an attachment, read from its BGPAdvertisement: pure. The node router owns that object's
 * status; its `Advertised` condition is repeated as `Programmed`, in every direction it moves.
 */
import { isIP, isIPv4 } from 'node:net'
import { hostInterfaceName, type Identity, vrfInterfaceName } from '../identifiers/identity.ts'

/** As much of a BGPAdvertisement as is looked at. */
export type Advertisement = {
  readonly name: string
  readonly deleting: boolean
  readonly annotations: Readonly<Record<string, string>>
  /** Node of the BGPRouter that the advertisement names; absent while that router is not known. */
  readonly node?: string | undefined
  readonly advertised?:
    | { readonly status: 'True' | 'False' | 'Unknown'; readonly reason: string; readonly message: string }
    | undefined
}

export type NodeReport = {
  readonly programmed: { readonly status: 'True' | 'False' | 'Unknown'; readonly reason: string; readonly message: string }
  /** Absent fields have no source now, so they leave the status. */
  readonly node?: string
  readonly hostInterface?: string
  readonly vrfInterface?: string
  readonly podSubnet?: string
}

const rank = { True: 0, False: 1, Unknown: 2 } as const

/**
 * Translates. `wasReported`: some advertisement was reported on before, so that its absence means it was withdrawn.
 * Of two standing advertisements (one per form of the name) the advertised one speaks, then the one that says why not.
 */
export function nodeReport(identity: Identity, advertisements: readonly Advertisement[], wasReported: boolean): NodeReport {
  const standing = advertisements.filter((advertisement) => !advertisement.deleting).sort(bySpeaker)
  const speaker = standing.find(isReportedOn)
  if (!speaker) return { programmed: standing.length === 0 && wasReported ? withdrawn : awaiting }
  const podSubnet = onlySubnet(speaker.annotations)
  return {
    programmed: programmedOf(speaker),
    ...(speaker.node === undefined ? {} : { node: speaker.node }),
    hostInterface: hostInterfaceName(identity),
    vrfInterface: vrfInterfaceName(identity.vpc),
    ...(podSubnet === undefined ? {} : { podSubnet }),
  }
}

/** Whether any of them stands, also one that is being deleted: its node may still carry traffic. */
export function stillAdvertised(advertisements: readonly Advertisement[]): Advertisement | undefined {
  return [...advertisements].sort(bySpeaker)[0]
}

const withdrawn = {
  status: 'False',
  reason: 'AdvertisementWithdrawn',
  message: 'the BGPAdvertisement of this attachment was withdrawn',
} as const

/** The same before and after the advertisement is published: its router speaks soon after, and that is worth a write. */
const awaiting = {
  status: 'Unknown',
  reason: 'AwaitingDataPlane',
  message: 'no router has reported on a BGPAdvertisement of this attachment yet',
} as const

type ReportedOn = Advertisement & { readonly advertised: NonNullable<Advertisement['advertised']> }

const isReportedOn = (advertisement: Advertisement): advertisement is ReportedOn => advertisement.advertised !== undefined

function bySpeaker(a: Advertisement, b: Advertisement): number {
  const ranks = rank[a.advertised?.status ?? 'Unknown'] - rank[b.advertised?.status ?? 'Unknown']
  return ranks !== 0 ? ranks : a.name < b.name ? -1 : 1
}

function programmedOf({ advertised, annotations }: ReportedOn): NodeReport['programmed'] {
  const { status, reason, message } = advertised
  const addressesItself = status === 'True' && annotations['galactic.datum.net/no-addressing'] === 'true'
  return { status, reason, message: addressesItself ? 'attachment advertised; the guest manages its own addressing' : message }
}

const subnetAnnotation = /^galactic\.datum\.net\/allocated-subnet-ipv[46]\./

/**
 * The subnet that the node side recorded, as a CIDR (a bare address gets its full prefix length). Two records mean that a
 * container of the interface is still being collected, and neither is surely the present one.
 */
function onlySubnet(annotations: Readonly<Record<string, string>>): string | undefined {
  const recorded = Object.entries(annotations).filter(([key]) => subnetAnnotation.test(key))
  const value = recorded.length === 1 ? recorded[0]?.[1] : undefined
  if (value === undefined) return undefined
  const [address = '', length, ...rest] = value.split('/')
  if (isIP(address) === 0 || rest.length > 0) return undefined
  const bits = isIPv4(address) ? 32 : 128
  if (length === undefined) return `${address}/${bits}`
  return /^\d{1,3}$/.test(length) && Number(length) <= bits ? value : undefined
}
