/** Galactic as a process of its own: flags, pages, lease, exit status. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { eventually } from 'kube-localplane/testing'
import { VPC } from '../src/api/index.ts'
import { by, never, startWorld, vpcOf, type World } from './harness.ts'

let world: World
before(async () => {
  world = await startWorld()
})
after(() => world?.[Symbol.asyncDispose]())

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (typeof address !== 'object' || !address) throw new Error('no port')
  return address.port
}

function galactic(...flags: string[]) {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../src/main.ts'), ...flags], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text
  })
  return { child, log: () => log, exited: once(child, 'exit').then(([code]) => Number(code)) }
}

const lease = async () =>
  (await world.client.raw(
    { method: 'GET', path: '/apis/coordination.k8s.io/v1/namespaces/galactic-system/leases/galactic.cloud.datumapis.com' },
    never,
  )) as { spec: { holderIdentity?: string } }

test('it leads, serves its pages, works, and on SIGTERM gives up the lease and ends with 0', async () => {
  const port = await freePort()
  const { child, exited, log } = galactic('--kubeconfig', world.galacticKubeconfig, '--metrics-bind-address', `127.0.0.1:${port}`)
  try {
    await eventually('it is ready', async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok)
    const namespace = await world.namespace('process')
    await world.client.create(VPC, vpcOf(namespace, 'blue'), by, never)
    await eventually(
      'the VPC has its identifier',
      async () => (await world.client.find(VPC, { namespace, name: 'blue' }, never))?.status?.vpc,
    )
    assert.notEqual((await lease()).spec.holderIdentity ?? '', '')
    assert.match(
      await (await fetch(`http://127.0.0.1:${port}/metrics`)).text(),
      /leader_election_master_status\{name="[^"]*"\} 1/,
    )
  } finally {
    child.kill('SIGTERM')
  }
  assert.equal(await exited, 0, log())
  assert.equal((await lease()).spec.holderIdentity ?? '', '')
})

test('a kubeconfig that is not there and a flag that makes no sense end with 1 and say why', async () => {
  const missing = galactic('--kubeconfig', '/nowhere/kubeconfig', '--no-leader-elect')
  const nonsense = galactic('--detach-grace', 'soon')
  assert.notEqual(await nonsense.exited, 0)
  assert.match(nonsense.log(), /soon is no duration/)
  await Promise.race([missing.exited, eventually('it says why', () => missing.log().includes('/nowhere/kubeconfig'))])
  missing.child.kill('SIGTERM')
  await missing.exited
  assert.match(missing.log(), /\/nowhere\/kubeconfig/)
})
