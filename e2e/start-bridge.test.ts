/** `nso start --data-plane bridge`: the second data plane as a user sees it, with Pods and real packets. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { missingForNode } from 'kube-bridge/testing/node'
import { makeHome, nothingRuns, nso } from './support/run-nso.ts'

type Workload = { name: string; network: string; device: string; mtu: number; addresses: string[]; asClaimed: boolean }
type Trial = {
  from: string
  to: string
  family: string
  wanted: boolean
  packetBytes: number
  tcp: string
  udp: string
  asWanted: boolean
}
type Report = {
  claims: { name: string; preparedMs: number; readyMs: number | null }[]
  conflicts: number
  ownershipConflicts: number
  reconcileErrors: number
  countedFrom: string
  packets?: { workloads: Workload[]; trials: Trial[] }
}

const reportIn = (folder: string) => JSON.parse(readFileSync(path.join(folder, 'report.json'), 'utf8')) as Report
const clean = { conflicts: 0, ownershipConflicts: 0, reconcileErrors: 0, countedFrom: 'audit' }

test('claims become Ready by Pods that real plugins attach; packets show who reaches whom; nothing is left', async (t) => {
  assert.deepEqual(await missingForNode(), [], 'this machine cannot attach workloads')
  const home = makeHome(t)
  const args = ['start', '--data-plane', 'bridge', '--exit-when-ready', '--claims', '5', '--report', 'report.json']
  const run = nso(home, args)
  assert.equal(await run.ended, 0, run.output())
  const { claims, packets, conflicts, ownershipConflicts, reconcileErrors, countedFrom } = reportIn(home.folder)
  assert.deepEqual({ conflicts, ownershipConflicts, reconcileErrors, countedFrom }, clean)
  for (const { name, preparedMs, readyMs } of claims) assert.ok(preparedMs <= (readyMs ?? 0), name)
  assert.deepEqual(
    packets?.workloads.map(({ name, network, device, mtu, asClaimed }) => [name, network, device, mtu, asClaimed]),
    [
      ['web-0', 'default', 'net1', 1460, true],
      ['db-0', 'default', 'net1', 1460, true],
      ['else-0', 'other', 'net1', 1460, true],
      ['web-1', 'default', 'net1', 1460, true],
      ['db-1', 'default', 'net1', 1460, true],
    ],
  )
  const shown = packets?.trials.map(({ from, to, family, wanted, packetBytes, udp }) => {
    const heard = /^(timeout|EHOSTUNREACH)$/.test(udp) ? 'nothing' : udp
    return `${from}, ${to}, ${family}, ${wanted ? 'one network' : 'two networks'}, ${packetBytes} bytes: ${heard}`
  })
  assert.deepEqual(shown?.sort(), [
    'web-0, db-0, IPv4, one network, 1460 bytes: reached',
    'web-0, db-0, IPv6, one network, 1460 bytes: reached',
    'web-0, else-0, IPv4, two networks, 1460 bytes: nothing',
    'web-0, else-0, IPv6, two networks, 1460 bytes: nothing',
  ])
  for (const line of [
    /the DataPlane bridge/,
    /ownership of Bridge's objects is enforced \(Deny\)/,
    /NSO \(process \d+\) and Bridge \(process \d+\) are ready/,
    /networks default and other are usable; creating 5 claims/,
    /└─ BridgeAttachment nso-demo\/web-0\n +│ {2}bridge device \S+/,
    /CNI plugin bridge, tuning/,
    /web-0 → db-0 \S+ \(IPv6; one network\): TCP reached, seen as \S+; UDP, 1460 bytes in one packet: reached/,
    /web-0 → else-0 \S+ \(IPv4; two networks, a route added by hand: nothing is to come through\)/,
  ])
    assert.match(run.output(), line)
  assert.doesNotMatch(run.output(), /galactic|VPC /i)
  assert.deepEqual([home.processes(), home.runs()], [[], []])
})

test('Ctrl-C while Pods are attached, and kill -9 when it is up, take namespaces, bridges and processes with it', async (t) => {
  const home = makeHome(t)
  const interrupted = nso(home, ['start', '--data-plane', 'bridge', '--claims', '12'])
  await interrupted.sees(/NetworkAttachmentDefinition web-0 created/)
  interrupted.child.kill('SIGINT')
  assert.equal(await interrupted.ended, 130, interrupted.output())
  assert.deepEqual([home.processes(), home.runs()], [[], []])
  assert.doesNotMatch(interrupted.output(), /not attached yet|Error/)
  const run = nso(home, ['start', '--data-plane', 'bridge'])
  await run.sees(/The system is up/)
  assert.ok(home.processes().length > 3, 'workloads run')
  run.child.kill('SIGKILL')
  await run.ended
  await nothingRuns(home, 20_000)
})
