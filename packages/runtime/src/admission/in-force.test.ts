import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../api-error.ts'
import type { Client } from '../client.ts'

import type { KubeObject } from '../kind.ts'
import type { OwnershipTable } from '../ownership.ts'
import { NotInForce, ownershipInForce } from './in-force.ts'

const kind = { group: 'widgets.example.dev', version: 'v1', kind: 'Widget', plural: 'widgets', scope: 'Namespaced' } as const
const table: OwnershipTable = [
  { kind, status: [{ writer: 'painter', identity: 'app', owns: ['color'], when: '' }], metadata: [] },
]
const enforcement = { app: 'example', namespace: 'here', table, identities: { app: ['u'] } }
const object: KubeObject = {
  apiVersion: 'widgets.example.dev/v1',
  kind: 'Widget',
  metadata: { name: 'probe', namespace: 'here' },
  spec: {},
}

function refusal(status: number, message: string): ApiError {
  const body = { kind: 'Status', status: 'Failure', reason: 'Forbidden', message }
  return new ApiError({ method: 'POST', path: '/probe' }, { status, headers: {}, body } as never)
}

const byPolicy = refusal(403, "… ValidatingAdmissionPolicy 'example-owners-widgets' with binding 'x' denied request: no")

/** A policy that cannot be evaluated refuses everybody: that is no enforcement. */
const faulty = refusal(422, "… ValidatingAdmissionPolicy 'example-owners-widgets' with binding 'x' denied request: no such key")

/** A client whose creates are answered in turn, the last answer for ever; and time that passes while somebody waits. */
function scripted(answers: readonly (ApiError | 'created')[]) {
  const asked: unknown[] = []
  let now = 0
  const create: Client['create'] = async (_, given, options) => {
    asked.push(options)
    const answer = answers[Math.min(asked.length, answers.length) - 1]
    if (answer instanceof Error) throw answer
    return given
  }
  const clock = {
    monotonic: () => now,
    sleep: async (ms: number) => {
      now += ms
    },
  }
  return { asked, given: { client: { create }, clock, enforcement, signal: new AbortController().signal } }
}

const probes = [{ kind, object }]

test('writes that pass, and refusals by somebody else, are asked again until the policy itself refuses', async () => {
  const { asked, given } = scripted(['created', refusal(403, 'no permission'), refusal(503, 'starting'), faulty, byPolicy])
  assert.equal(await ownershipInForce({ ...given, probes }), 1)
  assert.deepEqual(asked, Array(5).fill({ fieldManager: 'painter', dryRun: true }))
})

test('when the time is over, the policy and the last answer are named', async () => {
  const { asked, given } = scripted(['created'])
  await assert.rejects(ownershipInForce({ ...given, probes, timeoutMs: 1000 }), (error) => {
    assert.ok(error instanceof NotInForce)
    assert.equal(error.name, 'NotInForce')
    assert.equal(error.code, 'OWNERSHIP_NOT_IN_FORCE')
    assert.equal(
      error.message,
      'ValidatingAdmissionPolicy example-owners-widgets is not in force after 1 s; to a write that it must refuse the server answered: the write would have passed',
    )
    return true
  })
  assert.equal(asked.length, 11, 'ten times a second, and once at the end')
})

test('an enforced kind without a probe would never be waited for: that is our mistake', async () => {
  const { given } = scripted(['created'])
  const other = { kind: { ...kind, plural: 'others' }, object }
  for (const none of [[], [other]]) await assert.rejects(ownershipInForce({ ...given, probes: none }), /no probe for widgets/)
})

test('a table of which nothing is enforced cannot be waited for', async () => {
  const { given } = scripted(['created'])
  const nothing = { ...enforcement, identities: {} }
  await assert.rejects(ownershipInForce({ ...given, enforcement: nothing, probes: [] }), /no closed identity/)
})

test('what is no answer of the server surfaces at once', async () => {
  const { given } = scripted(['created'])
  const broken = new TypeError('broken')
  const create = async () => {
    throw broken
  }
  await assert.rejects(ownershipInForce({ ...given, client: { create }, probes }), (error) => error === broken)
})
