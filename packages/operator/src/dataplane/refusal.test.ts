import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, ConnectionBroken } from 'kube-control-loop'
import { lacksPermission, refusalOf } from './refusal.ts'

const request = { method: 'POST', path: '/apis/wires.example.dev/v1/namespaces/default/wires' } as const
const answered = (status: number, reason: string, message: string, details = {}) =>
  new ApiError(request, {
    status,
    headers: {},
    body: { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, message, code: status, details },
  })

const rbac =
  'wires.wires.example.dev is forbidden: User "system:serviceaccount:a:b" cannot create resource "wires" in API group "wires.example.dev"'
const policy = "wires.wires.example.dev \"web\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p' denied request: no"
const quota = 'wires.wires.example.dev "web" is forbidden: exceeded quota: few'
const webhook = 'admission webhook "w.example.dev" denied the request: not today'
const strict = 'strict decoding error: unknown field "spec.odd"'
const invalid = 'Wire.wires.example.dev "web" is invalid: spec.mtu: Invalid value: 1460: too large'

const rows: { says: string; error: unknown; want: string | undefined }[] = [
  { says: 'a schema that does not hold', error: answered(422, 'Invalid', invalid), want: invalid },
  { says: 'a field that the server does not know', error: answered(400, 'BadRequest', strict), want: strict },
  { says: 'a policy', error: answered(403, 'Forbidden', policy), want: policy },
  { says: 'a quota', error: answered(403, 'Forbidden', quota), want: quota },
  { says: 'a webhook', error: answered(403, 'Forbidden', webhook), want: webhook },
  { says: 'a webhook with a code of its own', error: answered(418, 'Unknown', webhook), want: webhook },
  { says: 'no lack of permission', error: answered(403, 'Forbidden', rbac), want: undefined },
  {
    says: 'no namespace that is going',
    error: answered(403, 'Forbidden', 'it is being terminated', { causes: [{ reason: 'NamespaceTerminating' }] }),
    want: undefined,
  },
  { says: 'no webhook that fails', error: answered(500, 'InternalError', 'failed calling webhook "w"'), want: undefined },
  { says: 'no webhook that breaks down while denying', error: answered(500, 'InternalError', webhook), want: undefined },
  { says: 'no server that is busy', error: answered(429, 'TooManyRequests', 'later'), want: undefined },
  { says: 'no lost race', error: answered(409, 'Conflict', 'the object has been modified'), want: undefined },
  { says: 'no proxy without words', error: new ApiError(request, { status: 403, headers: {}, body: 'no' }), want: undefined },
  { says: 'no broken connection', error: new ConnectionBroken(request, new Error('reset')), want: undefined },
  { says: 'nothing else', error: new TypeError('a bug'), want: undefined },
]
for (const { says, error, want } of rows) test(`a refusal is ${says}`, () => assert.equal(refusalOf(error), want))

test('the whole object is not repeated in what people read', () => {
  const object = JSON.stringify(JSON.stringify({ spec: { 'quote"': 'x'.repeat(300) } }))
  const error = answered(422, 'Invalid', `"" is invalid: patch: Invalid value: ${object}: ${strict}`)
  assert.equal(refusalOf(error), `"" is invalid: patch: Invalid value: …: ${strict}`)
  const short = '"" is invalid: spec.mode: Invalid value: "pipe": must be tap'
  assert.equal(refusalOf(answered(422, 'Invalid', short)), short)
})

test('only an authorizer’s words are a lack of permission', () => {
  assert.equal(lacksPermission(answered(403, 'Forbidden', rbac)), true)
  assert.equal(lacksPermission(answered(403, 'Forbidden', policy)), false)
  assert.equal(lacksPermission(answered(401, 'Unauthorized', rbac)), false)
})
