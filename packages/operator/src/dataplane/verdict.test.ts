import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type DataPlane, dataPlaneConditions } from '@nso/api'
import type { CompiledSpec } from './plane.ts'
import { TemplateError } from './template.ts'
import { intentFor, type SeenPlane } from './verdict.ts'

const ref = { apiVersion: 'planes.example.dev/v1', kind: 'Wire' }
const kind = { group: 'planes.example.dev', version: 'v1', kind: 'Wire', plural: 'wires', scope: 'Namespaced' } as const
const error = (path: string) => new TemplateError(path, 3, 'no')

function says(given: Partial<Omit<SeenPlane, 'compiled'>> & { compiled?: Partial<CompiledSpec> } = {}) {
  const object = { metadata: { name: 'toy', generation: 4 }, spec: { locations: ['*', 'eu-*'] } } as unknown as DataPlane
  const compiled = { errors: [], refusedKinds: [], ...given.compiled } as unknown as CompiledSpec
  const { conditions } = intentFor({
    object,
    lost: [],
    kinds: [{ ref, state: 'served' }],
    reviewed: { is: 'done', missing: [] },
    ...given,
    compiled,
  })
  for (const { type, status, reason, observedGeneration } of conditions) {
    assert.equal(observedGeneration, 4)
    assert.ok(dataPlaneConditions[type].lists(status, reason))
  }
  return Object.fromEntries(
    conditions.map(({ type, status, reason, message }) => [type, { short: `${status}/${reason}`, message }]),
  )
}

describe('a DataPlane', () => {
  const table: { says: string; given: Parameters<typeof says>[0]; want: Record<string, string>; message?: RegExp }[] = [
    {
      says: 'is accepted, installed and permitted',
      given: {},
      want: { Accepted: 'True/Accepted', Installed: 'True/Installed', Permitted: 'True/Permitted' },
    },
    {
      says: 'tells its first errors and counts the rest',
      given: { compiled: { errors: ['a', 'b', 'c', 'd', 'e'].map(error) } },
      want: { Accepted: 'False/InvalidTemplate', Installed: 'True/Installed' },
      message: /^a, column 3: no; b, column 3: no; c, column 3: no; and 2 more$/,
    },
    {
      says: 'with kinds that are not allowed is asked nothing more',
      given: { compiled: { refusedKinds: ['Secret (v1)'] }, kinds: [] },
      want: { Accepted: 'False/KindNotAllowed', Installed: 'Unknown/NotAccepted', Permitted: 'Unknown/NotAccepted' },
      message: /Secret \(v1\)/,
    },
    {
      says: 'that lost some ties is accepted and says to whom',
      given: { lost: [{ pattern: '*', to: 'older' }] },
      want: { Accepted: 'True/Accepted' },
      message: /\* by DataPlane older/,
    },
    {
      says: 'that lost all its ties is not',
      given: { lost: ['*', 'eu-*'].map((pattern) => ({ pattern, to: 'older' })) },
      want: { Accepted: 'False/LocationsServedByAnother' },
      message: /\* by DataPlane older, eu-\* by DataPlane older/,
    },
    {
      says: 'waits for its kind',
      given: { kinds: [{ ref, state: 'unserved' }], reviewed: { is: 'not asked' } },
      want: { Installed: 'False/KindNotServed', Permitted: 'Unknown/NotInstalled' },
    },
    {
      says: 'does not know of a kind that could not be asked for',
      given: { kinds: [{ ref, state: 'unknown' }], reviewed: { is: 'not asked' } },
      want: { Installed: 'Unknown/DiscoveryFailed', Permitted: 'Unknown/NotInstalled' },
    },
    {
      says: 'cannot use a kind without namespaces',
      given: { kinds: [{ ref, state: 'not-namespaced' }], reviewed: { is: 'not asked' } },
      want: { Installed: 'False/KindNotNamespaced', Permitted: 'Unknown/NotInstalled' },
    },
    {
      says: 'says what is not permitted',
      given: { reviewed: { is: 'done', missing: [{ kind, verbs: ['create', 'delete'] }] } },
      want: { Permitted: 'False/NotPermitted' },
    },
    {
      says: 'says that nobody could be asked about permissions',
      given: { reviewed: { is: 'failed', message: 'no answer' } },
      want: { Permitted: 'Unknown/ReviewFailed' },
    },
  ]
  for (const { says: name, given, want, message } of table) {
    test(name, () => {
      const said = says(given)
      for (const [type, short] of Object.entries(want)) assert.equal(said[type]?.short, short)
      if (message) assert.match(said.Accepted?.message ?? '', message)
    })
  }
  test('names the permission and where to grant it', () => {
    const { Permitted } = says({ reviewed: { is: 'done', missing: [{ kind, verbs: ['create', 'delete'] }] } })
    assert.equal(
      Permitted?.message,
      'NSO may not create, delete wires.planes.example.dev: grant it in a ClusterRole with the label networking.datumapis.com/aggregate-to-nso: "true"',
    )
  })
})
