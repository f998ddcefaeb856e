/** NSO and Galactic, as they are installed, live under enforced ownership: whatever they do, nothing of it is refused. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { enforceOwnership } from '@nso/cli/ownership'
import type { KubeObject, OwnershipMode } from 'kube-control-loop'
import { eventually } from 'kube-localplane/testing'
import { claimOf, kindOf, startWorld, type World } from './support/explained-world.ts'

let world: World
const namespace = 'life'
const [claims, interfaces] = [kindOf('NetworkInterfaceClaim'), kindOf('NetworkInterface')]
const [attachments, networks] = [kindOf('VPCAttachment'), kindOf('Network')]

const enforce = (mode: OwnershipMode) =>
  enforceOwnership({
    ...{ kubeconfigPath: world.plane.kubeconfigPath, mode, log: () => {} },
    signal: AbortSignal.timeout(60_000),
  })

before(async () => {
  world = await startWorld()
  await enforce('Deny')
  await world.installDataPlane()
  await world.startNso()
  await world.startGalactic()
  await world.place(namespace)
})
after(async () => await world?.[Symbol.asyncDispose]())

/** Writes refused by ownership policies so far; probes of an installation are among them. */
async function refusals(): Promise<number> {
  const { text } = await world.plane.connection.request({ path: '/metrics' })
  const lines = text.split('\n').filter((line) => /^apiserver_validating_admission_policy_check_total\{.*"deny"/.test(line))
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

async function withoutRefusal(act: () => Promise<unknown>): Promise<void> {
  const before = await refusals()
  assert.ok(before > 0, 'those of the installation’s own probes are counted')
  await act()
  assert.equal((await refusals()) - before, 0)
}

const gone = (kind: typeof claims, name: string) =>
  eventually(`${kind.kind} ${name} is gone`, async () => !(await world.find(kind, { namespace, name })))
const labelOf = ({ metadata }: KubeObject) => metadata.labels?.['compute.datumapis.com/instance']

test('a claim comes, changes its labels, and goes with everything', () =>
  withoutRefusal(async () => {
    const at = { namespace, name: 'web-0' }
    await world.ready(namespace, 'web-0')
    await world.patch(claims, at, { metadata: { labels: { 'compute.datumapis.com/instance': 'a', team: 'x' } } })
    await world.until('the label is handed on', interfaces, at, (nic) => labelOf(nic) === 'a')
    await world.patch(interfaces, at, { metadata: { labels: { team: 'y' }, annotations: { note: 'y' } } })
    await world.patch(claims, at, { metadata: { labels: { 'compute.datumapis.com/instance': null } } })
    const nic = await world.until('the label is taken back', interfaces, at, (each) => labelOf(each) === undefined)
    assert.equal(nic.metadata.labels?.team, 'y')
    await world.remove(claims, at)
    await gone(claims, 'web-0')
    await gone(interfaces, 'web-0')
    await gone(attachments, 'web-0')
  }))

test('an interface is kept, bound again after a change of leaders, and given back', () =>
  withoutRefusal(async () => {
    const spec = { reclaimPolicy: 'Retain', networkInterfaceName: 'kept' }
    const isReady = (object: KubeObject) => JSON.stringify(object.status ?? {}).includes('"reason":"Ready","status":"True"')
    await world.create(claimOf(namespace, 'first', spec))
    await world.until('the first is Ready', claims, { namespace, name: 'first' }, isReady)
    await world.remove(claims, { namespace, name: 'first' })
    await gone(claims, 'first')
    await world.stopNso()
    await world.stopGalactic()
    await world.create(claimOf(namespace, 'second', spec))
    await world.startNso()
    await world.startGalactic()
    await world.until('the second is Ready', claims, { namespace, name: 'second' }, isReady)
    await world.remove(claims, { namespace, name: 'second' })
    await gone(claims, 'second')
    await world.remove(interfaces, { namespace, name: 'kept' })
    await gone(interfaces, 'kept')
  }))

test('who came in while nothing was enforced is put out under Deny, by the patch that ends a fight', async () => {
  await world.ready(namespace, 'web-1')
  await world.stopNso()
  await world.stopGalactic()
  await enforce('Audit')
  const condition = (type: string) => ({
    ...{ type, status: 'False', reason: 'Mine', message: 'mine', lastTransitionTime: '2026-01-01T00:00:00Z' },
  })
  const at = { namespace, name: 'web-1' }
  const taken = [claims, interfaces, attachments] as const
  await eventually('it passes', async () => {
    for (const kind of taken)
      await world.applyStatus(kind, at, { conditions: [condition('Programmed')] }, 'intruder').catch(() => {})
    const stand = await Promise.all(taken.map((kind) => world.find(kind, at)))
    return stand.every((each) => JSON.stringify(each?.status).includes('"Mine"'))
  })
  await enforce('Deny')
  await withoutRefusal(async () => {
    await world.startNso()
    await world.startGalactic()
    for (const kind of taken)
      await world.until(`nothing of the intruder is left on ${kind.kind}`, kind, at, ({ metadata, status }) => {
        const entries = metadata.managedFields ?? []
        const holds = entries.some((each) => each.manager === 'intruder' && JSON.stringify(each.fieldsV1).includes('Programmed'))
        return !holds && !JSON.stringify(status).includes('"Mine"')
      })
    await world.remove(claims, at)
    await gone(claims, 'web-1')
  })
})

test('the network goes, and its namespace', () =>
  withoutRefusal(async () => {
    await world.remove(networks, { namespace, name: 'net' })
    await gone(networks, 'net')
    const path = `/api/v1/namespaces/${namespace}`
    await world.plane.connection.must({ method: 'DELETE', path })
    await eventually('it is gone', async () => (await world.plane.connection.request({ path })).status === 404)
  }))
