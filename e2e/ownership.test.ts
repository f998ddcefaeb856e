/** How ownership is enforced on a cluster that somebody uses already: `--ownership` of `nso start` and `nso up`. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { enforcement, nsoManifests } from '@nso/api'
import { enforceOwnership } from '@nso/cli/ownership'
import { galacticManifests } from 'galactic/manifests'
import { type OwnershipMode, parametersName } from 'kube-control-loop'
import { type KubeObject, mergePatch, type Plane, startPlane } from 'kube-localplane'

let plane: Plane
before(async () => {
  plane = await startPlane({ name: 'ownership-modes' })
  const [nso, galactic] = [nsoManifests(), galacticManifests()]
  await plane.apply([...nso.crds, ...galactic.crds, ...galactic.local, ...nso.rbac, ...galactic.rbac] as KubeObject[])
})
after(async () => await plane[Symbol.asyncDispose]())

async function said(mode?: OwnershipMode, on: Plane = plane): Promise<string[]> {
  const lines: string[] = []
  const signal = AbortSignal.timeout(60_000)
  await enforceOwnership({ kubeconfigPath: on.kubeconfigPath, mode, log: (line) => lines.push(line), signal })
  return lines
}

const path = `/api/v1/namespaces/${enforcement.namespace}/configmaps/${parametersName(enforcement)}`
const policies = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies'

async function standing(): Promise<{ mode: string | undefined; data: Record<string, string> }> {
  const { metadata, data } = (await plane.connection.must({ path })) as unknown as KubeObject & { data: Record<string, string> }
  return { mode: metadata.labels?.mode, data }
}

test('off, where nothing of it stands, installs nothing', async () => {
  assert.deepEqual(
    await said('Off'),
    ['NSO', 'Galactic'].map((app) => `ownership of ${app}'s objects is not enforced`),
  )
  assert.deepEqual((await plane.connection.must({ path: policies })).items, [])
})

test('without a word it is enforced, and all policies are waited for', async () => {
  assert.deepEqual(await said(), [
    `ownership of NSO's objects is enforced (Deny): 7 policies are in force`,
    `ownership of Galactic's objects is enforced (Deny): 3 policies are in force`,
  ])
  assert.equal((await standing()).mode, 'Deny')
})

test('what an administrator has set stays: identities always, the mode unless another is asked for', async () => {
  const body = { metadata: { labels: { mode: 'Audit' } }, data: { holder: 'system:serviceaccount:compute:compute' } }
  await plane.connection.must({ method: 'PATCH', path, body, contentType: mergePatch })
  const [line = ''] = await said()
  assert.match(line, /watched and not enforced \(Audit\)/)
  const { mode, data } = await standing()
  assert.equal(mode, 'Audit')
  assert.equal(data.holder, body.data.holder)
  assert.deepEqual(data.nso, enforcement.identities.nso?.join('\n'))
  await said('Deny')
  assert.deepEqual(await standing(), { mode: 'Deny', data })
  assert.match((await said('Off')).join('\n'), /NSO's objects is not enforced any more/)
  assert.deepEqual(await standing(), { mode: 'Off', data })
})

test('a server without ValidatingAdmissionPolicy v1 is told so, and goes on', async () => {
  const group = 'admissionregistration.k8s.io/v1'
  const apiServerFlags = [
    `--runtime-config=${group}/validatingadmissionpolicies=false,${group}/validatingadmissionpolicybindings=false`,
    '--disable-admission-plugins=ValidatingAdmissionPolicy',
  ]
  await using old = await startPlane({ name: 'ownership-old', controllers: false, apiServerFlags })
  assert.deepEqual(await said('Deny', old), [
    'ownership is not enforced: this server does not serve ValidatingAdmissionPolicy v1',
  ])
})
