/** `nso up`, `nso down`, `nso kubeconfig`, `nso kubectl`: the same system for daily work. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { eventually } from 'kube-localplane/testing'
import { makeHome, nothingRuns, nso } from './support/run-nso.ts'

const network = `apiVersion: networking.datumapis.com/v1alpha
kind: ServingLocation
metadata: { name: here }
spec: { topology: { topology.datum.net/city-code: DLS } }
---
apiVersion: networking.datumapis.com/v1alpha
kind: Network
metadata: { name: afterwards, namespace: default }
spec: { ipam: { mode: Auto } }
`

test('of two at once exactly one comes up; it heals, answers, and ends when told', async (t) => {
  const home = makeHome(t)
  const two = [nso(home, ['up', '--detach']), nso(home, ['up', '--detach'])]
  const statuses = await Promise.all(two.map(({ ended }) => ended))
  const winners = two.filter((_, index) => statuses[index] === 0)
  const [loser] = two.filter((_, index) => statuses[index] !== 0)
  assert.equal(winners.length, 1, two.map((run) => run.output()).join('\n---\n'))
  const [winner] = winners
  assert.ok(winner && loser)
  assert.match(loser.output(), /Another nso up \(process \d+\) is just starting/)
  assert.match(winner.output(), /control plane ready in .*\n[\s\S]*The system is up[\s\S]*It runs in the background/)

  await t.test('another one says that it is up already', async () => {
    const again = nso(home, ['up'])
    assert.equal(await again.ended, 0)
    assert.match(again.output(), /It is up already \(process \d+\)\. Kubeconfig: \//)
  })

  await t.test('another one with another data plane says that this is not what is up', async () => {
    const other = nso(home, ['up', '--data-plane', 'bridge'])
    assert.equal(await other.ended, 1)
    assert.match(
      other.output(),
      /It is up already, but with another data plane than Bridge \(process \d+\)\..* To end it: npx nso down/,
    )
  })

  await t.test('kubeconfig prints the path and nothing else; kubectl works, with its own flags', async () => {
    const asked = nso(home, ['kubeconfig'])
    assert.equal(await asked.ended, 0)
    assert.ok(existsSync(asked.stdout().trimEnd()), asked.output())
    assert.equal(asked.output(), asked.stdout())
    const listed = nso(home, ['kubectl', '-n', 'nso-system', 'get', 'serviceaccount', 'nso', '-o', 'name'])
    assert.equal(await listed.ended, 0, listed.output())
    assert.equal(listed.stdout(), 'serviceaccount/nso\n')
    const refused = nso(home, ['kubectl', 'get', 'no-such-kind'])
    assert.equal(await refused.ended, 1)
    assert.match(refused.output(), /the server doesn't have a resource type "no-such-kind"/)
  })

  await t.test('NSO and Galactic are started again when they die, and go on with their work', async () => {
    const died =
      winner
        .output()
        .match(/NSO \(process (\d+)\) and Galactic \(process (\d+)\)/)
        ?.slice(1)
        .map(Number) ?? []
    const before = home.processes()
    assert.equal(died.length, 2)
    for (const pid of died) process.kill(pid, 'SIGKILL')
    await eventually(
      'two others run',
      () => home.processes().length === before.length && !home.processes().some((pid) => died.includes(pid)),
      { timeoutMs: 60_000, everyMs: 100 },
    )
    const applied = nso(home, ['kubectl', 'apply', '-f', '-'])
    applied.child.stdin?.end(network)
    assert.equal(await applied.ended, 0, applied.output())
    // The leases of the dead are waited for first.
    for (const what of ['create', 'condition=Ready']) {
      const waited = nso(home, ['kubectl', 'wait', `--for=${what}`, 'vpc/afterwards-here', '--timeout=90s'])
      assert.equal(await waited.ended, 0, waited.output())
    }
  })

  await t.test('down waits until all has ended', async () => {
    const down = nso(home, ['down'])
    assert.equal(await down.ended, 0)
    assert.match(down.output(), /ending nso up \(process \d+\) …\nended/)
    assert.deepEqual(home.processes(), [])
    assert.deepEqual(home.runs(), [])
    const none = nso(home, ['kubeconfig'])
    assert.equal(await none.ended, 1)
    assert.equal(none.stdout(), '')
    assert.match(none.output(), /Nothing is running/)
  })
})

test('it comes up with the other data plane, and ends with it', async (t) => {
  const home = makeHome(t)
  const up = nso(home, ['up', '--detach', '--data-plane', 'bridge'])
  assert.equal(await up.ended, 0, up.output())
  assert.match(up.output(), /NSO \(process \d+\) and Bridge \(process \d+\) are ready/)
  const waited = nso(home, ['kubectl', 'wait', 'dataplane/bridge', '--for=condition=Permitted', '--timeout=60s'])
  assert.equal(await waited.ended, 0, waited.output())
  const listed = nso(home, ['kubectl', 'get', 'dataplanes', '-o', 'name'])
  assert.equal(await listed.ended, 0, listed.output())
  assert.equal(listed.stdout(), 'dataplane.networking.datumapis.com/bridge\n')
  const down = nso(home, ['down'])
  assert.equal(await down.ended, 0, down.output())
  assert.deepEqual([home.processes(), home.runs()], [[], []])
})

test('Ctrl-C while it comes up in the background ends it', async (t) => {
  const home = makeHome(t)
  const run = nso(home, ['up', '--detach'])
  await run.sees(/control plane ready/)
  run.child.kill('SIGINT')
  assert.equal(await run.ended, 130, run.output())
  await nothingRuns(home, 1000)
  assert.deepEqual(home.runs(), [])
})
