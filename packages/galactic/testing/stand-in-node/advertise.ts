/** What a node's CNI plugin and router would publish for an attachment: pure. */
import { createHash } from 'node:crypto'
import { isIPv6 } from 'node:net'
import { apiVersionOf } from 'kube-control-loop'
import { BGPAdvertisement, BGPRouter } from '../../src/api/index.ts'
import { base62ToHex } from '../../src/identifiers/base62.ts'
import { type Identity, identityKey } from '../../src/identifiers/identity.ts'

/** `hex`: as nodes name advertisements now; `base62`: as earlier ones did, where the API server takes it. */
export type NameForm = 'hex' | 'base62'

/** Annotation by which the stand-in finds what it published for which attachment. */
export const publishedFor = 'stand-in-node.example.com/attachment'

export function advertisementName(identity: Identity, form: NameForm): string {
  return form === 'base62' ? identityKey(identity) : `${base62ToHex(identity.vpc)}-${base62ToHex(identity.attachment)}`
}

export type Published = {
  identity: Identity
  attachment: string
  config: string
  router: string
  namespace: string
  form: NameForm
}

/** The plugins read the configuration, as on a node: addresses are taken from there and from nowhere else. */
export function advertisementOf({ identity, attachment, config, router, namespace, form }: Published): BGPAdvertisement {
  const addresses = addressesIn(config)
  const container = createHash('sha256').update(attachment).digest('hex').slice(0, 41)
  const [first] = addresses
  const family = first !== undefined && isIPv6(first.split('/')[0] ?? '') ? 'ipv6' : 'ipv4'
  return {
    apiVersion: apiVersionOf(BGPAdvertisement),
    kind: BGPAdvertisement.kind,
    metadata: {
      name: advertisementName(identity, form),
      namespace,
      annotations: {
        [publishedFor]: attachment,
        [`galactic.datum.net/netns.${container}`]: `/var/run/netns/cni-${container.slice(0, 12)}`,
        ...(first === undefined
          ? { 'galactic.datum.net/no-addressing': 'true' }
          : {
              [`galactic.datum.net/allocated-subnet-${family}.${container}`]:
                family === 'ipv4' ? (first.split('/')[0] ?? first) : first,
            }),
      },
    },
    spec: {
      routerRef: { name: router },
      addressFamily: { afi: 'l2vpn', safi: 'evpn' },
      // A guest that addresses itself has no prefix yet, and an advertisement of nothing is not accepted.
      ...(addresses.length > 0 ? { prefixes: addresses } : { originateFrom: { type: 'kernel' } }),
    },
  }
}

function addressesIn(config: string): string[] {
  const { plugins = [] } = JSON.parse(config) as { plugins?: { ipam?: { addresses?: { address: string }[] } }[] }
  return plugins.flatMap(({ ipam }) => (ipam?.addresses ?? []).map(({ address }) => address))
}

export function routerOf(node: string, namespace: string): BGPRouter {
  return {
    apiVersion: apiVersionOf(BGPRouter),
    kind: BGPRouter.kind,
    metadata: { name: node, namespace },
    spec: {
      targetRef: { kind: 'Node', name: node },
      roles: ['tenant'],
      localASN: 4_200_000_000,
      routerID: '192.0.2.1',
      addressFamilies: [{ afi: 'l2vpn', safi: 'evpn' }],
    },
  }
}
