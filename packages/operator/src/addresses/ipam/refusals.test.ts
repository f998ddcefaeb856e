import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, ConnectionBroken } from 'kube-control-loop'
import { type RefusalType, refusalTypes } from 'kube-ipam'
import { isAway, refusalOf } from './refusals.ts'

const request = { method: 'POST', path: '/apis/ipam.miloapis.com/v1alpha1/namespaces/default/ipclaims' } as const
const project = { name: 'alpha', namespace: 'default' }

function answered(status: number, body: unknown): ApiError {
  return new ApiError(request, { status, headers: {}, body })
}

const statusBody = (code: number, details: object = {}, more: object = {}) =>
  answered(code, { kind: 'Status', status: 'Failure', code, message: 'as it is', details, ...more })

const byType = Object.entries(refusalTypes) as [RefusalType, number][]
const want: Record<RefusalType, string> = {
  Exhausted: 'AddressPoolExhausted',
  ClassNotFound: 'AddressAllocationRejected',
  NoDefaultClass: 'AddressAllocationRejected',
  NoOfferingPool: 'AddressAllocationRejected',
  PrefixLengthRejected: 'AddressAllocationRejected',
  ScopeRolesMissing: 'AddressAllocationRejected',
  NoProjectScope: 'AddressAllocationRejected',
  AllocationRetained: 'RetainedAddressConflict',
  ClaimExists: 'RetainedAddressConflict',
}
for (const [type, status] of byType) {
  test(`the service's ${type} (${status}) is ${want[type]}, in its own words`, () => {
    const error = statusBody(status, { name: 'pool-1', causes: [{ reason: type, message: 'why so' }] })
    const refusal = refusalOf(error, project)
    assert.equal(refusal?.reason, want[type])
    assert.match(refusal?.message ?? '', new RegExp(`${type}.*why so`))
    assert.equal(refusal?.message.includes('pool-1'), type === 'Exhausted')
    assert.equal(isAway(error), false)
  })
}

const table: { says: string; error: unknown; reason: string | undefined; away: boolean }[] = [
  {
    says: 'a namespace that the project lacks',
    error: statusBody(404, { kind: 'namespaces', name: 'default' }),
    reason: 'ProjectNamespaceNotFound',
    away: false,
  },
  {
    says: 'a namespace that is going',
    error: statusBody(403, { causes: [{ reason: 'NamespaceTerminating', message: 'going' }] }),
    reason: 'ProjectNamespaceNotFound',
    away: false,
  },
  {
    says: 'another namespace that is not there',
    error: statusBody(404, { kind: 'namespaces', name: 'other' }),
    reason: 'AllocationFailed',
    away: false,
  },
  {
    says: 'a refusal without a documented cause',
    error: statusBody(422, { causes: [{ reason: 'Odd' }] }),
    reason: 'AllocationFailed',
    away: false,
  },
  { says: 'a missing permission', error: statusBody(403), reason: 'AllocationFailed', away: false },
  {
    says: 'a name that is taken',
    error: statusBody(409, {}, { reason: 'AlreadyExists' }),
    reason: 'AllocationFailed',
    away: false,
  },
  { says: 'a full service without the cause', error: statusBody(507), reason: undefined, away: true },
  { says: 'a busy service', error: statusBody(429), reason: undefined, away: true },
  { says: 'a broken service', error: statusBody(500), reason: undefined, away: true },
  { says: 'a service that is not there', error: answered(404, '404 page not found'), reason: undefined, away: true },
  { says: 'a proxy that answers for it', error: answered(502, 'bad gateway'), reason: undefined, away: true },
  { says: 'a connection that breaks', error: new ConnectionBroken(request, new Error('reset')), reason: undefined, away: true },
  { says: 'anything else', error: new Error('lost the lease'), reason: undefined, away: false },
]
for (const { says, error, reason, away } of table) {
  test(`of the address service, ${says} is ${reason ?? (away ? 'being away' : 'no answer of it')}`, () => {
    assert.equal(refusalOf(error, project)?.reason, reason)
    assert.equal(isAway(error), away)
  })
}
