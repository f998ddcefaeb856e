import { conditions, defineKind, flag, int64, type ObjectOf, optional, record, setOnce } from 'kube-control-loop'
import { age, bridgeName, group, rangeList, readyColumn, version } from './group.ts'

/** Nothing is taken away under running workloads: their routes to it would lead nowhere. */
const rangesStay = {
  rule: 'oldSelf.all(r, r in self)',
  message: 'ranges may be added, none may be changed or removed',
}

/** The bridge plugin gives a bridge one IPv4 address. Source: ensureAddr of its version 1.10.0. */
const oneFourRange = {
  rule: "!self.hostGateway || self.ranges.filter(r, !r.contains(':')).size() <= 1",
  message: 'with hostGateway there can be one IPv4 range: a bridge has one IPv4 address',
}

/** One layer-2 segment on each node: a Linux bridge. Its device name is given here, once. */
export const BridgeNetwork = defineKind({
  group,
  version,
  kind: 'BridgeNetwork',
  plural: 'bridgenetworks',
  shortNames: ['bnet'],
  description: 'A layer-2 segment on each node, realised by a Linux bridge of its own.',
  columns: [{ name: 'BRIDGE', type: 'string', jsonPath: '.status.bridge' }, readyColumn, age],
  spec: record(
    {
      ranges: rangeList('Ranges that addresses of the network are from; workloads reach them without a router.', {
        minItems: 1,
        rules: [rangesStay],
      }),
      hostGateway: flag({
        description:
          'Whether the node takes the gateway address on the bridge and forwards packets. Networks of one node with it reach each other.',
        default: false,
        rules: [{ rule: 'self == oldSelf', message: 'hostGateway cannot be changed: bridges that stand would not follow' }],
      }),
    },
    { description: 'The network that is asked for.', rules: [oneFourRange] },
  ),
  status: record(
    {
      observedGeneration: optional(int64({ description: 'Generation that this status speaks of.' })),
      bridge: optional(bridgeName('Name of the bridge device on every node, unique in the cluster.')),
      conditions: optional(conditions('Ready: the network has its device name.')),
    },
    { description: 'What the network was given.' },
  ),
  rules: [setOnce('bridge')],
})
export type BridgeNetwork = ObjectOf<typeof BridgeNetwork>
