/**
 * The rendered configuration with real packets: the CNI project's own cnitool and plugins attach workloads in network namespaces.
 * Needs root on Linux: a machine that gives no namespaces fails here and says what it lacks.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { after, before, test } from 'node:test'
import { ensureCniTools } from 'kube-localplane'
import { eventually } from 'kube-localplane/testing'
import { conflist } from '../src/attachment/conflist.ts'
import { answerProbes, ask, type CniTools, missingForNode, type Node, openNode, type Workload } from '../testing/node/index.ts'

const mtu = 1400

/** A network, by its number: ranges of both families. */
const networkOf = (number: number, { hostGateway = false } = {}) => ({
  bridge: `br-test-${number}`,
  ranges: [`10.${number}.0.0/20`, `fd00:${number}::/64`],
  hostGateway,
})
const addressesOf = (number: number, host: number) => [`10.${number}.0.${host}/32`, `fd00:${number}:0:0:0:${host}::/96`]
/** As a workload's neighbours call it. */
const spokenOf = (number: number, host: number) => [`10.${number}.0.${host}`, `fd00:${number}::${host}:0:0`]

type Place = { number: number; host: number; hostGateway?: boolean; namespace?: string; name?: string; device?: string }

function configOf({ number, host, hostGateway = false, namespace = 'demo', name = `w-${number}-${host}` }: Place): string {
  const link = { mtu, addresses: addressesOf(number, host), gateways: [`10.${number}.0.1`, `fd00:${number}::1`] }
  return conflist({ namespace, name }, link, networkOf(number, { hostGateway }))
}

let tools: CniTools
let node: Node

before(async () => {
  assert.deepEqual(await missingForNode(), [], 'this machine cannot attach workloads')
  tools = await ensureCniTools({ log: (line) => process.stderr.write(`${line}\n`) })
  node = await openNode(tools)
})
after(() => node?.close())

async function attached(place: Place): Promise<{ workload: Workload; attached: Awaited<ReturnType<Node['attach']>> }> {
  const workload = await node.workload(`${place.number}-${place.host}`)
  return { workload, attached: await node.attach(workload, { config: configOf(place), device: place.device ?? 'net1' }) }
}

async function hearsNobody(workload: Workload, addresses: readonly string[]): Promise<void> {
  for (const answer of await Promise.all(addresses.map((address) => ask(workload, { address, withinMs: 600 }))))
    for (const { error } of [answer.tcp, answer.udp] as { error?: string }[])
      assert.match(error ?? 'reached', /^(timeout|ENETUNREACH|EHOSTUNREACH)$/)
}

test('two workloads of one network have the addresses and the MTU asked for, and packets of exactly that size pass', async () => {
  const [one, two] = await Promise.all([attached({ number: 11, host: 2 }), attached({ number: 11, host: 3 })])
  const [device] = await one.workload.devices()
  assert.deepEqual([device?.name, device?.mtu, device?.addresses], ['net1', mtu, ['10.11.0.2/32', 'fd00:11::2:0:0/96']])
  assert.deepEqual(
    one.attached.result.ips?.map(({ address }) => address),
    device?.addresses,
  )
  await answerProbes(two.workload)
  for (const [family, address] of spokenOf(11, 3).entries()) {
    const seenAs = spokenOf(11, 2)[family]
    const passes = { tcp: { seenAs }, udp: { echoed: true } }
    assert.deepEqual(await ask(one.workload, { address, packet: mtu }), passes, address)
    const tooLong = { tcp: { seenAs }, udp: { error: 'EMSGSIZE' } }
    assert.deepEqual(await ask(one.workload, { address, packet: mtu + 1 }), tooLong, address)
  }
})

test('a workload of another network is not reached, and reaches nobody with an address and routes taken by hand either', async () => {
  const [one, intruder] = await Promise.all([attached({ number: 12, host: 2 }), attached({ number: 13, host: 2 })])
  await Promise.all([answerProbes(one.workload), answerProbes(intruder.workload)])
  await hearsNobody(one.workload, spokenOf(13, 2))
  await hearsNobody(intruder.workload, spokenOf(12, 2))
  for (const address of ['10.12.0.9/20', 'fd00:12::9/64'])
    await intruder.workload.must('ip', ['address', 'add', address, 'dev', 'net1', ...(address.includes(':') ? ['nodad'] : [])])
  await hearsNobody(intruder.workload, spokenOf(12, 2))
  await hearsNobody(one.workload, ['10.12.0.9', 'fd00:12::9'])
  assert.deepEqual(
    (await node.bridges()).filter(({ name }) => /-1[23]$/.test(name)).map(({ ports }) => ports.length),
    [1, 1],
  )
})

test('without a gateway on the node nobody answers at its address, and no route leads out of the network', async () => {
  const { workload } = await attached({ number: 14, host: 2 })
  await hearsNobody(workload, ['10.14.0.1', 'fd00:14::1'])
  assert.deepEqual(await ask(workload, { address: '192.0.2.1' }), {
    tcp: { error: 'ENETUNREACH' },
    udp: { error: 'ENETUNREACH' },
  })
})

