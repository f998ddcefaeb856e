/** A kind in two served versions on a real API server: a status written in one of them, a spec owned in the other. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { claimConditions, kinds, NetworkInterfaceClaim, nsoManifests, statusOwners } from '@nso/api'
import {
  type Client,
  crdOf,
  createAccessSource,
  createClient,
  createHttpTransport,
  createStatusWriter,
  createWriteRegistry,
  type ManagedFieldsEntry,
  noWriteMetrics,
  systemClock,
  type Transport,
} from 'kube-control-loop'
import { applyPatch, type Plane, startPlane } from 'kube-localplane'
import { eventually } from 'kube-localplane/testing'

type Version = { name: string; served: boolean; storage: boolean }
type Definition = { spec: { group: string; names: { plural: string; kind: string }; versions: Version[] } }

for (const kind of kinds) {
  test(`B08: ${kind.kind} is written in the one version that is stored`, () => {
    const { versions } = (crdOf(kind) as unknown as Definition).spec
    assert.deepEqual(
      versions.map(({ name, served, storage }) => ({ name, served, storage })),
      [{ name: kind.version, served: true, storage: true }],
    )
  })
}

const later = 'v1beta1'
const signal = AbortSignal.timeout(120_000)
let plane: Plane
let transport: Transport
let client: Client
before(async () => {
  plane = await startPlane({ name: 'served-versions', controllers: false })
  const access = createAccessSource({ clock: systemClock, kubeconfig: plane.kubeconfigPath })
  transport = createHttpTransport({ access, clock: systemClock, userAgent: 'served-versions' })
  client = createClient(transport, { clock: systemClock, jitter: Math.random })
})
after(async () => {
  await transport.close()
  await plane.stop()
})

const path = (version: string, name: string) =>
  `/apis/${NetworkInterfaceClaim.group}/${version}/namespaces/default/networkinterfaceclaims/${name}`

/** Serves the claims in both versions; one of them is stored. */
async function serve(stored: string): Promise<void> {
  const crd = structuredClone(nsoManifests().crds.find(({ metadata }) => metadata.name.startsWith('networkinterfaceclaims.')))
  assert.ok(crd)
  const { spec } = crd as unknown as Definition
  const [first] = spec.versions
  assert.ok(first)
  spec.versions = [first.name, later].map((name) => ({ ...first, name, served: true, storage: name === stored }))
  await plane.apply([crd] as never)
  const probe = { apiVersion: `${spec.group}/${later}`, kind: spec.names.kind, metadata: { name: 'probe' } }
  await eventually('both versions are served for writing', async () => {
    const body = { ...probe, spec: { network: { name: 'net' } } }
    const { status } = await plane.connection.request({
      method: 'POST',
      path: `${path(later, '').slice(0, -1)}?dryRun=All`,
      body,
    })
    const answer = await plane.connection.request({ path: path(NetworkInterfaceClaim.version, 'absent') })
    return status === 201 && answer.status === 404
  })
}

async function entriesOf(version: string, name: string): Promise<ManagedFieldsEntry[]> {
  const { metadata } = await plane.connection.must({ path: path(version, name) })
  return (metadata as { managedFields?: ManagedFieldsEntry[] }).managedFields ?? []
}

const ofSpec = (entries: readonly ManagedFieldsEntry[]) => entries.filter(({ subresource }) => subresource === undefined)

const { Bound, Allocated, Prepared, Programmed, Ready } = claimConditions
const intent = (status: 'yes' | 'no') => ({
  networkInterfaceRef: { name: 'web-0' },
  conditions: [
    Bound.yes('Bound', 'held', 1),
    Allocated.yes('Allocated', 'held', 1),
    Prepared.unknown('Pending', '', 1),
    Programmed.unknown('Pending', '', 1),
    status === 'yes' ? Ready.yes('Ready', '', 1) : Ready.unknown('NotPrepared', '', 1),
  ],
})

for (const stored of [NetworkInterfaceClaim.version, later]) {
  test(`B08: stored in ${stored}: statuses written in ${NetworkInterfaceClaim.version} leave the ownership of a spec applied in ${later}`, async () => {
    await serve(stored)
    const name = `stored-${stored}`
    const body = {
      apiVersion: `${NetworkInterfaceClaim.group}/${later}`,
      kind: 'NetworkInterfaceClaim',
      metadata: { name, labels: { app: 'web' } },
      spec: { network: { name: 'net' }, interfaceName: 'eth1', attachmentMode: 'Netns', ipFamilies: ['IPv6'] },
    }
    const apply = { method: 'PATCH', contentType: applyPatch, path: `${path(later, name)}?fieldManager=consumer`, body } as const
    await plane.connection.must(apply)
    const before = ofSpec(await entriesOf(later, name))
    assert.deepEqual(
      before.map(({ manager, operation, apiVersion }) => [manager, operation, apiVersion]),
      [['consumer', 'Apply', `${NetworkInterfaceClaim.group}/${later}`]],
    )

    const writer = createStatusWriter({
      ...{ client, kind: NetworkInterfaceClaim, metrics: noWriteMetrics, registry: createWriteRegistry() },
      ...{ controller: 'claims', owner: statusOwners.claim, clock: systemClock },
    })
    for (const status of ['no', 'yes', 'no'] as const) {
      const found = await client.find(NetworkInterfaceClaim, { name, namespace: 'default' }, signal)
      assert.ok(found)
      await writer.status(found, intent(status), signal)
    }
    const after = await entriesOf(later, name)
    assert.deepEqual(ofSpec(after), before)
    assert.deepEqual(
      after.filter(({ subresource }) => subresource === 'status').map(({ manager, operation }) => `${manager} ${operation}`),
      [`${statusOwners.claim.writer} Apply`],
    )
    // The consumer is still the one who can take its label away.
    await plane.connection.must({ ...apply, body: { ...body, metadata: { name } } })
    const { metadata } = await plane.connection.must({ path: path(later, name) })
    assert.equal((metadata as { labels?: unknown }).labels, undefined)
  })
}
