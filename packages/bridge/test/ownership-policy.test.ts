/** The table of the bridge data plane, enforced; its controllers work under it as they are installed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertPassed, assertRefused, type Target, write } from 'kube-control-loop/testing'
import { enforceOn, testOwnership } from 'kube-multus/testing/planes'
import { BridgeAttachment, BridgeNetwork, labels, managers, NetworkAttachmentDefinition } from '../src/api/index.ts'
import { bridgeAccount, bridgeManifests, enforcement, ownershipProbes } from '../src/manifests.ts'
import { standInMultus } from '../testing/index.ts'
import {
  attachmentOf,
  by,
  endPod,
  gone,
  isReady,
  makePod,
  networkOf,
  never,
  readyAttachment,
  says,
  startWorld,
  until,
} from './harness.ts'

const namespace = 'enforced'
const { crds, local, rbac, ownership: policies } = bridgeManifests()
const user = `system:serviceaccount:${bridgeAccount.namespace}:${bridgeAccount.name}`

const condition = (type: string, status: 'True' | 'False') => ({
  ...{ type, status, reason: `Is${status}`, message: `it is ${status}`, lastTransitionTime: '2026-08-21T10:00:00Z' },
})
const definition = (name: string, marks: Record<string, string>) => ({
  apiVersion: 'k8s.cni.cncf.io/v1',
  kind: NetworkAttachmentDefinition.kind,
  metadata: { name, namespace, labels: marks },
  spec: { config: '{}' },
})

const here = testOwnership({
  ...{ enforcement, policies, user, namespace, probes: ownershipProbes },
  manifests: [...crds, ...local, ...rbac],
  enforced: [
    {
      ...{ kind: BridgeNetwork, object: networkOf(namespace, 'made'), manager: managers.network },
      status: { bridge: 'kb-1', conditions: [condition('Ready', 'False')] },
      // The schema keeps a device name as it is: that path is tried on an object without one.
      after: { spec: {}, status: { observedGeneration: 7, bridge: 'kb-1', conditions: [condition('Ready', 'True')] } },
      without: ['bridge'],
    },
    {
      ...{ kind: BridgeAttachment, object: attachmentOf(namespace, 'made', 'made'), manager: managers.attachment },
      status: { conditions: [condition('Ready', 'False'), condition('Programmed', 'False')] },
      after: {
        spec: {},
        status: {
          ...{ observedGeneration: 7, bridge: 'kb-2', networkAttachmentDefinition: 'other' },
          conditions: [condition('Ready', 'True'), condition('Programmed', 'True')],
        },
      },
    },
    {
      ...{ kind: NetworkAttachmentDefinition, object: definition('made', { [labels.bridge]: 'kb-1' }) },
      ...{ manager: managers.attachment, madeBy: 'application' },
      after: { spec: { config: '{"cniVersion":"1.0.0"}' } },
    },
  ],
})

test('the device name of a network is given by its controller only', async () => {
  const { admin, own, rogue } = here()
  const at: Target = { kind: BridgeNetwork, name: 'bare', namespace }
  assertPassed(await write(admin, at, { method: 'POST', body: networkOf(namespace, 'bare', {}, {}) }))
  const given = { subresource: 'status', body: { status: { bridge: 'kb-1' } }, dryRun: true } as const
  assertPassed(await write(own, at, { ...given, manager: managers.network }))
  assertRefused(await write(rogue, at, given), `status.bridge written only by ${user} as ${managers.network}`)
})

test('network definitions of others are nobody’s business, and none of them becomes ours', async () => {
  const { rogue } = here()
  const at: Target = { kind: NetworkAttachmentDefinition, name: 'own', namespace }
  assertPassed(await write(rogue, at, { method: 'POST', manager: 'kubectl', body: definition('own', {}) }))
  assertPassed(await write(rogue, at, { manager: 'kubectl', body: { spec: { config: '{"a":1}' } } }))
  const marks = { [labels.bridge]: 'kb-1' }
  assertRefused(await write(rogue, at, { manager: 'kubectl', body: { metadata: { labels: marks } } }), 'metadata.labels/')
  const marked = { ...at, name: 'marked' }
  assertRefused(await write(rogue, marked, { method: 'POST', manager: 'kubectl', body: definition('marked', marks) }), 'spec')
})

test('the controllers bring an attachment to Programmed and take everything away again, with nobody refused', async () => {
  await using world = await startWorld()
  await enforceOn({ enforcement, policies, probes: ownershipProbes }, world.plane, world.client)
  const { client } = world
  const space = await world.namespace('chain')
  const at = { namespace: space, name: 'web-0' }
  await using _ = world.start()
  const multus = standInMultus({ kubeconfig: world.multusKubeconfig })
  try {
    await readyAttachment(client, space, 'web-0', { mtu: 1460, addresses: ['10.128.0.7/32'], gateways: ['10.128.0.1'] })
    await makePod(client, space, 'workload', 'web-0')
    await until(client, BridgeAttachment, at, 'is Programmed', says('Programmed', 'True Attached'))
    await client.create(BridgeAttachment, attachmentOf(space, 'bare', 'blue', {}, {}), by, never)
    await until(client, BridgeAttachment, { ...at, name: 'bare' }, 'is Ready', isReady)
    await endPod(client, { namespace: space, name: 'workload' })
    for (const name of ['web-0', 'bare']) {
      await client.remove(BridgeAttachment, { namespace: space, name }, {}, never)
      await gone(client, BridgeAttachment, { namespace: space, name })
    }
    await gone(client, NetworkAttachmentDefinition, at)
    await client.remove(BridgeNetwork, { namespace: space, name: 'blue' }, {}, never)
    await gone(client, BridgeNetwork, { namespace: space, name: 'blue' })
  } finally {
    await multus.stop()
  }
  assert.deepEqual(
    world.log.filter((line) => line.includes('ValidatingAdmissionPolicy')),
    [],
  )
})
