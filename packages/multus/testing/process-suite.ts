/** An application as a process of its own: flags, pages, lease, exit status. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { after, before, test } from 'node:test'
import { eventually } from 'kube-localplane/testing'
import { never, type PlaneWorld } from './world.ts'

export type ProcessSuite = {
  /** File of its command line. */
  readonly main: string
  start(): Promise<{ world: PlaneWorld; kubeconfig: string }>
  readonly lease: { readonly namespace: string; readonly name: string }
  /** Gives it something to do, and waits until that is done. */
  work(world: PlaneWorld, namespace: string): Promise<unknown>
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (typeof address !== 'object' || !address) throw new Error('no port')
  return address.port
}

export function testProcess({ main, start, lease, work }: ProcessSuite): void {
  let started: Awaited<ReturnType<ProcessSuite['start']>> | undefined
  before(async () => {
    started = await start()
  })
  after(() => started?.world[Symbol.asyncDispose]())

  const run = (...flags: string[]) => {
    const child = spawn(process.execPath, [main, ...flags], { stdio: ['ignore', 'ignore', 'pipe'] })
    let log = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text
    })
    return { child, log: () => log, exited: once(child, 'exit').then(([code]) => Number(code)) }
  }

  test('it leads, serves its pages, works, and on SIGTERM gives up the lease and ends with 0', async () => {
    assert.ok(started)
    const { world, kubeconfig } = started
    const holder = async () => {
      const path = `/apis/coordination.k8s.io/v1/namespaces/${lease.namespace}/leases/${lease.name}`
      const { spec } = (await world.client.raw({ method: 'GET', path }, never)) as { spec: { holderIdentity?: string } }
      return spec.holderIdentity ?? ''
    }
    const port = await freePort()
    const { child, exited, log } = run('--kubeconfig', kubeconfig, '--metrics-bind-address', `127.0.0.1:${port}`)
    try {
      await eventually('it is ready', async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok)
      await work(world, await world.namespace('process'))
      assert.notEqual(await holder(), '')
      const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
      assert.match(page, /leader_election_master_status\{name="[^"]*"\} 1/)
    } finally {
      child.kill('SIGTERM')
    }
    assert.equal(await exited, 0, log())
    assert.equal(await holder(), '')
  })

  test('a kubeconfig that is not there and a flag that makes no sense end with 1 and say why', async () => {
    const missing = run('--kubeconfig', '/nowhere/kubeconfig', '--no-leader-elect')
    const nonsense = run('--detach-grace', 'soon')
    assert.notEqual(await nonsense.exited, 0)
    assert.match(nonsense.log(), /soon is no duration/)
    await Promise.race([missing.exited, eventually('it says why', () => missing.log().includes('/nowhere/kubeconfig'))])
    missing.child.kill('SIGTERM')
    await missing.exited
    assert.match(missing.log(), /\/nowhere\/kubeconfig/)
  })
}
