import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AddressLease, NetworkInterfaceClaim, kinds as nsoKinds } from '@nso/api'
import { kinds as galacticKinds, localKinds } from 'galactic'
import { createClient, type Kind, type KubeObject, leaseKind, pathOf, systemClock, type Transport } from 'kube-control-loop'
import { snapshotOf, stored, target, world } from '../test/example-chain.ts'
import { explain } from './explain/explain.ts'
import { gather } from './explain/gather.ts'
import { kindOf, sameKind } from './explain/snapshot.ts'
import { collect } from './pages.ts'

const signal = AbortSignal.timeout(10_000)
const size = 500
const kinds: readonly Kind[] = [...nsoKinds, ...galacticKinds, ...localKinds, leaseKind]
const discovery = {
  resources: galacticKinds.map(({ kind, plural, scope }) => ({ kind, name: plural, namespaced: scope === 'Namespaced' })),
}

/** A server that has these objects, and refuses a list that does not ask for a page. */
function serving(objects: readonly KubeObject[]) {
  const listed: string[] = []
  const kindFor = (object: KubeObject) => kinds.find((kind) => sameKind(kind, kindOf(object)))
  const at = ({ metadata: { namespace, name }, ...rest }: KubeObject, isList: boolean): string => {
    const kind = kindFor({ metadata: { name }, ...rest })
    return kind ? pathOf(kind, { namespace, ...(isList ? {} : { name }) }) : ''
  }
  const lists = new Set(kinds.flatMap((kind) => [pathOf(kind, {}), pathOf(kind, { namespace: 'default' })]))
  const ok = (body: unknown) => ({ status: 200, headers: {}, body })
  const transport: Transport = {
    async send({ path, query }) {
      if (path === '/version') return ok({})
      if (/^\/apis\/cloud[^/]*\/[^/]+$/.test(path)) return ok(discovery)
      const found = objects.find((each) => at(each, false) === path)
      if (found) return ok(found)
      if (!lists.has(path)) return { status: 404, headers: {}, body: { kind: 'Status', reason: 'NotFound', code: 404 } }
      assert.ok(query?.limit, `${path} is asked for as a whole`)
      listed.push(path.slice(path.lastIndexOf('/') + 1))
      const all = objects.filter((each) => at(each, true) === path)
      const from = Number(query.continue ?? 0)
      const metadata = from + size < all.length ? { continue: String(from + size) } : {}
      return ok({ kind: 'List', items: all.slice(from, from + size), metadata })
    },
    stream: async () => assert.fail('nothing is watched'),
    close: async () => {},
  }
  const client = createClient(transport, { clock: systemClock, jitter: () => 0, retryForMs: 0 })
  return { listed, cluster: { client, transport, namespace: 'default', close: transport.close } }
}

const many = (count: number, kind: string, spec: (at: number) => object = () => ({})) =>
  Array.from({ length: count }, (_, at) => stored({ kind, name: `other-${String(at).padStart(5, '0')}`, spec: spec(at) }))

test('a list comes whole and in its order, page by page', async () => {
  const { cluster } = serving(many(2000, 'NetworkInterfaceClaim'))
  const listing = { client: cluster.client, kind: NetworkInterfaceClaim, namespace: 'default' }
  const names = await collect(listing, ({ metadata }) => [metadata.name], signal)
  assert.deepEqual([names.length, names[0], names.at(-1)], [2000, 'other-00000', 'other-01999'])
})

test('of a namespace with thousands of leases only those are read that the interface’s addresses name', async () => {
  const given = world()
  Object.assign(given.nic.spec, { addresses: [{ address: '10.0.0.5/32' }] })
  const spec = { address: '10.0.0.5/32', holder: { claimName: 'web-0' } }
  const lease = stored({ kind: 'AddressLease', name: 'net.10-0-0-5', spec })
  const others = many(2000, 'AddressLease', () => ({ holder: { claimName: 'other' } }))
  const { cluster, listed } = serving([...snapshotOf(given).objects, lease, ...others])
  const snapshot = await gather(cluster, target, signal)
  assert.ok(!listed.includes(AddressLease.plural))
  const leases = explain(snapshot, target)?.beside.filter(({ kind }) => kind === AddressLease.kind)
  assert.deepEqual(
    leases?.map(({ name, state }) => [name, state]),
    [['net.10-0-0-5', 'stands']],
  )
})

test('without an interface the claim’s leases are picked out of the pages, and no others are kept', async () => {
  const { nic: _, attachment: __, ...given } = world()
  const others = many(1200, 'AddressLease', (at) => ({ holder: { claimName: at === 1100 ? 'web-0' : 'other' } }))
  const { cluster } = serving([...snapshotOf(given).objects, ...others])
  const { objects } = await gather(cluster, target, signal)
  const leases = objects.filter(({ kind }) => kind === AddressLease.kind)
  assert.deepEqual(
    leases.map(({ metadata }) => metadata.name),
    ['other-01100'],
  )
})
