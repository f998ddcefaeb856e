import assert from 'node:assert/strict'
import { test } from 'node:test'
import { corrections } from './counting.ts'
import { type AuditedRequest, disagreements, parseMetrics } from './report.ts'

const audited = (verb: string, code: number): AuditedRequest => ({ verb, user: 'nso', code, requestReceived: '' })

test('what the stand-in answered in the server’s place is no disagreement with the server’s log', () => {
  const own = parseMetrics(`rest_client_requests_total{method="POST",code="201",host="ipam"} 2
rest_client_requests_total{method="POST",code="507",host="ipam"} 1
rest_client_requests_total{method="DELETE",code="409",host="ipam"} 1`)
  const standIn = parseMetrics(`ipam_stand_in_answered_total{method="POST",code="507"} 1
ipam_stand_in_answered_total{method="DELETE",code="409"} 1
ipam_stand_in_said_behind_total{method="POST",code="201"} 1
ipam_stand_in_said_behind_total{method="DELETE",code="200"} 1
process_start_time_seconds 1`)
  // A refusal is made sure of by a dry run, which the server logs as any other.
  const log = [...[201, 201, 201].map((code) => audited('create', code)), audited('delete', 200)]
  assert.deepEqual(disagreements([...own, ...corrections(standIn)], log), [])
  assert.deepEqual(disagreements([...own, ...corrections(standIn)], log.slice(1)), [
    'POST 201: the process counts 3, the audit log 2',
  ])
})
