import assert from 'node:assert/strict'
import { test } from 'node:test'
import { finalizers, labels, type NetworkContext, type NetworkInterface } from '@nso/api'
import { type Decision, decide } from './decide.ts'

const apiVersion = 'networking.datumapis.com/v1alpha'
const deleting = { deletionTimestamp: '2026-01-01T00:00:00Z' }

function aContext(given: Partial<NetworkContext['metadata']> = {}): NetworkContext {
  return {
    apiVersion,
    kind: 'NetworkContext',
    metadata: { name: 'net-dfw', namespace: 'default', ...given },
    spec: { network: { name: 'net' }, location: { name: 'dfw' } },
  }
}

function nic(given: Partial<NetworkInterface['metadata']> = {}, network = 'net', context?: string): NetworkInterface {
  return {
    apiVersion,
    kind: 'NetworkInterface',
    metadata: { name: 'web-0', namespace: 'default', ...given },
    spec: { network: { name: network }, interfaceName: 'eth0', attachmentMode: 'Netns', reclaimPolicy: 'Delete' },
    ...(context ? { status: { networkContextRef: { name: context } } } : {}),
  }
}

const at = (location: string) => ({ labels: { [labels.location]: location } })
const held = { finalizers: [finalizers.contextInUse] }

const table: { says: string; context: NetworkContext; nics: NetworkInterface[]; want: Decision }[] = [
  { says: 'holds with the first interface', context: aContext(), nics: [nic(at('dfw'))], want: 'hold' },
  { says: 'is content when it holds', context: aContext(held), nics: [nic(at('dfw'))], want: 'keep' },
  { says: 'is content without interfaces', context: aContext(), nics: [], want: 'keep' },
  { says: 'lets go after the last one', context: aContext(held), nics: [], want: 'let-go' },
  {
    says: 'B39: holds on while the last one is going',
    context: aContext(held),
    nics: [nic({ ...at('dfw'), ...deleting })],
    want: 'keep',
  },
  {
    says: 'does not begin with one that is going',
    context: aContext(),
    nics: [nic({ ...at('dfw'), ...deleting })],
    want: 'keep',
  },
  { says: 'does not begin on a context that is going', context: aContext(deleting), nics: [nic(at('dfw'))], want: 'keep' },
  { says: 'does not mind interfaces in another location', context: aContext(held), nics: [nic(at('lhr'))], want: 'let-go' },
  { says: 'goes by the label before the status', context: aContext(), nics: [nic(at('lhr'), 'net', 'net-dfw')], want: 'keep' },
  { says: 'goes by the status where there is no label', context: aContext(), nics: [nic({}, 'net', 'net-dfw')], want: 'hold' },
  {
    says: 'does not mind an interface whose status tells another context',
    context: aContext(held),
    nics: [nic({}, 'net', 'net-lhr')],
    want: 'let-go',
  },
  { says: 'counts an interface that does not tell its location', context: aContext(), nics: [nic()], want: 'hold' },
  { says: 'does not mind another network', context: aContext(held), nics: [nic(at('dfw'), 'other')], want: 'let-go' },
  {
    says: 'does not mind another namespace',
    context: aContext(held),
    nics: [nic({ ...at('dfw'), namespace: 'elsewhere' })],
    want: 'let-go',
  },
]
for (const { says, context, nics, want } of table) {
  test(`the hold ${says}`, () => assert.equal(decide(context, nics), want))
}
