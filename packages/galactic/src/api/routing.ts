/** Routing kinds that are read here. Node agents write the objects, routers their statuses. CRDs are for local use. */
import {
  conditions,
  defineKind,
  int32,
  int64,
  list,
  nameRef,
  type ObjectOf,
  oneOf,
  optional,
  record,
  text,
} from 'kube-control-loop'
import { addressFamily, age, filled, routingGroup, routingVersion } from './group.ts'

const community = '^[0-9]{1,10}:[0-9]{1,10}$'
const addressCommunity = '^[0-9]{1,3}[.][0-9]{1,3}[.][0-9]{1,3}[.][0-9]{1,3}:[0-9]{1,10}$'
const prefix = '^[0-9]+[.][0-9]+[.][0-9]+[.][0-9]+/[0-9]{1,2}$|^[0-9a-fA-F:]+::?[0-9a-fA-F:]*/[0-9]{1,3}$'

/** Routes that one router originates. Its name carries the identity of an attachment. */
export const BGPAdvertisement = defineKind({
  group: routingGroup,
  version: routingVersion,
  kind: 'BGPAdvertisement',
  plural: 'bgpadvertisements',
  shortNames: ['bgpadv'],
  description: 'Routes that one router originates.',
  columns: [
    { name: 'ROUTER', type: 'string', jsonPath: '.spec.routerRef.name' },
    { name: 'ADDRESS-FAMILY', type: 'string', jsonPath: '.spec.addressFamily.afi' },
    { name: 'PREFIXES', type: 'integer', jsonPath: '.status.advertisedPrefixes' },
    age,
  ],
  spec: record(
    {
      routerRef: nameRef('The router.', { minLength: 1 }),
      addressFamily,
      prefixes: optional(
        list(
          text({
            description: 'A prefix in CIDR notation.',
            maxLength: 64,
            rules: [{ rule: `self.matches('${prefix}')`, message: 'must be a valid IPv4 or IPv6 CIDR' }],
          }),
          { description: 'Prefixes to originate.', maxItems: 256, 'x-kubernetes-list-type': 'set' },
        ),
      ),
      redistribute: optional(
        list(oneOf(['static', 'connected', 'kernel']), {
          description: 'Tables to originate routes from.',
          maxItems: 3,
          'x-kubernetes-list-type': 'set',
        }),
      ),
      originateFrom: optional(
        record(
          {
            type: oneOf(['interface', 'kernel'], { description: 'Where routes come from.' }),
            interfaceName: optional(filled('The interface, for type interface.')),
          },
          {
            description: 'A source of routes on the node.',
            rules: [
              {
                rule: "self.type == 'interface' ? has(self.interfaceName) : true",
                message: 'interfaceName is required when type is interface',
              },
              {
                rule: "self.type == 'kernel' ? !has(self.interfaceName) : true",
                message: 'interfaceName must not be set when type is kernel',
              },
            ],
          },
        ),
      ),
      policyRef: optional(nameRef('A policy that filters what is originated.', { minLength: 1 })),
      communities: optional(
        list(text({ description: 'ASN:NN or IP:NN.', maxLength: 32 }), {
          description: 'Communities of all prefixes.',
          maxItems: 64,
          rules: [
            {
              rule: `self.all(c, c.matches('${community}') || c.matches('${addressCommunity}'))`,
              message: 'community must be in ASN:NN or IP:NN format',
            },
          ],
        }),
      ),
      localPreference: optional(int32({ description: 'Local preference of all prefixes.', minimum: 0 })),
      vrfID: optional(int32({ description: 'VRF of the routes.', minimum: 1, maximum: 65535 })),
      function: optional(oneOf(['End.DT4', 'End.DT6', 'End.DT46'], { description: 'SRv6 behaviour of the routes (RFC 8986).' })),
    },
    {
      description: 'Routes to originate.',
      rules: [
        {
          rule: '(has(self.prefixes) && self.prefixes.size() > 0) || (has(self.redistribute) && self.redistribute.size() > 0) || has(self.originateFrom)',
          message: 'at least one of prefixes, redistribute, or originateFrom must be specified',
        },
      ],
    },
  ),
  status: record(
    {
      observedGeneration: optional(int64({ description: 'Generation that this status speaks of.' })),
      advertisedPrefixes: optional(int32({ description: 'Prefixes originated now.' })),
      conditions: optional(conditions('Ready: accepted by the router. Advertised: its routes are originated.')),
    },
    { description: 'What the router does.' },
  ),
})
export type BGPAdvertisement = ObjectOf<typeof BGPAdvertisement>

/** A router on a node. Tells which node an advertisement comes from. */
export const BGPRouter = defineKind({
  group: routingGroup,
  version: routingVersion,
  kind: 'BGPRouter',
  plural: 'bgprouters',
  shortNames: ['bgpr'],
  description: 'A BGP router on a node.',
  columns: [
    { name: 'TARGET', type: 'string', jsonPath: '.spec.targetRef.name' },
    { name: 'ASN', type: 'integer', jsonPath: '.spec.localASN' },
    { name: 'ROUTER-ID', type: 'string', jsonPath: '.spec.routerID' },
    { name: 'PHASE', type: 'string', jsonPath: '.status.phase' },
    age,
  ],
  spec: record(
    {
      targetRef: record(
        { kind: filled('Kind of the target.'), name: filled('Name of the target.') },
        { description: 'Where the router runs.' },
      ),
      roles: optional(
        list(oneOf(['fabric', 'tenant', 'transit']), { description: 'What the router is for.', minItems: 1, maxItems: 3 }),
      ),
      localASN: int64({ description: 'Autonomous system (RFC 6793).', minimum: 1 }),
      routerID: text({ description: 'Identifier in dotted form.', format: 'ipv4' }),
      addressFamilies: list(addressFamily, { description: 'Families that the router speaks.', minItems: 1, maxItems: 8 }),
      srv6Locator: optional(
        text({
          description: 'Locator that the router owns (RFC 8986).',
          maxLength: 64,
          rules: [{ rule: "isCIDR(self) && self.contains(':')", message: 'srv6Locator must be an IPv6 CIDR' }],
        }),
      ),
      nodeID: optional(int32({ description: 'Number of the node within its locator block.', minimum: 1, maximum: 254 })),
      listenPort: optional(int32({ description: 'Port for incoming sessions.', minimum: 1, maximum: 65535 })),
    },
    { description: 'The router.' },
  ),
  status: record(
    {
      observedGeneration: optional(int64({ description: 'Generation that this status speaks of.' })),
      phase: optional(text({ description: 'Pending, Ready or Failed.' })),
      peers: optional(
        record(
          { total: int32({ description: 'Configured peers.' }), established: int32({ description: 'Peers with a session.' }) },
          { description: 'Sessions of the router.' },
        ),
      ),
      roles: optional(list(text(), { description: 'Roles in effect.', maxItems: 3 })),
      conditions: optional(conditions('How the router is.')),
    },
    { description: 'What the router does.' },
  ),
})
export type BGPRouter = ObjectOf<typeof BGPRouter>
