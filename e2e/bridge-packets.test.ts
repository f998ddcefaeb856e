/**
 * The whole system with the bridge data plane on the real API server, and real packets: what claims say is what devices have.
 * NSO and the data plane run as two processes with two identities; kubelet and Multus are stood in for, the plugins are real.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { Network, NetworkInterfaceClaim, ServingLocation } from '@nso/api'
import { bridge } from '@nso/cli/planes/bridge'
import { type System, startSystem } from '@nso/cli/system'
import { BridgeAttachment } from 'kube-bridge'
import {
  answerProbes,
  ask,
  missingForNode,
  type StandInKubelet,
  standInNodeName,
  startStandInKubelet,
  type Workload,
} from 'kube-bridge/testing/node'
import { apiVersionOf, type Kind, type KubeObject, pathOf } from 'kube-control-loop'
import { type ApiConnection, connect, ensureCniTools } from 'kube-localplane'
import { eventually } from 'kube-localplane/testing'
import { NetworkAttachmentDefinition, podAnnotations } from 'kube-multus'

const Pod: Kind = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', scope: 'Namespaced' }
const mtu = 1400
const device = 'net1'

const dir = mkdtempSync(path.join(tmpdir(), 'bridge-packets-'))
const stop = new AbortController()
let system: System
let api: ApiConnection
let kubelet: StandInKubelet

/** As the command line runs it, with the stand-in within reach of the test. */
const withinReach: typeof bridge = {
  ...bridge,
  standIn: {
    ...bridge.standIn,
    async start({ kubeconfig, log, signal }) {
      const failed = (pod: string, why: string) => log(`${pod}: ${why}`)
      kubelet = await startStandInKubelet({ kubeconfig, tools: await ensureCniTools({ log, signal }), failed })
      return { ended: kubelet.running.then(() => 'the kubelet ended', String), stop: () => kubelet.stop().catch(() => {}) }
    },
  },
}

before(async () => {
  assert.deepEqual(await missingForNode(), [], 'this machine cannot attach workloads')
  const log = (line: string) => process.stderr.write(`${line}\n`)
  system = await startSystem({ dir, dataPlane: withinReach, log, signal: stop.signal })
  api = await connect(system.kubeconfigPath)
  await create(ServingLocation, { name: 'here' }, { topology: { 'topology.datum.net/city-code': 'DLS' } })
  for (const namespace of ['team-a', 'team-b']) {
    await api.must({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: namespace } } })
    await create(Network, { namespace, name: 'net' }, { ipam: { mode: 'Auto' }, ipFamilies: ['IPv6', 'IPv4'], mtu })
    // Pods are admitted once the namespace has it.
    const account = `/api/v1/namespaces/${namespace}/serviceaccounts/default`
    await eventually('the service account is there', async () => (await api.request({ path: account })).status === 200)
  }
  await create(Network, { namespace: 'team-a', name: 'other' }, { ipam: { mode: 'Auto' }, ipFamilies: ['IPv6', 'IPv4'], mtu })
})

after(async () => {
  api?.close()
  await system?.stop()
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
})

type At = { namespace?: string; name: string }

async function create(kind: Kind, metadata: At & { annotations?: Record<string, string> }, spec: unknown): Promise<void> {
  const body = { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata, spec }
  const at = metadata.namespace === undefined ? {} : { namespace: metadata.namespace }
  await api.must({ method: 'POST', path: pathOf(kind, at), body })
}

async function find(kind: Kind, at: At): Promise<KubeObject | undefined> {
  const { status, body } = await api.request({ path: pathOf(kind, at) })
  return status === 200 ? (body as KubeObject) : undefined
}

async function get(kind: Kind, at: At): Promise<KubeObject> {
  return (await api.must({ path: pathOf(kind, at) })) as unknown as KubeObject
}

const remove = (kind: Kind, at: At) => api.must({ method: 'DELETE', path: pathOf(kind, at) })

