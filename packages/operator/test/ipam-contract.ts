/** The world of the allocators' contract, at an address service. Its claims are no objects: no NSO may run beside it. */
import assert from 'node:assert/strict'
import { annotations } from '@nso/api'
import { createCache, pathOf, silentLogger, systemClock, type Transport } from 'kube-control-loop'
import { IPClaim } from 'kube-ipam'
import type { Plane } from 'kube-localplane'
import { testNamespace } from 'kube-localplane/testing'
import { Registry } from 'prom-client'
import { formatCidr, readBlock } from '../src/addresses/cidr.ts'
import type { AllocatorWorld } from '../src/addresses/contract.ts'
import { connectIpam, createIpamAllocator, createLosses, Namespace } from '../src/addresses/ipam/index.ts'
import type { AddressAllocator } from '../src/addresses/port.ts'
import type { IpamWorld } from './ipam-world.ts'
import { aClaim, aContext, anInterface, aSubnet } from './objects.ts'
import { viewOf } from './server.ts'
import { location } from './world.ts'

type Parts = { plane: Plane; ipam: IpamWorld; transport: Transport; signal: AbortSignal }
type ContractWorld = AllocatorWorld & AsyncDisposable & { assertNothingUnclaimed(): Promise<void> }

export async function ipamContractWorld(parts: Parts): Promise<ContractWorld> {
  const { plane, ipam, signal } = parts
  const place = await testNamespace(plane, 'contract')
  const namespace = place.name
  const project = await ipam.join(namespace)
  const network = { name: `net-${namespace}` }
  const held = async () => (await ipam.claims(project)).map(({ status }) => canonical(status?.allocatedCIDR)).sort()
  return {
    context: aContext({ metadata: { namespace }, spec: { network } }),
    many: 40,
    allocator: () => anotherAllocator(parts, namespace),
    claim: (name, spec) =>
      aClaim({
        metadata: { name, namespace, uid: `${namespace}-${name}` },
        spec: { network, ipFamilies: ['IPv6', 'IPv4'], ...spec },
      }),
    async range(name, text, className) {
      await ipam.pool(network.name, text, className)
      return aSubnet({ metadata: { name, namespace } })
    },
    interface: ({ metadata: { name, uid = '' }, spec }, addresses, external = []) =>
      anInterface({
        metadata: { name, namespace, annotations: { [annotations.allocationClaim]: name, [annotations.claimUid]: uid } },
        spec: {
          network,
          claimRef: { name },
          reclaimPolicy: spec.reclaimPolicy ?? 'Delete',
          addresses: addresses.map((address, n) => ({ family: familyOf(address), address, primary: n === 0 })),
          externalAddresses: external.map((one) => ({ family: familyOf(one.address), ...one })),
        },
      }),
    held,
    async lose() {
      throw new Error('what an address service loses is not made again')
    },
    async assertNothingUnclaimed() {
      assert.equal((await ipam.allocations(project)).length, (await held()).length)
    },
    async [Symbol.asyncDispose]() {
      // Past the service, which puts away what they held: NSO, once it runs, would give each of them back.
      await ipam.client.raw({ method: 'DELETE', path: pathOf(IPClaim, { namespace: project }) }, signal)
      await place[Symbol.asyncDispose]()
    },
  }
}

const familyOf = (address: string) => readBlock(address)?.family ?? 'IPv6'

function canonical(cidr: string | undefined): string {
  const block = readBlock(cidr ?? '')
  assert.ok(block, `${cidr} is a block`)
  return formatCidr(block)
}

/** One more process's worth of caches, connection and allocator. */
async function anotherAllocator({ ipam, transport, signal }: Parts, namespace: string): Promise<AddressAllocator> {
  const view = await viewOf(transport, { namespace, signal, names: ['claims', 'interfaces'] })
  const parts = { clock: systemClock, jitter: Math.random, log: silentLogger }
  const namespaces = createCache(view.client, Namespace, {}, parts)
  const service = connectIpam({ ...parts, transport: ipam.transport(), fence: (plain) => plain, namespaces })
  namespaces.run(signal).catch(() => {})
  service.run(signal).then(service.close, service.close)
  await Promise.all([namespaces.ready(signal), service.claims.ready(signal)])
  const rest = { caches: view.caches, cluster: view.client, location: () => location, losses: createLosses(new Registry()) }
  return createIpamAllocator({ ...parts, ...rest, service })
}
