import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { networkStatusOf, podAnnotations, requestedDefinitions } from './network-status.ts'
import { definitionsOf, prunePod } from './pod.ts'

const podWith = (annotations: Record<string, string>) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'a', namespace: 'blue', annotations },
  spec: { secret: 'x' },
})
const status = (text: string) => networkStatusOf(podWith({ [podAnnotations.networkStatus]: text }))
const asks = (text: string) => requestedDefinitions(podWith({ [podAnnotations.networks]: text }))

const statuses: { says: string; given: string; want: object }[] = [
  { says: 'nothing yet', given: '', want: { is: 'absent' } },
  { says: 'no attachments', given: '[]', want: { is: 'read', attached: [] } },
  {
    says: 'what Multus writes, as far as it is looked at',
    given: '[{"name":"blue/web-0","interface":"net1","ips":["10.0.0.7"],"mac":"02:00:00:00:00:01","dns":{},"default":true}]',
    want: { is: 'read', attached: [{ name: 'blue/web-0', interface: 'net1', ips: ['10.0.0.7'] }] },
  },
  {
    says: 'a device without addresses and without a name',
    given: '[{"name":"blue/web-0"}]',
    want: { is: 'read', attached: [{ name: 'blue/web-0', interface: undefined, ips: [] }] },
  },
  { says: 'no JSON', given: '[{', want: { is: 'malformed', why: 'it is no JSON' } },
  { says: 'no list', given: '{"name":"x"}', want: { is: 'malformed', why: 'it is no list' } },
  { says: 'an entry that is no object', given: '["x"]', want: { is: 'malformed', why: 'an entry has no name' } },
  { says: 'an entry without a name', given: '[{"ips":[]}]', want: { is: 'malformed', why: 'an entry has no name' } },
  {
    says: 'addresses that are no texts',
    given: '[{"name":"blue/web-0","ips":[7]}]',
    want: { is: 'malformed', why: 'the entry of blue/web-0 has no list of addresses' },
  },
  {
    says: 'a name that a terminal would obey',
    given: JSON.stringify([{ name: 'a\u001b[2J\u202e\nb', ips: [7] }]),
    want: { is: 'malformed', why: 'the entry of a?[2J??b has no list of addresses' },
  },
  {
    says: 'addresses that are no list',
    given: '[{"name":"blue/web-0","ips":"10.0.0.7"}]',
    want: { is: 'malformed', why: 'the entry of blue/web-0 has no list of addresses' },
  },
]

for (const { says, given, want } of statuses) test(`network-status: ${says}`, () => assert.deepEqual(status(given), want))

const requests: { says: string; given: string; want: string[] }[] = [
  { says: 'nothing', given: '', want: [] },
  { says: 'a name of its own namespace', given: 'web-0', want: ['blue/web-0'] },
  {
    says: 'several, with namespaces and devices',
    given: 'web-0@eth1, red/db@eth2,db',
    want: ['blue/web-0', 'red/db', 'blue/db'],
  },
  {
    says: 'a list of objects',
    given: '[{"name":"web-0","interface":"eth1"},{"name":"db","namespace":"red"}]',
    want: ['blue/web-0', 'red/db'],
  },
  { says: 'items that make no sense are left out', given: '[{"namespace":"red"},7,{"name":"db"}]', want: ['blue/db'] },
  { says: 'a list that is none', given: '[{', want: [] },
  { says: 'words that are no names', given: 'a/b/c, x y, @eth0', want: [] },
]

for (const { says, given, want } of requests) test(`networks: ${says}`, () => assert.deepEqual(asks(given), want))

test('no text makes it throw', () => {
  const text = fc.oneof(
    fc.string(),
    fc.json(),
    fc.array(fc.dictionary(fc.constantFrom('name', 'ips', 'namespace'), fc.json())).map((o) => JSON.stringify(o)),
  )
  fc.assert(
    fc.property(text, text, (one, other) => {
      const pod = podWith({ [podAnnotations.networks]: one, [podAnnotations.networkStatus]: other })
      assert.ok(definitionsOf(pod).every((name) => name.includes('/')))
    }),
  )
})

test('a Pod is found by what it asks for and by what it has, also when these are not the same any more', () => {
  const pod = podWith({
    [podAnnotations.networks]: 'web-1',
    [podAnnotations.networkStatus]: '[{"name":"cluster"},{"name":"blue/web-0"},{"name":"blue/web-1"}]',
  })
  assert.deepEqual([...definitionsOf(pod)].sort(), ['blue/web-0', 'blue/web-1'])
})

test('what is kept of a Pod is what is looked at', () => {
  const pod = { ...podWith({ [podAnnotations.networks]: 'web-1', other: 'x'.repeat(1000) }), status: { podIP: '192.0.2.1' } }
  const pruned = prunePod(pod)
  assert.deepEqual(pruned.metadata.annotations, { [podAnnotations.networks]: 'web-1' })
  assert.ok(!JSON.stringify(pruned).includes('secret') && !JSON.stringify(pruned).includes('192.0.2.1'))
  assert.deepEqual(definitionsOf(pruned), definitionsOf(pod))
})
