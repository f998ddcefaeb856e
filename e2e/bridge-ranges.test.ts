/**
 * A network that grows: a Subnet that comes after the network object reaches every interface of the bridge data plane, and one
 * that goes takes nothing from who uses it. NSO and the data plane run as processes.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { NetworkContext, NetworkInterfaceClaim, nsoAccount, nsoManifests, ServingLocation, Subnet } from '@nso/api'
import { BridgeAttachment, BridgeNetwork } from 'kube-bridge/api'
import { bridgeAccount, bridgeManifests } from 'kube-bridge/manifests'
import {
  apiVersionOf,
  type Client,
  createAccessSource,
  createClient,
  createHttpTransport,
  type Kind,
  type KubeObject,
  systemClock,
  type Transport,
} from 'kube-control-loop'
import { type Plane, parseManifests, readAudit, startPlane, tailAudit } from 'kube-localplane'
import { eventually } from 'kube-localplane/testing'
import { NetworkAttachmentDefinition } from 'kube-multus'
import { type Process, startProcess } from './support/process.ts'

const namespace = 'growing'
const context = 'net-here'
const never = new AbortController().signal
const by = { fieldManager: 'test' }

let plane: Plane
let transport: Transport
let client: Client
let running: Process[] = []

before(async () => {
  plane = await startPlane({ name: 'bridge-ranges' })
  const [nso, bridge] = [nsoManifests(), bridgeManifests()]
  await plane.apply([...nso.crds, ...bridge.crds, ...bridge.local, ...nso.rbac, ...bridge.rbac] as never)
  const joint = path.resolve(import.meta.dirname, '../deploy/data-planes/bridge.yaml')
  await plane.apply(parseManifests(readFileSync(joint, 'utf8')))
  const access = createAccessSource({ clock: systemClock, kubeconfig: plane.kubeconfigPath })
  transport = createHttpTransport({ access, clock: systemClock, userAgent: 'bridge-ranges-test' })
  client = createClient(transport, { clock: systemClock, jitter: Math.random })
  await create(ServingLocation, { name: 'here' }, { topology: { 'topology.datum.net/city-code': 'DFW' } })
  const namespaces: Kind = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', scope: 'Cluster' }
  await create(namespaces, { name: namespace }, {})
  await create(
    NetworkContext,
    { namespace, name: context },
    { network: { name: 'net' }, location: { name: 'here' }, ipFamilies: ['IPv6'], mtu: 1460 },
  )
  // Two units of /96, the first of which is reserved: room for one.
  await subnet('small', 'fd20:0:0:1::', 95)
  await start()
})
after(async () => {
  await Promise.allSettled(running.map((each) => each.stop()))
  await transport.close()
  await plane[Symbol.asyncDispose]()
})

async function start(): Promise<void> {
  running = await Promise.all([
    // Contexts and subnets are delivered, as in a cell.
    startProcess({ plane, main: '@nso/operator/main', account: nsoAccount, flags: ['--no-network-controllers'] }),
    startProcess({ plane, main: 'kube-bridge/main', account: bridgeAccount }),
  ])
}

const create = (kind: Kind, metadata: { namespace?: string; name: string }, spec: object) =>
  client.create(kind, { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata, spec } as KubeObject, by, never)

const subnet = (name: string, startAddress: string, prefixLength: number) =>
  create(
    Subnet,
    { namespace, name },
    {
      ...{ subnetClass: 'private', networkContext: { name: context }, location: { name: 'here' } },
      ...{ ipFamily: 'IPv6', startAddress, prefixLength },
    },
  )

const claim = (name: string) => create(NetworkInterfaceClaim, { namespace, name }, { network: { name: 'net' } })

type Conditioned = { conditions?: readonly { type: string; status: string; reason: string }[] }

const says = (name: string, type: string, what: string) =>
  eventually(`${name} says ${type} ${what}`, async () => {
    const status = (await client.find(NetworkInterfaceClaim, { namespace, name }, never))?.status as Conditioned | undefined
    const condition = status?.conditions?.find((each) => each.type === type)
    assert.equal(condition && `${condition.status} ${condition.reason}`, what, JSON.stringify(status?.conditions))
    return true
  })

const prepared = (name: string) => says(name, 'Prepared', 'True AttachmentReady')

const configOf = async (name: string) =>
  (await client.find(NetworkAttachmentDefinition, { namespace, name }, never))?.spec.config ?? ''

type Main = { ipam: { addresses: { address: string }[]; routes: { dst: string }[] } }
const mainOf = (config: string) => (JSON.parse(config) as { plugins: [Main] }).plugins[0]
const routesOf = async (name: string) => mainOf(await configOf(name)).ipam.routes.map(({ dst }) => dst)

test('a Subnet that comes later reaches the attachments: those of its addresses, and those that stood', async () => {
  await claim('first')
  await prepared('first')
  const before = await configOf('first')
  assert.deepEqual(await routesOf('first'), ['fd20:0:0:1::/95'])
  await claim('second')
  await says('second', 'Allocated', 'False AddressPoolExhausted')

  await subnet('later', 'fd20:0:0:2::', 64)
  await prepared('second')
  const both = ['fd20:0:0:1::/95', 'fd20:0:0:2::/64']
  assert.deepEqual(await routesOf('second'), both)
  assert.match(mainOf(await configOf('second')).ipam.addresses[0]?.address ?? '', /^fd20::2:.*\/96$/)
  await eventually('the other reaches it too', async () => (await routesOf('first')).length === 2)
  const network = await client.find(BridgeNetwork, { namespace, name: context }, never)
  assert.deepEqual(network?.spec.ranges, ['fd20:0:0:1::/95'], 'it is made once')
  // Nothing else of the text has changed.
  assert.equal((await configOf('first')).replace(',{"dst":"fd20:0:0:2::/64"}', ''), before)
  await prepared('first')
})

test('with nothing to change nothing is written, also not by processes that start anew', async () => {
  await Promise.all(running.map((each) => each.stop()))
  const from = await tailAudit(plane)
  await start()
  await claim('third')
  await prepared('third')
  const to = await tailAudit(plane)
  const written = (await readAudit(plane.auditLogPath ?? '', { from, to })).filter(
    ({ verb, resource, name }) =>
      ['create', 'patch', 'update', 'delete'].includes(verb) &&
      ['bridgeattachments', 'bridgenetworks', 'network-attachment-definitions'].includes(resource) &&
      name !== 'third',
  )
  assert.deepEqual(written, [])
})

test('a Subnet that goes takes nothing from who has an address of it, and comes back without a word', async () => {
  const before = await configOf('second')
  await client.remove(Subnet, { namespace, name: 'later' }, {}, never)
  await eventually('the first has lost its route', async () => (await routesOf('first')).join() === 'fd20:0:0:1::/95')
  const at = { namespace, name: 'second' }
  const told = await eventually('the second is asked for without it', async () => {
    const attachment = await client.find(BridgeAttachment, at, never)
    const heard = attachment?.status?.observedGeneration === attachment?.metadata.generation
    return heard && attachment?.spec.ranges?.join() === 'fd20:0:0:1::/95' ? attachment : undefined
  })
  assert.equal(told.status?.conditions?.find(({ type }) => type === 'Ready')?.status, 'True')
  assert.equal(await configOf('second'), before)
  await prepared('second')
  await subnet('again', 'fd20:0:0:2::', 64)
  await eventually('the first has its route again', async () => (await routesOf('first')).length === 2)
  await prepared('second')
  assert.equal(await configOf('second'), before)
  const errors = await Promise.all(running.map(async (each) => await each.metrics()))
  const failed = errors.flatMap((page) =>
    page.split('\n').filter((line) => /^controller_runtime_reconcile_errors_total\{.*\} [1-9]/.test(line)),
  )
  assert.deepEqual(failed, [])
})
