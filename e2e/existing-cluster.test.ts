/** `nso start --kubeconfig FILE`: on a cluster that is there, without the newest admission API, with things of others on it. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { startPlane } from 'kube-localplane'
import { eventually } from 'kube-localplane/testing'
import { auditBodies, record } from '../packages/operator/test/support/record.ts'
import { makeHome, nso } from './support/run-nso.ts'

const withoutMutatingPolicies = [
  '--runtime-config=admissionregistration.k8s.io/v1/mutatingadmissionpolicies=false',
  '--disable-admission-plugins=MutatingAdmissionPolicy',
]

const definitionOf = (schema: object) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'network-attachment-definitions.k8s.cni.cncf.io', labels: { installed: 'by-others' } },
  spec: {
    group: 'k8s.cni.cncf.io',
    scope: 'Namespaced',
    names: { kind: 'NetworkAttachmentDefinition', plural: 'network-attachment-definitions', shortNames: ['net-attach-def'] },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
  },
})

test('twice in a row on a given cluster: Ready, counted, cleaned up, and what others have there is left alone', async (t) => {
  const home = makeHome(t)
  await using plane = await startPlane({ apiServerFlags: withoutMutatingPolicies, auditBodies })
  const recorder = await record(plane)
  t.after(() => recorder[Symbol.asyncDispose]().catch(() => {}))
  const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  await plane.apply([
    definitionOf({ ...open, description: 'of others' }),
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'of-others' } },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'kept', namespace: 'of-others' } },
  ])
  const api = '/apis/networking.datumapis.com/v1alpha'
  const definition = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/network-attachment-definitions.k8s.cni.cncf.io'
  const before = (await plane.connection.must({ path: definition })) as { spec: unknown; metadata: { labels: unknown } }

  for (const claims of [3, 6]) {
    const run = nso(home, [
      ...['start', '--exit-when-ready', '--kubeconfig', plane.kubeconfigPath],
      ...['--claims', String(claims), '--report', 'report.json'],
    ])
    assert.equal(await run.ended, 0, run.output())
    assert.match(run.output(), /not the admission policy, since this server does not serve Mutating/)
    assert.match(run.output(), /counted by NSO and Galactic themselves, since the audit log/)
    assert.match(run.output(), /What stays on the cluster: the CRDs/)
    const report = JSON.parse(readFileSync(path.join(home.folder, 'report.json'), 'utf8'))
    const { conflicts, ownershipConflicts, reconcileErrors, countedFrom } = report
    assert.deepEqual(
      { conflicts, ownershipConflicts, reconcileErrors, countedFrom, ready: report.claims.length },
      { conflicts: 0, ownershipConflicts: 0, reconcileErrors: 0, countedFrom: 'metrics', ready: claims },
    )
    assert.ok(report.writes.perClaim >= 5 && report.writes.perClaim <= 15, `${report.writes.perClaim} writes per claim`)
    assert.deepEqual(home.processes(), [])
    for (const plural of ['networkinterfaceclaims', 'networkinterfaces', 'networks', 'servinglocations', 'addressleases']) {
      const { items } = await plane.connection.must({ path: `${api}/${plural}` })
      assert.deepEqual(items, [], plural)
    }
    await eventually('the samples’ namespace is gone', async () => {
      const { status } = await plane.connection.request({ path: '/api/v1/namespaces/nso-demo' })
      return status === 404
    })
  }

  const after = (await plane.connection.must({ path: definition })) as typeof before
  assert.deepEqual([after.spec, after.metadata.labels], [before.spec, before.metadata.labels])
  assert.equal((await plane.connection.request({ path: '/api/v1/namespaces/of-others/configmaps/kept' })).status, 200)

  await t.test('a claim of somebody else with a sample’s name is not touched', async () => {
    await plane.apply([
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'nso-demo' } },
      {
        apiVersion: 'networking.datumapis.com/v1alpha',
        kind: 'NetworkInterfaceClaim',
        metadata: { name: 'web-0', namespace: 'nso-demo' },
        spec: { network: { name: 'mine' } },
      },
    ])
    const run = nso(home, ['start', '--exit-when-ready', '--kubeconfig', plane.kubeconfigPath])
    assert.equal(await run.ended, 1)
    assert.match(run.output(), /Namespace nso-demo already has a NetworkInterfaceClaim web-0 that nso did not make/)
    const { items } = await plane.connection.must({ path: `${api}/networkinterfaceclaims` })
    const claims = items as { metadata: { name: string; deletionTimestamp?: string } }[]
    assert.deepEqual(
      claims.map(({ metadata }) => [metadata.name, metadata.deletionTimestamp]),
      [['web-0', undefined]],
    )
    assert.deepEqual(home.processes(), [])
  })
  await recorder[Symbol.asyncDispose]()
})
