/** Galactic's own table, enforced on a control plane that knows no other kinds; Galactic works under it as it is installed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLogger } from 'kube-control-loop'
import { assertPassed, assertRefused, type Target, write } from 'kube-control-loop/testing'
import { eventually } from 'kube-localplane/testing'
import { enforceOn, testOwnership } from 'kube-multus/testing/planes'
import { finalizer, managers, NetworkAttachmentDefinition, VPC, VPCAttachment } from '../src/api/index.ts'
import { enforcement, galacticAccount, galacticManifests, ownershipProbes } from '../src/manifests.ts'
import { startStandInNode } from '../testing/index.ts'
import { attachmentIs, attachmentOf, by, gone, isProgrammed, never, startWorld, vpcOf } from './harness.ts'

const namespace = 'enforced'
const user = `system:serviceaccount:${galacticAccount.namespace}:${galacticAccount.name}`
const { crds, rbac, local, ownership: policies } = galacticManifests()

const condition = (type: string, is: 'True' | 'False') => ({
  ...{ type, status: is, reason: `Is${is}`, message: `it is ${is}`, lastTransitionTime: '2026-08-21T10:00:00Z' },
})

const held = { finalizers: [finalizer] }
const definition = () => ({
  ...{ apiVersion: 'k8s.cni.cncf.io/v1', kind: NetworkAttachmentDefinition.kind, spec: { config: '{}' } },
  metadata: {
    ...{ name: 'made', namespace },
    labels: { 'cloud.datumapis.com/vpc': 'jU', 'cloud.datumapis.com/vpc-attachment': '1a' },
  },
})

const fields = (text: string) => ({
  ...{ vpc: text, vpcAttachment: text, networkAttachmentDefinition: text, node: text, hostInterface: text, vrfInterface: text },
  ...{
    podName: text,
    containerID: text.repeat(46),
    guestInterface: text,
    podSubnet: 'fd00:10:ff01:0:1::/80',
    observedGeneration: 7,
  },
  egress: { internet: { sourceAddresses: [{ family: 'IPv4', address: '198.51.100.7', stability: 'Stable' }] } },
})

const here = testOwnership({
  ...{ enforcement, policies, user, namespace, probes: ownershipProbes },
  manifests: [...crds, ...local, ...rbac],
  enforced: [
    {
      ...{ kind: VPC, object: vpcOf(namespace, 'made', held), manager: managers.vpc },
      status: { vpc: 'jU', conditions: [condition('Ready', 'False')] },
      // The schema keeps an identifier as it is: that path is tried on an object without one.
      after: { spec: {}, status: { observedGeneration: 7, vpc: 'jV', conditions: [condition('Ready', 'True')] } },
      without: ['vpc'],
    },
    {
      ...{ kind: VPCAttachment, object: attachmentOf(namespace, 'made', 'made', {}, held), manager: managers.attachment },
      status: { conditions: [condition('Ready', 'False'), condition('Programmed', 'False')] },
      after: { spec: {}, status: { ...fields('a'), conditions: [condition('Ready', 'True'), condition('Programmed', 'True')] } },
    },
    {
      ...{ kind: NetworkAttachmentDefinition, object: definition(), manager: managers.attachment, madeBy: 'application' },
      after: { spec: { config: '{"cniVersion":"1.0.0"}' } },
    },
  ],
})

test('Galactic brings an attachment to Programmed and takes everything away again, with nobody refused', async () => {
  await using world = await startWorld()
  await enforceOn({ enforcement, policies, probes: ownershipProbes }, world.plane, world.client)
  const space = await world.namespace('chain')
  const at = { namespace: space, name: 'web-0' }
  await using _ = world.start()
  const node = startStandInNode({ kubeconfig: world.nodeKubeconfig, log: silentLogger })
  try {
    await world.client.create(VPC, vpcOf(space, 'blue', { finalizers: [finalizer] }), by, never)
    const link = { mtu: 1460, addresses: ['10.128.0.7/32'], gateways: ['10.128.0.1'] }
    await world.client.create(VPCAttachment, attachmentOf(space, 'web-0', 'blue', link, { finalizers: [finalizer] }), by, never)
    await attachmentIs(world.client, at, 'Programmed', isProgrammed)
    await world.client.remove(VPCAttachment, at, {}, never)
    await gone(world.client, VPCAttachment, at)
    await gone(world.client, NetworkAttachmentDefinition, at)
    await world.client.remove(VPC, { namespace: space, name: 'blue' }, {}, never)
    await gone(world.client, VPC, { namespace: space, name: 'blue' })
  } finally {
    await node.stop()
  }
  assert.deepEqual(
    world.log.filter((line) => line.includes('ValidatingAdmissionPolicy')),
    [],
  )
})

test('the identifier of a VPC is given by Galactic only', async () => {
  const { admin, own: galactic, rogue } = here()
  const at: Target = { kind: VPC, name: 'bare', namespace }
  assertPassed(await write(admin, at, { method: 'POST', body: vpcOf(namespace, 'bare') }))
  const given = { subresource: 'status', body: { status: { vpc: 'jU' } }, dryRun: true } as const
  assertPassed(await write(galactic, at, { ...given, manager: managers.vpc }))
  for (const manager of ['kubectl-edit', 'vpc-controller'])
    assertRefused(await write(rogue, at, { ...given, manager }), `status.vpc written only by ${user} as ${managers.vpc}`)
})

test('network definitions of others are nobody’s business', async () => {
  const { rogue } = here()
  const at: Target = { kind: NetworkAttachmentDefinition, name: 'own', namespace }
  const body = { ...definition(), metadata: { name: 'own', namespace } }
  assertPassed(await write(rogue, at, { method: 'POST', manager: 'kubectl', body }))
  assertPassed(await write(rogue, at, { manager: 'kubectl', body: { spec: { config: '{"a":1}' } } }))
  const labels = { 'cloud.datumapis.com/vpc-attachment': '1a' }
  assertRefused(await write(rogue, at, { manager: 'kubectl', body: { metadata: { labels } } }), 'metadata.labels/')
  const marked = { ...body, metadata: { name: 'marked', namespace, labels } }
  assertRefused(await write(rogue, { ...at, name: 'marked' }, { method: 'POST', manager: 'kubectl', body: marked }), 'spec')
})

test('the garbage collector takes a marked definition with its attachment', async () => {
  const { client, own: galactic } = here()
  await client.create(VPCAttachment, attachmentOf(namespace, 'owner', 'none'), by, never)
  const owner = await client.find(VPCAttachment, { name: 'owner', namespace }, never)
  const reference = { apiVersion: owner?.apiVersion, kind: 'VPCAttachment', name: 'owner', uid: owner?.metadata.uid }
  const made = definition()
  const body = { ...made, metadata: { ...made.metadata, name: 'owned', ownerReferences: [reference] } }
  const at: Target = { kind: NetworkAttachmentDefinition, name: 'owned', namespace }
  assertPassed(await write(galactic, at, { method: 'POST', manager: managers.attachment, body }))
  await client.remove(VPCAttachment, { name: 'owner', namespace }, {}, never)
  await eventually(
    'it is collected',
    async () => !(await client.find(NetworkAttachmentDefinition, { name: 'owned', namespace }, never)),
  )
})
