import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leftOutBecause, showWrite, writeOf } from './writes.ts'

const group = '/apis/networking.datumapis.com/v1alpha'

const table: { says: string; method?: string; url: string; want: string | undefined; leftOut?: string }[] = [
  { says: 'a read is no write', method: 'GET', url: `${group}/networks`, want: undefined },
  { says: 'a creation has no name yet', url: `${group}/namespaces/a/addressleases?fieldManager=x`, want: 'post addressleases' },
  {
    says: 'a status is told from its object',
    method: 'PATCH',
    url: `${group}/namespaces/a/networkinterfaces/web/status?force=true`,
    want: 'patch networkinterfaces/status web',
  },
  { says: 'a cluster-wide object', method: 'PATCH', url: `${group}/dataplanes/galactic`, want: 'patch dataplanes galactic' },
  { says: 'a namespace itself', method: 'DELETE', url: '/api/v1/namespaces/a', want: 'delete namespaces a' },
  { says: 'an Event', url: '/apis/events.k8s.io/v1/namespaces/a/events', want: 'post events', leftOut: 'Events' },
  {
    says: 'a Lease of leader election',
    method: 'PUT',
    url: '/apis/coordination.k8s.io/v1/namespaces/nso-system/leases/nso',
    want: 'put leases nso',
    leftOut: 'Leases of leader election',
  },
  {
    says: 'a question about own permissions',
    url: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    want: 'post selfsubjectaccessreviews',
    leftOut: 'reviews of own permissions',
  },
  { says: 'a dry run', url: `${group}/namespaces/a/subnets?dryRun=All`, want: 'post subnets', leftOut: 'dry runs' },
]

for (const { says, method = 'POST', url, want, leftOut } of table)
  test(says, () => {
    const write = writeOf(method, url)
    assert.equal(write && showWrite(write), want)
    assert.equal(write && leftOutBecause(write), leftOut)
  })

test('the object that a deletion means is in its body', () => {
  const body = JSON.stringify({ preconditions: { uid: 'u-1' } })
  assert.equal(writeOf('DELETE', `${group}/namespaces/a/addressleases/x`, body)?.uid, 'u-1')
  assert.equal(writeOf('DELETE', `${group}/namespaces/a/addressleases/x`)?.uid, undefined)
})
