import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { finalizers, NetworkInterfaceClaim, nsoAccount, nsoManifests } from '@nso/api'
import { pathOf } from 'kube-control-loop'
import { installManifests, type KubeObject, type Plane, startPlane } from 'kube-localplane'
import { eventually, testNamespace } from 'kube-localplane/testing'

const joint = path.join(import.meta.dirname, '..', '..', '..', 'deploy', 'data-planes', 'galactic.yaml')

/** Its own control plane: the policy and the roles are of the whole cluster. */
let plane: Plane
before(async () => {
  plane = await startPlane({ name: 'install' })
  const { crds, rbac } = nsoManifests()
  await installManifests(plane, [...crds, ...rbac])
})
after(async () => await plane.stop())

type Permission = { group: string; resource: string; verb: string; subresource?: string; namespace?: string }

async function may(resourceAttributes: Permission): Promise<boolean> {
  const user = `system:serviceaccount:${nsoAccount.namespace}:${nsoAccount.name}`
  const spec = { user, groups: ['system:serviceaccounts', 'system:authenticated'], resourceAttributes }
  const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec }
  const answer = await plane.connection.must({ method: 'POST', path: '/apis/authorization.k8s.io/v1/subjectaccessreviews', body })
  return (answer.status as { allowed: boolean }).allowed
}

function claim(name: string, metadata: object = {}): KubeObject {
  return {
    apiVersion: 'networking.datumapis.com/v1alpha',
    kind: 'NetworkInterfaceClaim',
    metadata: { name, ...metadata },
    spec: { network: { name: 'default' } },
  }
}

async function createClaim(namespace: string, body: KubeObject, query = ''): Promise<KubeObject> {
  const answer = await plane.connection.must({ method: 'POST', path: pathOf(NetworkInterfaceClaim, { namespace }) + query, body })
  return answer as KubeObject
}

test('a claim that names a network only is stored with every default and every seed', async () => {
  await using space = await testNamespace(plane, 'defaults')
  const stored = await createClaim(space.name, claim('minimal'))
  assert.deepEqual(stored.spec, {
    network: { name: 'default' },
    interfaceName: 'eth0',
    attachmentMode: 'Netns',
    ipFamilies: ['IPv6'],
    reclaimPolicy: 'Delete',
  })
  const { conditions } = stored.status as { conditions: { type: string; status: string; reason: string }[] }
  assert.deepEqual(
    conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`),
    ['Bound', 'Allocated', 'Prepared', 'Programmed', 'Ready'].map((type) => `${type} Unknown Pending`),
  )
})

describe('the account of NSO', () => {
  const own = { group: 'networking.datumapis.com' }
  const attachments = { group: 'cloud.datumapis.com', resource: 'vpcattachments' }
  const table: { says: string; given: Permission; want: boolean }[] = [
    {
      says: 'applies the status of claims',
      given: { ...own, resource: 'networkinterfaceclaims', subresource: 'status', verb: 'patch' },
      want: true,
    },
    { says: 'makes interfaces', given: { ...own, resource: 'networkinterfaces', verb: 'create' }, want: true },
    { says: 'does not delete claims', given: { ...own, resource: 'networkinterfaceclaims', verb: 'delete' }, want: false },
    { says: 'holds data planes by a finalizer', given: { ...own, resource: 'dataplanes', verb: 'patch' }, want: true },
    { says: 'makes no data planes', given: { ...own, resource: 'dataplanes', verb: 'create' }, want: false },
    { says: 'deletes no data planes', given: { ...own, resource: 'dataplanes', verb: 'delete' }, want: false },
    {
      says: 'renews its lease',
      given: { group: 'coordination.k8s.io', resource: 'leases', verb: 'update', namespace: 'nso-system' },
      want: true,
    },
    {
      says: 'touches no other lease',
      given: { group: 'coordination.k8s.io', resource: 'leases', verb: 'update', namespace: 'kube-system' },
      want: false,
    },
    { says: 'reads no secrets', given: { group: '', resource: 'secrets', verb: 'get' }, want: false },
    { says: 'makes no attachments before a data plane is installed', given: { ...attachments, verb: 'create' }, want: false },
  ]
  for (const { says, given, want } of table) test(says, async () => assert.equal(await may(given), want))

  test('makes attachments once the data plane’s part is installed, and never their status or network definitions', async () => {
    await installManifests(plane, await readFile(joint, 'utf8'))
    await eventually('the part is aggregated', () => may({ ...attachments, verb: 'create' }))
    assert.equal(await may({ ...attachments, subresource: 'status', verb: 'patch' }), false)
    assert.equal(await may({ group: 'k8s.cni.cncf.io', resource: 'network-attachment-definitions', verb: 'create' }), false)
  })
})

test('the policy adds the finalizer at creation, once, and beside others', async () => {
  await using space = await testNamespace(plane, 'policy')
  await installManifests(plane, nsoManifests().policies)
  await eventually('the policy acts', async () => {
    const tried = await createClaim(space.name, claim('tried'), '?dryRun=All')
    return ((tried.metadata.finalizers as string[] | undefined) ?? []).length > 0
  })
  const wanted = [
    { given: [], want: [finalizers.claim] },
    { given: ['example.dev/other'], want: ['example.dev/other', finalizers.claim] },
    { given: [finalizers.claim], want: [finalizers.claim] },
  ]
  for (const { given, want } of wanted) {
    const stored = await createClaim(space.name, claim('made', { finalizers: given }), '?dryRun=All')
    assert.deepEqual(stored.metadata.finalizers, want)
  }
})
