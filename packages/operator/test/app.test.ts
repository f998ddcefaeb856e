/** NSO as a whole on a real API server: locations, the admission policy, Galactic beside it, and the process itself. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { after, afterEach, before, test } from 'node:test'
import {
  AddressLease,
  DataPlane,
  finalizers,
  NetworkContext,
  NetworkInterface,
  NetworkInterfaceClaim,
  nsoAccount,
  ServingLocation,
  Subnet,
} from '@nso/api'
import { createGalactic, galacticAccount, galacticManifests, VPC, VPCAttachment } from 'galactic'
import { standInNodeAccount, standInNodeManifests, startStandInNode } from 'galactic/testing'
import { silentLogger } from 'kube-control-loop'
import { eventually } from 'kube-localplane/testing'
import {
  aClaim,
  claimSays,
  create,
  find,
  gone,
  know,
  listed,
  type Running,
  remove,
  said,
  startWorld,
  strip,
  type World,
} from './world.ts'

know(NetworkContext, Subnet, NetworkInterface, NetworkInterfaceClaim, AddressLease, DataPlane, ServingLocation)

let world: World
let running: Running | undefined
before(async () => {
  world = await startWorld({ policies: true })
})
after(() => world[Symbol.asyncDispose]())
afterEach(async () => {
  await running?.stop()
  running = undefined
})

const ready = (namespace: string, name: string) => claimSays(world.client, namespace, name, 'Ready', 'True Ready')

const aLocation = (name: string): ServingLocation => ({
  apiVersion: 'networking.datumapis.com/v1alpha',
  kind: 'ServingLocation',
  metadata: { name },
  spec: { topology: { 'topology.datum.net/city-code': 'DFW' } },
})

test('with the admission policy the finalizer costs no write', async () => {
  const { client } = world
  running = await world.startNso()
  const namespace = await world.place()
  await eventually('the admission policy is in force', async () => {
    const probe = await client.create(
      NetworkInterfaceClaim,
      aClaim(namespace, 'probe') as never,
      { fieldManager: 'test', dryRun: true },
      AbortSignal.timeout(30_000),
    )
    return probe.metadata.finalizers?.includes(finalizers.claim)
  })
  await create(client, aClaim(namespace, 'first'))
  await ready(namespace, 'first')
  const writes = await world.writesDuring(async () => {
    await create(client, aClaim(namespace, 'web-0'))
    await ready(namespace, 'web-0')
    await eventually(
      'the interface says so too',
      async () => said(await find(client, NetworkInterface, namespace, 'web-0'), 'Programmed') === 'True ToyProgrammed',
    )
  })
  const own = writes.filter((one) => one.userAgent.startsWith('nso-test') && one.name !== 'first')
  assert.deepEqual(
    own.filter((one) => one.resource === 'networkinterfaceclaims' && !one.subresource),
    [],
  )
  await remove(client, NetworkInterfaceClaim, namespace, 'web-0')
  await gone(client, NetworkInterfaceClaim, namespace, 'web-0')
})

test('locations: none, one that is delivered, several; a bound claim stays where it is', async () => {
  const { client } = world
  running = await world.startNso({ settings: { location: undefined, retryRejectedMs: 3_600_000 } })
  const namespace = await world.place()
  await create(client, aClaim(namespace, 'web-0'))
  await claimSays(client, namespace, 'web-0', 'Ready', 'False NoLocationIdentity')
  await create(client, aLocation('here'))
  await ready(namespace, 'web-0')
  await create(client, aLocation('there'))
  const { servingLocations } = running.operator.caches
  // Locations and claims are watched apart: a claim that is seen first is bound where it is.
  await eventually('the second location is seen', () => servingLocations.get('there') !== undefined)
  await create(client, aClaim(namespace, 'web-1'))
  await claimSays(client, namespace, 'web-1', 'Ready', 'False AmbiguousLocationIdentity')
  await ready(namespace, 'web-0')
  await remove(client, ServingLocation, undefined, 'there')
  await ready(namespace, 'web-1')
  await remove(client, ServingLocation, undefined, 'here')
})

test('no data plane here yet: the claim says so, and goes on when one comes', async () => {
  const { client, plane } = world
  const [toy] = (await client.list(DataPlane, {}, AbortSignal.timeout(5_000))).items
  assert.ok(toy)
  await remove(client, DataPlane, undefined, 'toy')
  // Claims of earlier tests are served by it, and no NSO runs.
  await strip(world, DataPlane, undefined, 'toy')
  running = await world.startNso()
  const namespace = await world.place()
  await create(client, aClaim(namespace, 'web-0'))
  const claim = await claimSays(client, namespace, 'web-0', 'Prepared', 'False NoDataPlane')
  assert.deepEqual([said(claim, 'Bound'), said(claim, 'Programmed')], ['True Bound', 'Unknown AwaitingDataPlane'])
  await plane.apply([{ apiVersion: toy.apiVersion, kind: toy.kind, metadata: { name: 'toy' }, spec: toy.spec }] as never)
  await ready(namespace, 'web-0')
})

test('a kind that is not served: the claim says so', async () => {
  const { client } = world
  running = await world.startNso()
  const absent = {
    apiVersion: 'networking.datumapis.com/v1alpha',
    kind: 'DataPlane',
    metadata: { name: 'absent' },
    spec: {
      locations: ['here'],
      attachment: { apiVersion: 'absent.example.dev/v1', kind: 'Nothing', spec: {} },
      report: { prepared: { condition: 'Ready' } },
    },
  }
  await create(client, absent)
  const namespace = await world.place()
  await create(client, aClaim(namespace, 'web-0'))
  await claimSays(client, namespace, 'web-0', 'Prepared', 'False DataPlaneNotInstalled')
  await remove(client, NetworkInterfaceClaim, namespace, 'web-0')
  await gone(client, NetworkInterfaceClaim, namespace, 'web-0')
  await remove(client, DataPlane, undefined, 'absent')
})

test('Galactic as the data plane: claims of each mode become Ready and go away again', async () => {
  const { client, plane } = world
  const manifests = galacticManifests()
  await plane.apply([...manifests.crds, ...manifests.local, ...manifests.rbac, ...standInNodeManifests()] as never)
  const joint = await readFile(new URL('../../../deploy/data-planes/galactic.yaml', import.meta.url), 'utf8')
  await plane.apply(joint.replace('locations: ["*"]', 'locations: ["here"]'))
  running = await world.startNso()
  const galactic = createGalactic({
    kubeconfig: await plane.kubeconfigFor({ serviceAccount: galacticAccount }),
    log: silentLogger,
  })
  const node = startStandInNode({
    kubeconfig: await plane.kubeconfigFor({ serviceAccount: standInNodeAccount }),
    log: silentLogger,
  })
  const stop = new AbortController()
  const working = galactic.run(stop.signal)
  try {
    const namespace = await world.place({ families: ['IPv6', 'IPv4'] })
    const modes = ['Netns', 'Hypervisor', 'HypervisorDeclared'] as const
    await Promise.all(
      modes.map((attachmentMode) =>
        create(client, aClaim(namespace, attachmentMode.toLowerCase(), { attachmentMode, ipFamilies: ['IPv6', 'IPv4'] })),
      ),
    )
    for (const mode of modes) {
      await ready(namespace, mode.toLowerCase())
      const nic = await eventually('the interface tells the VPC', async () => {
        const found = await find(client, NetworkInterface, namespace, mode.toLowerCase())
        // Its status comes after the claim's.
        return found?.status?.vpc !== undefined && said(found, 'Programmed') === 'True Advertised' && found
      })
      assert.equal(nic.status?.attachmentRef?.kind, 'VPCAttachment')
    }
    await Promise.all(modes.map((mode) => remove(client, NetworkInterfaceClaim, namespace, mode.toLowerCase())))
    for (const mode of modes) await gone(client, NetworkInterfaceClaim, namespace, mode.toLowerCase())
    assert.deepEqual([await listed(client, VPCAttachment, namespace), await listed(client, AddressLease, namespace)], [[], []])
    await remove(client, DataPlane, undefined, 'galactic')
    await eventually('the DataPlane is gone', async () => !(await find(client, DataPlane, undefined, 'galactic')))
    assert.deepEqual(await listed(client, VPC, namespace), [], 'so that the data plane can be uninstalled')
  } finally {
    stop.abort(new Error('the test is over'))
    await working
    await node.stop()
  }
})

test('the process: serves its pages, leads, brings a claim to Ready, counts it, and stops when told', async () => {
  const { client, plane } = world
  const kubeconfig = await plane.kubeconfigFor({ serviceAccount: nsoAccount })
  const port = await freePort()
  const main = new URL('../src/main.ts', import.meta.url).pathname
  const args = [
    '--kubeconfig',
    kubeconfig,
    '--location',
    'here',
    '--no-network-controllers',
    '--metrics-bind-address',
    `127.0.0.1:${port}`,
  ]
  const child = spawn(process.execPath, [main, ...args], { stdio: 'inherit' })
  try {
    const page = async (path: string) => fetch(`http://127.0.0.1:${port}${path}`)
    await eventually('it is ready', async () => (await page('/readyz')).ok)
    const namespace = await world.place()
    await create(client, aClaim(namespace, 'web-0'))
    await ready(namespace, 'web-0')
    await eventually('the claim is counted', async () => {
      const text = await (await page('/metrics')).text()
      return /^nso_claim_ready_seconds_count 1$/m.test(text) && /^nso_claim_hop_seconds_count\{hop="prepared"\} 1$/m.test(text)
    })
    assert.equal(await ended(child), 0)
  } finally {
    child.kill('SIGKILL')
  }
})

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

async function ended(child: ChildProcess): Promise<number | null> {
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  const [code] = (await exit) as [number | null]
  return code
}
