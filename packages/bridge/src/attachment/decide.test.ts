import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SeenDefinition } from 'kube-multus'
import { conflist, type Link } from './conflist.ts'
import { decide, type Seen, type SeenAttachment, type SeenNetwork } from './decide.ts'

const link: Link = { mtu: 1460, addresses: ['10.128.0.7/32'], gateways: ['10.128.0.1'] }
const attachment: SeenAttachment = { namespace: 'blue', name: 'web-0', network: 'net', link, ranges: [], recorded: undefined }
const network: SeenNetwork = { bridge: 'kb-1', ranges: ['10.128.0.0/20'], hostGateway: false, deleting: false }
const config = conflist(attachment, link, { ...network, bridge: 'kb-1' })
const ours: SeenDefinition = {
  deleting: false,
  isOurs: true,
  controlledBy: 'BridgeAttachment web-0',
  labels: { 'bridge.datumapis.com/bridge': 'kb-1', 'example.dev/of': 'others' },
  config,
}
const fresh: Seen = { attachment, network, definitionsServed: true, definition: undefined }

const table: { says: string; given: Partial<Seen>; want: string }[] = [
  { says: 'a new attachment gets its definition', given: {}, want: 'define' },
  { says: 'a definition that is right stays, with the labels of others', given: { definition: ours }, want: 'keep' },
  { says: 'other text is put right', given: { definition: { ...ours, config: '{}' } }, want: 'redefine' },
  { says: 'a missing label is put right', given: { definition: { ...ours, labels: {} } }, want: 'redefine' },
  { says: 'no network yet', given: { network: undefined }, want: 'AwaitingNetwork' },
  { says: 'a network without its bridge', given: { network: { ...network, bridge: undefined } }, want: 'AwaitingNetwork' },
  { says: 'a network that goes takes nobody new', given: { network: { ...network, deleting: true } }, want: 'AwaitingNetwork' },
  {
    says: 'a network that goes does not disturb whoever is on it',
    given: { attachment: { ...attachment, recorded: 'kb-1' }, network: { ...network, deleting: true }, definition: ours },
    want: 'keep',
  },
  {
    says: 'a network made again is another one',
    given: { attachment: { ...attachment, recorded: 'kb-0' }, definition: ours },
    want: 'NetworkReplaced',
  },
  { says: 'definitions are not served', given: { definitionsServed: false }, want: 'DefinitionsNotInstalled' },
  {
    says: 'B51: a foreign definition is never adopted',
    given: { definition: { ...ours, isOurs: false, controlledBy: 'nobody' } },
    want: 'DefinitionConflict',
  },
  {
    says: 'an earlier definition is on its way out',
    given: { definition: { ...ours, isOurs: false, deleting: true } },
    want: 'AwaitingDefinitionRemoval',
  },
  {
    says: 'an address that nobody of the network could reach',
    given: { attachment: { ...attachment, link: { ...link, addresses: ['10.200.0.7/32'] } } },
    want: 'AddressOutsideNetwork',
  },
  {
    says: 'an address of a range that only the attachment says',
    given: { attachment: { ...attachment, link: { ...link, addresses: ['10.200.0.7/32'] }, ranges: ['10.200.0.0/20'] } },
    want: 'define',
  },
  {
    says: 'ranges of the attachment do not count where the node is the gateway: the bridge has one length for all',
    given: {
      attachment: { ...attachment, link: { ...link, addresses: ['10.200.0.7/32'], gateways: [] }, ranges: ['10.200.0.0/20'] },
      network: { ...network, hostGateway: true },
    },
    want: 'AddressOutsideNetwork',
  },
  {
    says: 'a text that is right stays when the attachment comes to say the ranges of its network too',
    given: { attachment: { ...attachment, ranges: ['10.128.0.0/20'] }, definition: ours },
    want: 'keep',
  },
  {
    says: 'in whatever spelling',
    given: { attachment: { ...attachment, ranges: ['10.128.3.4/20'] }, definition: ours },
    want: 'keep',
  },
  {
    says: 'and while it says none',
    given: { attachment: { ...attachment, ranges: [] }, definition: ours },
    want: 'keep',
  },
  {
    says: 'a further range of the attachment gets on its link',
    given: { attachment: { ...attachment, ranges: ['10.128.0.0/20', '10.200.0.0/20'] }, definition: ours },
    want: 'redefine',
  },
  {
    says: 'a gateway outside matters where the node is to have it',
    given: {
      attachment: { ...attachment, link: { ...link, gateways: ['10.0.0.1'] } },
      network: { ...network, hostGateway: true },
    },
    want: 'GatewayOutsideNetwork',
  },
  {
    says: 'and nowhere else: it is in no configuration',
    given: { attachment: { ...attachment, link: { ...link, gateways: ['10.0.0.1'] } } },
    want: 'define',
  },
  {
    says: 'a gateway of the other family does not matter',
    given: {
      attachment: { ...attachment, link: { ...link, gateways: ['fd20::1'] } },
      network: { ...network, hostGateway: true },
    },
    want: 'define',
  },
]

