/** The stand-in dies after any of its own writes: the next one finishes what was begun. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  apiVersionOf,
  createAccessSource,
  createClient,
  createHttpTransport,
  pathOf,
  systemClock,
  type Transport,
} from 'kube-control-loop'
import { scriptTransport } from 'kube-control-loop/testing'
import { IPAllocation, IPClaim, IPPool } from 'kube-ipam'
import { standInAccount } from 'kube-ipam/stand-in'
import type { KubeObject, PlaneAccess } from 'kube-localplane'
import { testNamespace } from 'kube-localplane/testing'
import { serverBehind } from '../stand-in/behind.ts'
import { createService, type Service } from '../stand-in/service.ts'
import { createStore } from '../stand-in/store.ts'

export type Bed = { plane: PlaneAccess /** Aborted when all tests are over. */; ending: AbortSignal }
type Asked = { service: Service; headers: Record<string, string> }

/** A service whose own writes go over the wire; callers act as the administrator. */
async function serviceOver({ plane, ending }: Bed, transport: Transport): Promise<Asked> {
  const admin = await createAccessSource({ clock: systemClock, kubeconfig: plane.kubeconfigPath }).current()
  const behind = serverBehind(admin)
  ending.addEventListener('abort', () => behind.close())
  const store = createStore(createClient(transport, { clock: systemClock, jitter: () => 0, retryForMs: 0 }))
  const service = createService({ behind, store, signal: ending, log: () => {}, overruled: () => {} })
  return { service, headers: { ...admin.headers, 'content-type': 'application/json' } }
}

const scope = {
  network: { apiGroup: 'example.com', kind: 'Network', name: 'crashing' },
  location: { apiGroup: 'example.com', kind: 'Location', name: 'here' },
}

type Claims = { items: { metadata: { name: string }; status?: { phase: string; allocatedCIDR: string } }[] }
type Allocations = { items: { spec: { claimRef: { name: string } }; status: { allocatedCIDR: string } }[] }

/** Two pools with their status, the allocation with its own, the claim's answer. */
const writes = 7

/** `bed` is asked when the tests run. */
export function testCrashes(bed: () => Bed): void {
  for (let done = 0; done <= writes; done++)
    test(`it ends after ${done} of its ${writes} writes for a claim: the next one finishes it`, () => crash(bed(), done))
}

async function crash(bed: Bed, done: number): Promise<void> {
  const { plane } = bed
  await using space = await testNamespace(plane, 'crash')
  const access = createAccessSource({
    clock: systemClock,
    kubeconfig: await plane.kubeconfigFor({ serviceAccount: standInAccount }),
  })
  const wire = createHttpTransport({ access, clock: systemClock, userAgent: 'test' })
  const dying = scriptTransport(wire)
  const isWrite = { where: ({ method }: { method: string }) => method !== 'GET' }
  dying.on(isWrite, { skip: Math.min(done, writes - 1), times: Number.POSITIVE_INFINITY }).dropBefore()
  // The last one is done, and nobody hears of it.
  if (done === writes) dying.on(isWrite, { skip: writes - 1 }).dropAfter()
  const { service, headers } = await serviceOver(bed, dying)
  const url = pathOf(IPClaim, { namespace: space.name })
  const body = Buffer.from(
    JSON.stringify({
      ...{ apiVersion: apiVersionOf(IPClaim), kind: IPClaim.kind, metadata: { name: 'a', namespace: space.name } },
      spec: { ipFamily: 'IPv6', scope },
    }),
  )
  assert.equal((await service.create(space.name, { method: 'POST', url, headers, body })).status, 500)
  const next = await serviceOver(bed, wire)
  await next.service.settle()
  const { items: claims } = (await plane.connection.must({ path: url })) as unknown as Claims
  const cidr = claims[0]?.status?.allocatedCIDR
  assert.deepEqual([claims.length, claims[0]?.status?.phase], [1, 'Bound'])
  const path = pathOf(IPAllocation, { namespace: space.name })
  const { items } = (await plane.connection.must({ path })) as unknown as Allocations
  assert.deepEqual(
    items.map(({ spec, status }) => [spec.claimRef.name, status.allocatedCIDR]),
    [['a', cidr]],
  )
  const removal = { method: 'DELETE', url: `${url}/a`, headers, body: undefined }
  assert.equal((await next.service.remove(space.name, 'a', removal)).status, 200)
  const pools = (await plane.connection.must({ path: pathOf(IPPool, {}) })) as unknown as { items: KubeObject[] }
  const carved = pools.items.map(({ metadata }) => metadata.name).filter((name) => name.startsWith('datum-'))
  assert.deepEqual(carved, [])
  await wire.close()
}
