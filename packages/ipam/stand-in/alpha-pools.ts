/** Classes and pools of one project, to try things out with. */
import { apiVersionOf, type Manifest } from 'kube-control-loop'
import { defaultClassAnnotation, IPClass, IPPool } from '../src/index.ts'

type Family = 'IPv4' | 'IPv6'

function ipClass(name: string, ipFamily: Family, spec: Omit<IPClass['spec'], 'ipFamily'>, isDefault = false): Manifest {
  const annotations = isDefault ? { annotations: { [defaultClassAnnotation]: 'true' } } : {}
  return {
    apiVersion: apiVersionOf(IPClass),
    kind: IPClass.kind,
    metadata: { name, ...annotations },
    spec: { ipFamily, ...spec },
  }
}

function pool(name: string, ipFamily: Family, cidr: string, className: string): Manifest {
  const spec = { cidr, ipFamily, classNames: [className] }
  return { apiVersion: apiVersionOf(IPPool), kind: IPPool.kind, metadata: { name }, spec }
}

/** An IPv4 range's own address, and the first one, are nobody's. */
const ipv4Start = { leading: 2, unitPrefixLength: 32 }

/**
 * IPv6: a root of /36, of which each network has a /48, each location of a network a /64, and each endpoint a /96 that is not the
 * first. IPv4: single addresses, internal and public.
 */
export function alphaPools(): Manifest[] {
  return [
    ipClass('datum-network-v6', 'IPv6', { poolPer: ['network'], defaultPrefixLength: 48 }),
    ipClass('datum-subnet-v6', 'IPv6', {
      parentClassName: 'datum-network-v6',
      poolPer: ['network', 'location'],
      defaultPrefixLength: 64,
    }),
    ipClass(
      'datum-endpoint-v6',
      'IPv6',
      { parentClassName: 'datum-subnet-v6', defaultPrefixLength: 96, reservations: { leading: 1, unitPrefixLength: 96 } },
      true,
    ),
    ipClass('datum-endpoint-v4', 'IPv4', { defaultPrefixLength: 32, reservations: ipv4Start }, true),
    ipClass('datum-public-v4', 'IPv4', { defaultPrefixLength: 32, reservations: ipv4Start }),
    pool('alpha-v6', 'IPv6', 'fd20:1000::/36', 'datum-network-v6'),
    pool('alpha-v4', 'IPv4', '10.128.0.0/16', 'datum-endpoint-v4'),
    pool('alpha-public-v4', 'IPv4', '198.51.100.0/24', 'datum-public-v4'),
  ]
}
