/**
 * NSO killed before and after each of its writes, on a real API server: the next process always ends in the same world. And two
 * processes that both believe to lead.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { AddressLease, NetworkContext, NetworkInterface, NetworkInterfaceClaim, Subnet } from '@nso/api'
import type { ApiRequest, Kind } from 'kube-control-loop'
import { type ScriptedTransport, scriptTransport } from 'kube-control-loop/testing'
import { eventually } from 'kube-localplane/testing'
import { ToyAttachment } from './toy-plane.ts'
import { aClaim, claimSays, create, find, know, listed, type Running, remove, startWorld, type World } from './world.ts'

know(NetworkContext, Subnet, NetworkInterface, NetworkInterfaceClaim, AddressLease)

let world: World
before(async () => {
  world = await startWorld()
})
after(() => world[Symbol.asyncDispose]())

const kinds = [NetworkInterfaceClaim, NetworkInterface, AddressLease, ToyAttachment] as Kind[]
const ready = (namespace: string, name: string) => claimSays(world.client, namespace, name, 'Ready', 'True Ready')

async function counts(namespace: string): Promise<number[]> {
  return Promise.all(kinds.map(async (kind) => (await listed(world.client, kind, namespace)).length))
}

async function scripted(): Promise<{ nso: Running; script: ScriptedTransport }> {
  let script: ScriptedTransport | undefined
  const nso = await world.startNso({
    wrap: (transport) => {
      script = scriptTransport(transport)
      return script
    },
  })
  assert.ok(script)
  return { nso, script }
}

/** Writes about the objects of one namespace, the finalizer of its context apart. */
const writesIn = (namespace: string) => (request: ApiRequest) =>
  request.method !== 'GET' && request.path.includes(`/namespaces/${namespace}/`) && !request.path.includes('/networkcontexts/')

/** Does `act` under an NSO that is killed at its n-th write, then under one that is not. False: there was no n-th write. */
async function killedAt(
  n: number,
  when: 'before' | 'after',
  namespace: string,
  act: () => Promise<unknown>,
  done: () => Promise<unknown>,
) {
  const first = await scripted()
  const rule = first.script.on({ where: writesIn(namespace) }, { skip: n })
  const held = when === 'before' ? rule.hold() : rule.holdAnswer()
  await act()
  const was = await Promise.race([held.arrived().then(() => true), done().then(() => false)])
  await first.nso.stop()
  const second = await world.startNso()
  await done()
  await second.stop()
  return was
}

for (const when of ['before', 'after'] as const) {
  test(`killed ${when} any of its writes while a claim comes up: one interface, one lease, one attachment, Ready`, async () => {
    const { client } = world
    let writes = 0
    for (let n = 0; n < 12; n++) {
      const namespace = await world.place()
      const done = () => ready(namespace, 'web-0')
      const was = await killedAt(n, when, namespace, () => create(client, aClaim(namespace, 'web-0')), done)
      assert.deepEqual(await counts(namespace), [1, 1, 1, 1], `killed ${when} write ${n}`)
      if (!was) break
      writes += 1
    }
    assert.ok(writes >= 5, `${writes} writes were tried`)
  })

  test(`killed ${when} any of its writes while a claim goes: nothing is left`, async () => {
    const { client } = world
    let writes = 0
    for (let n = 0; n < 12; n++) {
      const namespace = await world.place()
      const calm = await world.startNso()
      await create(client, aClaim(namespace, 'web-0'))
      await ready(namespace, 'web-0')
      await eventually('the interface is said too', async () => {
        const nic = await find(client, NetworkInterface, namespace, 'web-0')
        return nic?.status?.conditions?.every(({ status }) => status === 'True')
      })
      await calm.stop()
      const done = () =>
        eventually('nothing is left', async () => {
          assert.deepEqual(await counts(namespace), [0, 0, 0, 0])
          return true
        })
      const was = await killedAt(n, when, namespace, () => remove(client, NetworkInterfaceClaim, namespace, 'web-0'), done)
      if (!was) break
      writes += 1
    }
    assert.ok(writes >= 4, `${writes} writes were tried`)
  })
}

test('two processes that both act: each claim has one interface, one lease, one attachment; lost races are no errors', async () => {
  const { client } = world
  const both = await Promise.all([world.startNso(), world.startNso()])
  const namespace = await world.place()
  const names = Array.from({ length: 15 }, (_, at) => `web-${at}`)
  await Promise.all(names.map((name) => create(client, aClaim(namespace, name))))
  await Promise.all(names.map((name) => ready(namespace, name)))
  for (const kind of ['NetworkInterfaceClaim', 'NetworkInterface'])
    world.recorder.expect({
      kind,
      namespace,
      path: 'status',
      why: 'one process writes late what the other has overtaken',
      maybe: true,
    })
  assert.deepEqual(await counts(namespace), [15, 15, 15, 15])
  await Promise.all(names.map((name) => remove(client, NetworkInterfaceClaim, namespace, name)))
  await eventually('nothing is left', async () => (await counts(namespace)).every((count) => count === 0))
  for (const { operator } of both) {
    const page = await operator.manager.metrics.page()
    const errors = page
      .split('\n')
      .filter((line) => /^controller_runtime_reconcile_errors_total/.test(line) && !line.endsWith(' 0'))
    assert.deepEqual(errors, [])
  }
  await Promise.all(both.map((one) => one.stop()))
})
