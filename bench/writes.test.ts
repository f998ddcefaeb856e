import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseAuditLine } from 'kube-localplane'
import { countByKind, writesIn } from './writes.ts'

const entry = (verb: string, resource: string, more: { subresource?: string; apiGroup?: string; uri?: string } = {}) => {
  const { uri = '/x', ...ref } = more
  const parsed = parseAuditLine(
    JSON.stringify({ stage: 'ResponseComplete', verb, requestURI: uri, objectRef: { resource, ...ref } }),
  )
  assert.ok(parsed)
  return parsed
}

test('reads, dry runs and renewals of Leases are no writes', () => {
  const audit = [
    entry('get', 'claims'),
    entry('watch', 'claims'),
    entry('create', 'claims', { uri: '/x?dryRun=All' }),
    entry('update', 'leases', { apiGroup: 'coordination.k8s.io' }),
    entry('create', 'claims'),
    entry('patch', 'claims', { subresource: 'status' }),
    entry('patch', 'claims', { subresource: 'status' }),
  ]
  assert.deepEqual(
    [...countByKind(writesIn(audit))],
    [
      ['create claims', 1],
      ['patch claims/status', 2],
    ],
  )
})
