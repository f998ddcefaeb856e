/** `nso start --data-plane bridge` where no Pods are attached: what runs all the same, what is said, and what is left. */
import assert from 'node:assert/strict'
import { chownSync, cpSync, mkdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { ensureControlPlane, startPlane } from 'kube-localplane'
import { makeHome, nso } from './support/run-nso.ts'

type Report = {
  claims: { readyMs: number | null }[]
  conflicts: number
  ownershipConflicts: number
  reconcileErrors: number
  packets?: unknown
}

/** A user who is nobody, with a home and the control plane of the one who runs the test. */
async function homeOfNobody(t: Parameters<typeof makeHome>[0]) {
  const home = makeHome(t)
  const { apiServer } = await ensureControlPlane()
  const built = path.dirname(apiServer.command)
  const cache = path.join(home.folder, 'cache', 'kube-localplane')
  mkdirSync(cache, { recursive: true })
  cpSync(built, path.join(cache, path.basename(built)), { recursive: true })
  const nobody = 65_534
  for (const folder of [home.folder, path.dirname(cache), cache]) chownSync(folder, nobody, nobody)
  return { home, nobody, env: { HOME: home.folder, XDG_CACHE_HOME: path.dirname(cache), NSO_TEST_HOME: home.folder } }
}

test('without root the claims are Prepared and it says what is missing, what runs, and ends with status 1', async (t) => {
  const { home, nobody, env } = await homeOfNobody(t)
  const run = nso(home, ['start', '--data-plane', 'bridge', '--exit-when-ready', '--report', 'report.json'], env, nobody)
  assert.equal(await run.ended, 1, run.output())
  assert.match(run.output(), /3 claims Prepared, the median after/)
  assert.match(
    run.output(),
    /Ready takes Pods that are attached, and this machine cannot play the stand-in for kubelet and Multus:\n {2}- this user is not root.*\nWhat runs all the same: /,
  )
  const { claims, packets, ...counted } = JSON.parse(readFileSync(path.join(home.folder, 'report.json'), 'utf8')) as Report
  assert.deepEqual([claims.map(({ readyMs }) => readyMs), packets], [[null, null, null], undefined])
  assert.equal(counted.conflicts + counted.ownershipConflicts + counted.reconcileErrors, 0)
  assert.deepEqual([home.processes(), home.runs()], [[], []])
})

test('on a given cluster it is done when claims are Prepared, leaves no sample, and another plane for every location is refused', async (t) => {
  const home = makeHome(t)
  await using plane = await startPlane()
  const run = nso(home, ['start', '--data-plane', 'bridge', '--exit-when-ready', '--kubeconfig', plane.kubeconfigPath])
  assert.equal(await run.ended, 0, run.output())
  assert.match(run.output(), /3 claims Prepared, the median after/)
  assert.match(
    run.output(),
    /They become Ready when Pods that name their network definitions run: kubelet and Multus of this cluster/,
  )
  assert.match(run.output(), /What stays on the cluster: .*nso-system and bridge-system.* DataPlane bridge\./)
  for (const left of [
    '/apis/networking.datumapis.com/v1alpha/networkinterfaceclaims',
    '/apis/networking.datumapis.com/v1alpha/networks',
    '/apis/bridge.datumapis.com/v1alpha1/bridgeattachments',
    '/apis/bridge.datumapis.com/v1alpha1/bridgenetworks',
    '/apis/k8s.cni.cncf.io/v1/network-attachment-definitions',
    '/api/v1/pods',
  ])
    assert.deepEqual((await plane.connection.must({ path: left })).items, [], left)
  const other = nso(home, ['start', '--exit-when-ready', '--kubeconfig', plane.kubeconfigPath])
  assert.equal(await other.ended, 1)
  assert.match(
    other.output(),
    /DataPlane bridge serves every location of this cluster, so that galactic would serve none.*Nothing was installed/,
  )
  const galactic = await plane.connection.request({ path: '/api/v1/namespaces/galactic-system' })
  assert.equal(galactic.status, 404)
})