type Status = { addresses?: { address: string }[]; conditions?: { type: string; status: string; reason: string }[] }

/** Resolves with the claim when the condition says so. */
async function claimSays(at: At, type: string, said: string): Promise<KubeObject> {
  return await eventually(`${at.namespace}/${at.name} says ${type} ${said}`, async () => {
    const claim = await get(NetworkInterfaceClaim, at)
    const one = (claim.status as Status).conditions?.find((each) => each.type === type)
    if (`${one?.status} ${one?.reason}` === said) return claim
    throw new Error(`it says ${JSON.stringify(claim.status)}`)
  })
}

async function claim(at: At, network = 'net'): Promise<void> {
  await create(NetworkInterfaceClaim, at, { network: { name: network }, ipFamilies: ['IPv6', 'IPv4'], interfaceName: device })
  await claimSays(at, 'Prepared', 'True AttachmentReady')
}

/** A Pod of the same name as the claim, as its author writes it. */
async function runPod(at: At): Promise<Workload> {
  const { status } = await get(BridgeAttachment, at)
  const { networkAttachmentDefinition: name } = status as { networkAttachmentDefinition: string }
  const annotations = { [podAnnotations.networks]: JSON.stringify([{ name, namespace: at.namespace, interface: device }]) }
  const spec = { nodeName: standInNodeName, automountServiceAccountToken: false, containers: [{ name: 'none', image: 'none' }] }
  await create(Pod, { ...at, annotations }, spec)
  await claimSays(at, 'Ready', 'True Ready')
  const workload = kubelet.workloadOf(`${at.namespace}/${at.name}`)
  assert.ok(workload, 'the Pod runs')
  return workload
}

/** In one form (RFC 5952), with prefix length. */
const canonical = (cidr: string) => {
  const [address = '', length] = cidr.split('/')
  return `${address.includes(':') ? new URL(`http://[${address}]`).hostname.slice(1, -1) : address}/${length}`
}

async function claimed(at: At): Promise<string[]> {
  const { addresses = [] } = (await get(NetworkInterfaceClaim, at)).status as Status
  assert.equal(addresses.length, 2, 'of both families')
  return addresses.map(({ address }) => canonical(address))
}

const bare = (cidr: string) => cidr.replace(/\/.*/, '')

async function reaches(from: Workload, to: At, seenAs: string[]): Promise<void> {
  for (const [index, address] of (await claimed(to)).map(bare).entries()) {
    const passes = { tcp: { seenAs: bare(seenAs[index] ?? '') }, udp: { echoed: true } }
    assert.deepEqual(await ask(from, { address, packet: mtu }), passes, address)
    assert.deepEqual((await ask(from, { address, packet: mtu + 1 })).udp, { error: 'EMSGSIZE' }, address)
  }
}

/** An address of the same range that nobody holds: what answers there is not who was asked for by mistake. */
function unheldBeside(address: string, held: readonly string[]): string {
  // Blocks end in zeros, which stand as `::` or, where an earlier row of them is as long, as `:0:0`.
  const start = address.includes(':') ? address.replace(/:(0?)$/, ':') : address.replace(/\d+$/, '')
  const free = ['77', '78', '79'].map((last) => `${start}${last}`).find((candidate) => !held.includes(candidate))
  assert.ok(free !== undefined && free !== address)
  return free
}

async function isDeafTo(from: Workload, addresses: readonly string[]): Promise<void> {
  for (const { tcp, udp } of await Promise.all(addresses.map((address) => ask(from, { address, withinMs: 700 }))))
    for (const answer of [tcp, udp]) assert.match('error' in answer ? answer.error : 'reached', /^(timeout|EHOSTUNREACH)$/)
}

const [one, two] = [
  { namespace: 'team-a', name: 'one' },
  { namespace: 'team-a', name: 'two' },
]

