/** What the API server enforces of NSO's ownership table, and how to ask whether it does. */
import { apiVersionOf, type Kind, type KubeObject, type OwnershipEnforcement, type OwnershipProbe } from 'kube-control-loop'
import { nsoAccount } from './account.ts'
import { AddressLease } from './kinds/address-lease.ts'
import { DataPlane } from './kinds/data-plane.ts'
import { Network } from './kinds/network.ts'
import { NetworkContext } from './kinds/network-context.ts'
import { NetworkInterface } from './kinds/network-interface.ts'
import { NetworkInterfaceClaim } from './kinds/network-interface-claim.ts'
import { Subnet } from './kinds/subnet.ts'
import { ownership } from './ownership.ts'

/** Creators, users and administrators are left to permissions; nobody is a holder until the parameters name one. */
export const enforcement: OwnershipEnforcement = {
  app: 'nso',
  namespace: nsoAccount.namespace,
  table: ownership,
  identities: { nso: [`system:serviceaccount:${nsoAccount.namespace}:${nsoAccount.name}`], holder: [] },
}

function probe(kind: Kind, spec: object): OwnershipProbe {
  const namespace = kind.scope === 'Namespaced' ? { namespace: nsoAccount.namespace } : {}
  const object = { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: { name: 'ownership-probe', ...namespace }, spec }
  return { kind, object: object as KubeObject }
}

const name = 'ownership-probe'
const leased = { family: 'IPv6', address: 'fd20::7/128', holder: { claimName: name, claimUID: name, family: 'IPv6' } }
const range = { ipFamily: 'IPv6', startAddress: 'fd20::', prefixLength: 64 }
const plane = {
  locations: [name],
  attachment: { apiVersion: 'planes.example.dev/v1', kind: 'Port', spec: {} },
  report: { prepared: { condition: 'Ready' } },
}

/** The smallest valid object of each enforced kind; none is ever stored. */
export const ownershipProbes: readonly OwnershipProbe[] = [
  probe(NetworkInterfaceClaim, { network: { name } }),
  probe(NetworkInterface, { network: { name } }),
  probe(Network, { ipam: { mode: 'Auto' } }),
  probe(NetworkContext, { network: { name }, location: { name }, ipFamilies: ['IPv6'] }),
  probe(Subnet, { subnetClass: 'private', networkContext: { name }, location: { name }, ...range }),
  probe(AddressLease, { network: { name }, networkContext: { name }, ...leased }),
  probe(DataPlane, plane),
]
