/** What a data plane is asked for in a trial: made-up values of the requester’s kinds, and the objects that templates make of them. Pure. */
import {
  type AddressFamily,
  type AttachmentMode,
  attachmentModes,
  type DataPlane,
  type InterfaceAddress,
  Network,
  NetworkContext,
  NetworkInterface,
  NetworkInterfaceClaim,
} from '@nso/api'
import type { ContractView, Rendered, TemplateScope } from '@nso/operator'
import { apiVersionOf, type Kind, type KubeObject, type ObjectMeta } from 'kube-control-loop'

/** What one trial asks for; what is left out is the ordinary case. */
export type Wish = {
  readonly name: string
  /** Name of the network context. */
  readonly network?: string
  /** Of the interface within its network, from 2: its addresses. */
  readonly number?: number
  readonly mtu?: number
  readonly mode?: AttachmentMode
  readonly families?: readonly AddressFamily[]
  readonly labels?: Readonly<Record<string, string>>
}

/** Owner of all that is made in one namespace: an object that stands there, whose uid passes for the interface’s. */
export type Owner = { readonly namespace: string; readonly name: string; readonly uid: string }

export type Scope = TemplateScope & { interface: NetworkInterface; context: NetworkContext }

export const ordinary = { network: 'net-a', mtu: 1400, number: 2 } as const

/** Modes and families that the data plane says it has; where it says nothing, all. */
export function capabilitiesOf({ spec }: Pick<DataPlane, 'spec'>): {
  modes: readonly AttachmentMode[]
  families: readonly AddressFamily[]
} {
  return {
    modes: spec.capabilities?.attachmentModes ?? attachmentModes,
    families: spec.capabilities?.addressFamilies ?? ['IPv4', 'IPv6'],
  }
}

/** Everything a template may read. */
export function scopeOf(wish: Wish, owner: Owner, dataPlane: Pick<DataPlane, 'spec'>): Scope {
  const { network = ordinary.network, mtu = ordinary.mtu, number = ordinary.number } = wish
  const capable = capabilitiesOf(dataPlane)
  const families = wish.families ?? capable.families
  const object = <S>(kind: Kind, name: string, spec: S, more: Partial<ObjectMeta> = {}) => ({
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: { name, namespace: owner.namespace, uid: owner.uid, generation: 1, ...more },
    spec,
  })
  const spec = {
    network: { name: network },
    interfaceName: 'eth0',
    attachmentMode: wish.mode ?? capable.modes[0] ?? 'Netns',
    reclaimPolicy: 'Delete' as const,
  }
  return {
    context: object(NetworkContext, network, {
      network: { name: network },
      location: { name: 'conformance' },
      ipFamilies: [...families],
      mtu,
    }),
    subnets: capable.families.map((family) => ranges[family]).toSorted((a, b) => (a.cidr < b.cidr ? -1 : 1)),
    interface: object(
      NetworkInterface,
      wish.name,
      {
        ...spec,
        claimRef: { name: wish.name },
        mtu,
        addresses: families.map((family, at) => addressOf(family, number, at === 0)),
      },
      { labels: { 'conformance.example.com/interface': wish.name, ...wish.labels } },
    ),
    claim: object(NetworkInterfaceClaim, wish.name, { ...spec, ipFamilies: [...families] }),
    network: object(Network, network, { ipam: { mode: 'Auto' }, ipFamilies: [...families], mtu }),
  }
}

const ranges = {
  IPv4: { cidr: '10.128.0.0/16', family: 'IPv4', gateway: '10.128.0.1' },
  IPv6: { cidr: 'fd20:0:0:1::/64', family: 'IPv6', gateway: 'fd20:0:0:1::1' },
} as const

function addressOf(family: AddressFamily, number: number, primary: boolean): InterfaceAddress {
  const address =
    family === 'IPv4' ? `10.128.${Math.floor(number / 256)}.${number % 256}/32` : `fd20:0:0:1::${number.toString(16)}/128`
  return { family, address, gateway: ranges[family].gateway, primary }
}

/**
 * The body as it is sent. Its owner is the object that stands in for interface and context: the collector would take away
 * what belongs to an interface that does not exist.
 */
export function owned({ body, leftOut }: Rendered, { name, uid }: Owner): Rendered {
  const reference = { apiVersion: 'v1', kind: 'ConfigMap', name, uid, controller: true, blockOwnerDeletion: false }
  return { body: { ...body, metadata: { ...body.metadata, ownerReferences: [reference] } }, leftOut }
}

export const attachmentFor = (view: ContractView, scope: Scope, owner: Owner): Rendered =>
  owned(view.renderAttachment(scope), owner)

/** Undefined where the data plane has no object for networks. */
export function networkFor(view: ContractView, scope: Scope, owner: Owner): KubeObject | undefined {
  const rendered = view.renderNetwork(scope)
  return rendered && owned(rendered, owner).body
}