for (const { says, given, want } of table)
  test(says, () => {
    const decision = decide({ ...fresh, ...given })
    assert.equal(decision.do === 'block' ? decision.reason : decision.do, want)
  })

test('what is made and what is put right is the same: bridge, label and text', () => {
  const made = decide(fresh)
  const mended = decide({ ...fresh, definition: { ...ours, config: undefined } })
  assert.ok(made.do === 'define' && mended.do === 'redefine')
  const rendering = { labels: { 'bridge.datumapis.com/bridge': 'kb-1' }, config }
  assert.deepEqual([made.rendering, mended.rendering, made.bridge], [rendering, rendering, 'kb-1'])
})

test('a range that is taken away stays for who is on it with an address of it, for as long as its text remembers', () => {
  const wide: SeenAttachment = { ...attachment, link: { ...link, addresses: ['10.200.0.7/32'] }, ranges: ['10.200.0.0/20'] }
  const made = decide({ ...fresh, attachment: wide })
  assert.ok(made.do === 'define')
  const standing = { ...ours, config: made.rendering.config }
  const without: SeenAttachment = { ...wide, ranges: [] }
  const says = (given: Partial<Seen>) => {
    const decision = decide({ ...fresh, attachment: without, definition: standing, ...given })
    return decision.do === 'block' ? decision.reason : decision.do
  }
  assert.equal(says({}), 'keep')
  assert.equal(says({ definition: undefined }), 'AddressOutsideNetwork')
  assert.equal(
    says({ definition: { ...standing, config: '{"plugins":[{"ipam":{"routes":[{"dst":7},null,{"dst":"x"}]}}]}' } }),
    'AddressOutsideNetwork',
  )
  assert.equal(says({ definition: { ...standing, config: '[' } }), 'AddressOutsideNetwork')
  // A route to the address alone is no range.
  assert.equal(
    says({ definition: { ...standing, config: config.replaceAll('10.128.0', '10.200.0').replace('/20', '/32') } }),
    'AddressOutsideNetwork',
  )
  assert.equal(says({ attachment: { ...without, link: { ...link, addresses: ['10.201.0.7/32'] } } }), 'AddressOutsideNetwork')
  assert.equal(says({ network: { ...network, hostGateway: true } }), 'AddressOutsideNetwork')
  // What somebody added to the text besides is put right all the same.
  const edited = JSON.parse(standing.config)
  edited.plugins.push({ type: 'x' })
  const mended = decide({ ...fresh, attachment: without, definition: { ...standing, config: JSON.stringify(edited) } })
  assert.ok(mended.do === 'redefine' && mended.rendering.config === standing.config)
})

test('a message stays short where there are many ranges', () => {
  const ranges = Array.from({ length: 64 }, (_, index) => `10.${index}.0.0/16`)
  const decision = decide({
    ...fresh,
    network: { ...network, ranges },
    attachment: { ...attachment, link: { ...link, addresses: ['192.0.2.7/32'] } },
  })
  assert.ok(
    decision.do === 'block' && decision.message.endsWith('10.14.0.0/16, 10.15.0.0/16 and 48 more'),
    JSON.stringify(decision),
  )
})