test('B14: claims are Prepared although no Pod is about', async () => {
  await Promise.all([claim(one), claim(two)])
  for (const at of [one, two]) await claimSays(at, 'Programmed', 'False NotAttached')
  assert.deepEqual(((await api.must({ path: '/api/v1/pods' })) as { items: unknown[] }).items, [])
})

test('the devices have the addresses and the MTU of the claims, and the workloads reach each other in both families', async () => {
  const [first, second] = await Promise.all([runPod(one), runPod(two)])
  for (const [workload, at] of [
    [first, one],
    [second, two],
  ] as const) {
    const [only, ...others] = await workload.devices()
    assert.deepEqual([only?.name, only?.mtu, others], [device, mtu, []])
    assert.deepEqual(only?.addresses.map(canonical).sort(), (await claimed(at)).sort())
  }
  await answerProbes(second)
  await reaches(first, two, await claimed(one))
})

test('a workload of another network is not reached, and not either when it takes an address and routes by hand', async () => {
  const elsewhere = { namespace: 'team-a', name: 'elsewhere' }
  await claim(elsewhere, 'other')
  const stranger = await runPod(elsewhere)
  const first = kubelet.workloadOf('team-a/one')
  assert.ok(first)
  await answerProbes(stranger)
  const [theirs, ours] = [(await claimed(elsewhere)).map(bare), (await claimed(two)).map(bare)]
  for (const address of theirs) await first.must('ip', ['route', 'add', address, 'dev', device])
  for (const address of ours) await stranger.must('ip', ['route', 'add', address, 'dev', device])
  await isDeafTo(first, theirs)
  await isDeafTo(stranger, ours)
  const held = [...ours, ...(await claimed(one)).map(bare)]
  const taken = ours.map((address) => unheldBeside(address, held))
  for (const address of taken)
    await stranger.must('ip', ['address', 'add', address, 'dev', device, ...(address.includes(':') ? ['nodad'] : [])])
  await isDeafTo(first, taken)
  await isDeafTo(stranger, ours)
})

test('when the Pod goes its device goes and the claim says so; another Pod of the same claim is attached with the same addresses', async () => {
  const before = await claimed(one)
  await remove(Pod, one)
  const left = await claimSays(one, 'Programmed', 'False NotAttached')
  assert.equal((left.status as Status).conditions?.find(({ type }) => type === 'Prepared')?.status, 'True')
  assert.equal(kubelet.workloadOf('team-a/one'), undefined)
  await eventually('the Pod has gone', async () => (await find(Pod, one)) === undefined)
  const again = await runPod(one)
  assert.deepEqual((await again.devices())[0]?.addresses.map(canonical).sort(), before.sort())
  await reaches(again, two, await claimed(one))
})

test('B51: claims of one name in two namespaces do not clash, and a definition outlives the Pod that has it', async () => {
  const both = ['team-a', 'team-b'].map((namespace) => ({ namespace, name: 'web' }))
  await Promise.all(both.map((at) => claim(at)))
  const [ours, theirs] = await Promise.all(both.map(runPod))
  assert.ok(ours && theirs)
  await answerProbes(theirs)
  const [here, there] = both
  assert.ok(here && there)
  for (const address of (await claimed(there)).map(bare)) await ours.must('ip', ['route', 'replace', address, 'dev', device])
  await isDeafTo(ours, (await claimed(there)).map(bare))

  await remove(NetworkInterfaceClaim, here)
  await eventually('its attachment is being deleted', async () => {
    return (await get(BridgeAttachment, here)).metadata.deletionTimestamp !== undefined
  })
  assert.ok(await find(NetworkAttachmentDefinition, here), 'the Pod still has it')
  assert.deepEqual(
    (await ours.devices()).map(({ name }) => name),
    [device],
  )
  await remove(Pod, here)
  for (const kind of [BridgeAttachment, NetworkAttachmentDefinition, NetworkInterfaceClaim])
    await eventually(`${kind.kind} web has gone`, async () => (await find(kind, here)) === undefined, { timeoutMs: 20_000 })
  await claimSays(there, 'Ready', 'True Ready')
})
