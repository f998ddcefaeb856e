import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pod } from 'kube-multus'
import { programmedOf } from './programmed.ts'

const entry = (...ips: string[]) => ({ name: 'blue/web-0', interface: 'net1', ips, mac: '02:00:00:00:00:01', dns: {} })
const cluster = { name: 'cluster', interface: 'eth0', ips: ['192.0.2.7'], default: true }
const pod = (name: string, status: unknown): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    namespace: 'blue',
    name,
    annotations: {
      'k8s.v1.cni.cncf.io/networks': 'web-0',
      ...(status === undefined
        ? {}
        : { 'k8s.v1.cni.cncf.io/network-status': typeof status === 'string' ? status : JSON.stringify(status) }),
    },
  },
  spec: undefined,
})

const two = ['10.128.0.7/32', 'fd20:1::1:0:0/96']

type Case = { says: string; pods: Pod[]; addresses?: string[]; want: string; message?: RegExp }

const table: Case[] = [
  { says: 'nobody asks for it', pods: [], want: 'False NotAttached' },
  { says: 'a Pod asks for it', pods: [pod('a', undefined)], want: 'False NotAttached' },
  { says: 'a Pod has other networks only', pods: [pod('a', [cluster])], want: 'False NotAttached' },
  {
    says: 'a Pod has it with all addresses',
    pods: [pod('a', [cluster, entry('10.128.0.7', 'fd20:1::1:0:0')])],
    want: 'True Attached',
    message: /^Pod blue\/a has it as net1$/,
  },
  {
    says: 'order and spelling of addresses do not matter',
    pods: [pod('a', [entry('FD20:1:0::1:0:0', '10.128.0.7')])],
    want: 'True Attached',
  },
  {
    says: 'an address is missing',
    pods: [pod('a', [entry('10.128.0.7')])],
    want: 'False AddressesDiffer',
    message: /has it with 10\.128\.0\.7 instead of 10\.128\.0\.7, fd20:1::1:0:0/,
  },
  { says: 'an address is another', pods: [pod('a', [entry('10.128.0.8', 'fd20:1::1:0:0')])], want: 'False AddressesDiffer' },
  {
    says: 'an address too many',
    pods: [pod('a', [entry('10.128.0.7', 'fd20:1::1:0:0', '10.128.0.8')])],
    want: 'False AddressesDiffer',
  },
  { says: 'no address at all', pods: [pod('a', [entry()])], want: 'False AddressesDiffer', message: /with no address instead/ },
  {
    says: 'what a terminal would obey gets into no message',
    pods: [pod('a', [entry('\u001b[2J\n10.128.0.7')])],
    want: 'False AddressesDiffer',
    message: /has it with \?\[2J\?10\.128\.0\.7 instead/,
  },
  {
    says: 'nor the name of a device',
    pods: [pod('a', [{ ...entry('10.128.0.7', 'fd20:1::1:0:0'), interface: 'net1\u001b]0;x\u0007' }])],
    want: 'True Attached',
    message: /has it as net1\?\]0;x\?$/,
  },
  {
    says: 'a workload that addresses itself is right as it is',
    pods: [pod('a', [entry()])],
    addresses: [],
    want: 'True Attached',
  },
  {
    says: 'of two Pods the one that is right speaks, and the other is told of',
    pods: [pod('b', [entry('10.128.0.7', 'fd20:1::1:0:0')]), pod('a', [entry('10.128.0.7', 'fd20:1::1:0:0')])],
    want: 'True Attached',
    message: /^Pod blue\/a has it as net1, and 1 more with the same addresses$/,
  },
  {
    says: 'an unreadable report is said, with the Pod',
    pods: [pod('a', '{"not": "a list"}')],
    want: 'Unknown ReportUnreadable',
    message: /Pod blue\/a cannot be read: it is no list/,
  },
  {
    says: 'a readable report speaks beside an unreadable one',
    pods: [pod('a', '{'), pod('b', [entry('10.128.0.7', 'fd20:1::1:0:0')])],
    want: 'True Attached',
  },
  {
    says: 'an entry for a definition of another namespace is of others',
    pods: [pod('a', [{ ...entry(), name: 'red/web-0' }])],
    want: 'False NotAttached',
  },
]

for (const { says, pods, addresses = two, want, message } of table)
  test(says, () => {
    const programmed = programmedOf('blue/web-0', addresses, pods)
    assert.equal(`${programmed.status} ${programmed.reason}`, want)
    if (message) assert.match(programmed.message, message)
    assert.deepEqual(programmedOf('blue/web-0', addresses, [...pods].reverse()), programmed)
  })

test('a Pod that asks for it and one that does not are the same to say, so its start costs no write', () => {
  assert.deepEqual(programmedOf('blue/web-0', two, [pod('a', undefined)]), programmedOf('blue/web-0', two, []))
})