test('CHECK finds an address of its own length with its route, as it finds a block', async () => {
  const { attached: alone } = await attached({ number: 21, host: 2 })
  await alone.check()
})

test('with a gateway the node answers at its address in both families, and leads from one such network to another', async () => {
  const places = [15, 16].map((number) => attached({ number, host: 2, hostGateway: true }))
  const [one, two] = await Promise.all(places)
  assert.ok(one && two)
  await one.attached.check()
  for (const address of ['10.15.0.1', 'fd00:15::1']) {
    const refusal = { error: 'ECONNREFUSED' }
    const answer = () => ask(one.workload, { address, withinMs: 1000 })
    await eventually(
      `the node answers at ${address}`,
      async () => JSON.stringify((await answer()).tcp) === JSON.stringify(refusal),
    )
  }
  await answerProbes(two.workload)
  await one.workload.must('ip', ['route', 'add', '10.16.0.0/20', 'via', '10.15.0.1'])
  await two.workload.must('ip', ['route', 'add', '10.15.0.0/20', 'via', '10.16.0.1'])
  assert.deepEqual(await ask(one.workload, { address: '10.16.0.2' }), { tcp: { seenAs: '10.15.0.2' }, udp: { echoed: true } })
})

test('detaching takes the device away on both sides, twice does no harm, and the same can be attached again', async () => {
  const { workload, attached: first } = await attached({ number: 17, host: 2 })
  const neighbour = await attached({ number: 17, host: 3 })
  await answerProbes(neighbour.workload)
  const ports = async () => (await node.bridges()).find(({ name }) => name === 'br-test-17')?.ports.length
  assert.equal(await ports(), 2)
  await first.detach()
  assert.deepEqual(await workload.devices(), [])
  assert.equal(await ports(), 1)
  await first.detach()
  await node.attach(workload, { config: configOf({ number: 17, host: 2 }), device: 'net1' })
  assert.deepEqual((await workload.devices())[0]?.addresses, ['10.17.0.2/32', 'fd00:17::2:0:0/96'])
  assert.deepEqual((await ask(workload, { address: '10.17.0.3' })).udp, { echoed: true })
})

test('B51: attachments of one name in two namespaces do not clash, and one workload can have both', async () => {
  const workload = await node.workload('both')
  const places = [18, 19].map((number) => ({ number, host: 2, namespace: `team-${number}`, name: 'web', device: `net${number}` }))
  const both = await Promise.all(places.map((place) => node.attach(workload, { config: configOf(place), device: place.device })))
  const seen = (await workload.devices()).map(({ name, addresses }) => [name, addresses[0]]).sort()
  assert.deepEqual(seen, [
    ['net18', '10.18.0.2/32'],
    ['net19', '10.19.0.2/32'],
  ])
  await both[0]?.detach()
  assert.deepEqual(
    (await workload.devices()).map(({ name }) => name),
    ['net19'],
  )
})

test('a configuration that the plugins refuse is refused with their sentence, and leaves no device', async () => {
  const workload = await node.workload('refused')
  const config = JSON.stringify({
    cniVersion: '1.0.0',
    name: 'refused',
    plugins: [{ type: 'bridge', bridge: 'br-test-20', vlan: 5000 }],
  })
  await assert.rejects(() => node.attach(workload, { config, device: 'net1' }), /^Error: cnitool add of refused: .*vlan/i)
  assert.deepEqual(await workload.devices(), [])
})

test('a machine without the programs is told which it lacks', async (t) => {
  const { PATH } = process.env
  t.after(() => {
    process.env.PATH = PATH
  })
  process.env.PATH = '/nonexistent'
  const missing = await missingForNode()
  for (const program of ['unshare', 'nsenter', 'ip', 'python3'])
    assert.ok(
      missing.some((sentence) => sentence.startsWith(`the program ${program} is not installed (Debian package `)),
      program,
    )
})

test('when the process that made a node is killed, its namespaces and all that runs in them go with it', async (t) => {
  const module = new URL('../testing/node/index.ts', import.meta.url).href
  const script = `const { openNode, answerProbes } = await import(${JSON.stringify(module)})
    const node = await openNode(${JSON.stringify(tools)})
    const workload = await node.workload('one')
    await answerProbes(workload)
    console.log(workload.path.split('/')[2])
    await new Promise(() => {})`
  const child: ChildProcess = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  assert.ok(child.stdout)
  const [pid] = await once(createInterface({ input: child.stdout }), 'line')
  assert.ok(existsSync(`/proc/${pid}/ns/net`))
  child.kill('SIGKILL')
  await eventually('the namespace has gone', () => !existsSync(`/proc/${pid}/ns/net`), { timeoutMs: 20_000 })
})
