import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Network, NetworkContext } from '@nso/api'
import type { KubeObject } from 'kube-control-loop'
import { aContext } from '../../test/objects.ts'
import { decideNetwork, type NetworkDecision, type SeenNetwork } from './network-object.ts'
import { TemplateError } from './template.ts'
import type { CompiledPlane } from './types.ts'

const v6 = { cidr: 'fd20::/64', family: 'IPv6', gateway: 'fd20::1' }
const v4 = { cidr: '10.128.0.0/20', family: 'IPv4', gateway: '10.128.0.1' }
const context = aContext({ metadata: { uid: 'c-1' } })

const plane = (given: Partial<CompiledPlane> = {}): CompiledPlane =>
  ({
    ref: { name: 'toy', uid: 'p-1' },
    networkKind: { apiVersion: 'planes.example.dev/v1', kind: 'Net' },
    hindrance: undefined,
    renderNetwork: ({ subnets }: { subnets: readonly { cidr: string }[] }) =>
      net({ spec: { ranges: subnets.map(({ cidr }) => cidr) } }),
    ...given,
  }) as unknown as CompiledPlane

const net = (given: { uid?: string; owner?: string; spec?: unknown; deleting?: boolean } = {}): KubeObject => ({
  apiVersion: 'planes.example.dev/v1',
  kind: 'Net',
  metadata: {
    name: 'net-here',
    namespace: 'default',
    ...(given.deleting ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
    ...(given.uid
      ? {
          ownerReferences: [
            { apiVersion: 'x', kind: 'NetworkContext', name: given.owner ?? 'net-here', uid: given.uid, controller: true },
          ],
        }
      : {}),
  },
  spec: given.spec ?? {},
})

const seen = (given: Partial<SeenNetwork> = {}): SeenNetwork => ({
  context,
  subnets: [v6],
  plane: plane(),
  listed: true,
  stored: undefined,
  ...given,
})

const dual = (spec: Partial<NetworkContext['spec']>) => aContext({ metadata: { uid: 'c-1' }, spec })

describe('the network object of a context', () => {
  const table: { says: string; given: Partial<SeenNetwork>; want: Partial<NetworkDecision> & { do: NetworkDecision['do'] } }[] = [
    {
      says: 'waits for the Network that its template reads, since it is never changed afterwards',
      given: { plane: plane({ readsNetwork: true }) },
      want: { do: 'wait', on: 'Network net' },
    },
    {
      says: 'is made when the Network that its template reads is there',
      given: { plane: plane({ readsNetwork: true }), network: { metadata: { name: 'net' } } as Network },
      want: { do: 'create', body: net({ spec: { ranges: ['fd20::/64'] } }) },
    },
    {
      says: 'is made when its family has a subnet',
      given: {},
      want: { do: 'create', body: net({ spec: { ranges: ['fd20::/64'] } }) },
    },
    {
      says: 'waits for a subnet of every family',
      given: { context: dual({ ipFamilies: ['IPv6', 'IPv4'] }) },
      want: { do: 'wait', on: 'a Subnet for IPv4' },
    },
    {
      says: 'is made with all of them',
      given: { context: dual({ ipFamilies: ['IPv6', 'IPv4'] }), subnets: [v4, v6] },
      want: { do: 'create', body: net({ spec: { ranges: ['10.128.0.0/20', 'fd20::/64'] } }) },
    },
    {
      says: 'waits for a plane',
      given: { plane: undefined },
      want: { do: 'wait', on: 'a DataPlane for location here' },
    },
    { says: 'is not for a plane without one', given: { plane: plane({ networkKind: undefined }) }, want: { do: 'nothing' } },
    { says: 'is never changed', given: { stored: net({ uid: 'c-1', spec: { ranges: ['other'] } }) }, want: { do: 'nothing' } },
    {
      says: 'is not made for a context that goes',
      given: { context: aContext({ metadata: { deletionTimestamp: 'x' } }) },
      want: { do: 'nothing' },
    },
    {
      says: 'waits for that of an earlier context to be collected',
      given: { stored: net({ uid: 'c-0' }) },
      want: { do: 'wait', on: 'Net default/net-here being gone' },
    },
    {
      says: 'waits for a foreign one that is going',
      given: { stored: net({ deleting: true }) },
      want: { do: 'wait', on: 'Net default/net-here being gone' },
    },
    {
      says: 'of someone else is reported and not taken over',
      given: { stored: net() },
      want: {
        do: 'report',
        reason: 'NetworkObjectForeign',
        message: 'Net default/net-here exists and is not this context’s: it is not taken over',
      },
    },
    {
      says: 'waits while the plane is hindered',
      given: { plane: plane({ hindrance: 'NSO may not' }) },
      want: { do: 'wait', on: 'DataPlane toy: NSO may not' },
    },
    {
      says: 'waits until absence means something',
      given: { listed: false },
      want: { do: 'wait', on: 'Net objects being listed' },
    },
    {
      says: 'is not made from a template that does not fit',
      given: {
        plane: plane({
          renderNetwork() {
            throw new TemplateError('spec.network.spec.x', 3, 'no such overload')
          },
        }),
      },
      want: { do: 'report', reason: 'TemplateFailed', message: 'DataPlane toy: spec.network.spec.x, column 3: no such overload' },
    },
  ]
  for (const { says, given, want } of table) test(says, () => assert.deepEqual(decideNetwork(seen(given)), want))

  test('waits for a context that does not say its families', () => {
    const { ipFamilies: _, ...spec } = context.spec
    assert.deepEqual(decideNetwork(seen({ context: { ...context, spec } })), {
      do: 'wait',
      on: 'address families of the context',
    })
  })
})
