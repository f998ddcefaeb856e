import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type AuditedRequest,
  complaintsAbout,
  countConflicts,
  countOwnWrites,
  countWrites,
  disagreements,
  parseMetrics,
  sumOf,
} from './report.ts'

function request(over: Partial<AuditedRequest>): AuditedRequest {
  return {
    verb: 'create',
    user: 'admin',
    resource: 'networkinterfaceclaims',
    code: 201,
    requestReceived: '2026-01-01T00:00:00.000000Z',
    ...over,
  }
}

const account = 'system:serviceaccount:nso-system:nso'

test('writes are counted by writer, verb and resource; reads and Leases are none', () => {
  const counted = countWrites(
    [
      request({}),
      request({ verb: 'patch', user: account, subresource: 'status', fieldManager: 'nso-networkinterfaceclaim', code: 200 }),
      request({ verb: 'patch', user: account, subresource: 'status', fieldManager: 'nso-networkinterfaceclaim', code: 200 }),
      request({ verb: 'get', code: 200 }),
      request({ verb: 'watch', code: 200 }),
      request({ verb: 'update', group: 'coordination.k8s.io', resource: 'leases', code: 200 }),
    ],
    2,
  )
  assert.deepEqual(counted, {
    total: 3,
    perClaim: 1.5,
    byWriter: [
      { writer: 'nso as nso-networkinterfaceclaim', verb: 'patch', resource: 'networkinterfaceclaims/status', count: 2 },
      { writer: 'admin', verb: 'create', resource: 'networkinterfaceclaims', count: 1 },
    ],
  })
})

test('a conflict is a refused write; one that names another manager is an ownership conflict too', () => {
  const refused = [
    request({ code: 409, message: 'networkinterfaceclaims "a" already exists' }),
    request({ verb: 'patch', code: 409, message: 'Apply failed with 1 conflict: conflict with "x"' }),
    request({ verb: 'update', code: 409, group: 'coordination.k8s.io', resource: 'leases' }),
    request({ verb: 'get', code: 404 }),
  ]
  assert.deepEqual(countConflicts(refused), {
    conflicts: 2,
    ownershipConflicts: 1,
    refused: [
      'admin: create networkinterfaceclaims: networkinterfaceclaims "a" already exists',
      'admin: patch networkinterfaceclaims: Apply failed with 1 conflict: conflict with "x"',
    ],
  })
})

test('what the API server asks of itself is no conflict of anybody', () => {
  const own = request({ user: 'system:apiserver', resource: 'apiservices', code: 409, message: 'already exists' })
  assert.equal(countConflicts([own]).conflicts, 0)
})

test('own writes are counted between two readings of the metrics, by method, the Lease’s PUTs apart', () => {
  const page = (post: number, patch: number, put: number) =>
    parseMetrics(
      [
        `rest_client_requests_total{code="201",method="POST",host="h"} ${post}`,
        `rest_client_requests_total{code="200",method="PATCH",host="h"} ${patch}`,
        `rest_client_requests_total{code="409",method="PATCH",host="h"} 1`,
        `rest_client_requests_total{code="200",method="PUT",host="h"} ${put}`,
        `rest_client_requests_total{code="200",method="GET",host="h"} ${put}`,
      ].join('\n'),
    )
  const readings = [{ writer: 'nso', before: page(10, 2, 1), after: page(16, 12, 9) }]
  assert.deepEqual(countOwnWrites(readings, 4), {
    total: 16,
    perClaim: 4,
    byWriter: [
      { writer: 'nso', verb: 'patch', resource: '*', count: 10 },
      { writer: 'nso', verb: 'create', resource: '*', count: 6 },
    ],
  })
})

test('each count that should be 0 and is not is a complaint, and what was refused is listed', () => {
  const report = {
    claims: [],
    writes: { total: 0, perClaim: 0, byWriter: [] },
    ...{ conflicts: 0, ownershipConflicts: 0, reconcileErrors: 0, countedFrom: 'audit' as const },
  }
  assert.deepEqual(complaintsAbout(report), [])
  assert.deepEqual(complaintsAbout({ ...report, conflicts: 1, reconcileErrors: 2, refused: ['nso: create x: already exists'] }), [
    'conflicts: 1, and there should be none',
    'reconcile errors: 2, and there should be none',
    'nso: create x: already exists',
  ])
  assert.deepEqual(complaintsAbout({ ...report, ownershipConflicts: 3 }), ['ownership conflicts: 3, and there should be none'])
})

test('a metrics page is read with its labels, escapes included', () => {
  const samples = parseMetrics(
    '# HELP a b\n# TYPE a counter\na{x="1",y="a\\"b\\\\c\\n"} 2\nb 3.5 1700000000\nnso_c_total{r="z"} 1\n',
  )
  assert.deepEqual(samples, [
    { name: 'a', labels: { x: '1', y: 'a"b\\c\n' }, value: 2 },
    { name: 'b', labels: {}, value: 3.5 },
    { name: 'nso_c_total', labels: { r: 'z' }, value: 1 },
  ])
  assert.equal(sumOf(samples, 'c_total'), 1)
})

test('a process and the audit log agree, or the difference is named', () => {
  const page =
    'rest_client_requests_total{code="201",method="POST",host="h"} 2\nrest_client_requests_total{code="200",method="GET",host="h"} 9\n'
  assert.deepEqual(disagreements(parseMetrics(page), [request({}), request({}), request({ verb: 'list', code: 200 })]), [])
  assert.deepEqual(disagreements(parseMetrics(page), [request({}), request({ verb: 'delete', code: 404 })]), [
    'DELETE 404: the process counts 0, the audit log 1',
    'POST 201: the process counts 2, the audit log 1',
  ])
})
