/** What Multus reports on Pods, in every direction it moves, and after a restart. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { readAudit, tailAudit } from 'kube-localplane'
import { eventually } from 'kube-localplane/testing'
import { BridgeAttachment } from '../src/api/index.ts'
import {
  attached,
  endPod,
  makePod,
  messageOf,
  never,
  readyAttachment,
  report,
  says,
  setPhase,
  startWorld,
  until,
  type World,
} from './harness.ts'

let world: World
before(async () => {
  world = await startWorld()
})
after(() => world?.[Symbol.asyncDispose]())

const link = { addresses: ['10.128.0.7/32', 'fd20:1::1:0:0/96'] }
const programmed = (namespace: string, wanted: string) =>
  until(world.client, BridgeAttachment, { namespace, name: 'web-0' }, `is ${wanted}`, says('Programmed', wanted))

test('Programmed is what Multus says, each time it says another thing', async () => {
  const { client } = world
  const namespace = await world.namespace('directions')
  await using _ = world.start()
  await readyAttachment(client, namespace, 'web-0', link)
  await programmed(namespace, 'False NotAttached')
  const pod = { namespace, name: 'workload' }
  await makePod(client, namespace, pod.name, 'web-0')

  const right = [attached(`${namespace}/web-0`, 'fd20:1::1:0:0', '10.128.0.7')]
  await report(client, pod, right)
  await programmed(namespace, 'True Attached')
  await report(client, pod, [attached(`${namespace}/web-0`, '10.128.0.8')])
  const differing = await programmed(namespace, 'False AddressesDiffer')
  assert.match(
    messageOf(differing, 'Programmed'),
    /Pod directions\/workload has it with 10\.128\.0\.8 instead of 10\.128\.0\.7, fd20/,
  )
  await report(client, pod, 'nonsense')
  await programmed(namespace, 'Unknown ReportUnreadable')
  await report(client, pod, null)
  await programmed(namespace, 'False NotAttached')
  await report(client, pod, right)
  await programmed(namespace, 'True Attached')
  await setPhase(client, pod, 'Succeeded')
  await programmed(namespace, 'False NotAttached')
})

test('it stays while another Pod has it, and ends with the last', async () => {
  const { client } = world
  const namespace = await world.namespace('several')
  await using _ = world.start()
  await readyAttachment(client, namespace, 'web-0', link)
  for (const name of ['one', 'two']) {
    await makePod(client, namespace, name, 'web-0')
    await report(client, { namespace, name }, [attached(`${namespace}/web-0`, '10.128.0.7', 'fd20:1::1:0:0')])
  }
  await until(client, BridgeAttachment, { namespace, name: 'web-0' }, 'is on two', (found) =>
    messageOf(found, 'Programmed').includes('1 more'),
  )
  await endPod(client, { namespace, name: 'one' })
  const left = await until(client, BridgeAttachment, { namespace, name: 'web-0' }, 'is on the second', (found) =>
    messageOf(found, 'Programmed').includes('several/two'),
  )
  assert.ok(says('Programmed', 'True Attached')(left))
  await endPod(client, { namespace, name: 'two' })
  await programmed(namespace, 'False NotAttached')
})

test('a restart says again what was said, without a write; and what happened meanwhile', async () => {
  const { client } = world
  const namespace = await world.namespace('restart')
  const pod = { namespace, name: 'workload' }
  const first = world.start()
  await readyAttachment(client, namespace, 'web-0', link)
  await makePod(client, namespace, pod.name, 'web-0')
  await report(client, pod, [attached(`${namespace}/web-0`, '10.128.0.7', 'fd20:1::1:0:0')])
  const before = await programmed(namespace, 'True Attached')
  await first.stop()

  const from = await tailAudit(world.plane)
  const second = world.start()
  await eventually('every cache is filled and every pass is done', async () => {
    const { caches, manager } = second.process
    const done = await manager.metrics.registry.getSingleMetricAsString('controller_runtime_reconcile_total')
    return caches.pods.state === 'synced' && /controller="bridgeattachment",result="success"\} [1-9]/.test(done)
  })
  const to = await tailAudit(world.plane)
  const writes = (await readAudit(world.plane.auditLogPath ?? '', { from, to })).filter(
    ({ user, verb, resource }) =>
      user.endsWith(':bridge') && !['get', 'list', 'watch'].includes(verb) && resource !== 'selfsubjectaccessreviews',
  )
  assert.deepEqual(writes, [])
  const same = await client.find(BridgeAttachment, { namespace, name: 'web-0' }, never)
  assert.equal(same?.metadata.resourceVersion, before.metadata.resourceVersion)
  await second.stop()

  await endPod(client, pod)
  await using _ = world.start()
  await programmed(namespace, 'False NotAttached')
})
