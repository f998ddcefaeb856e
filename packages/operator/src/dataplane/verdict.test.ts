import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type DataPlane, dataPlaneConditions } from '@nso/api'
import type { CompiledSpec } from './plane.ts'
import { TemplateError } from './template.ts'
import { eventsFor, intentFor, type SeenPlane } from './verdict.ts'

const ref = { apiVersion: 'planes.example.dev/v1', kind: 'Wire' }
const kind = { group: 'planes.example.dev', version: 'v1', kind: 'Wire', plural: 'wires', scope: 'Namespaced' } as const
const error = (path: string) => new TemplateError(path, 3, 'no')

/** The end of a message that says what to do. */
const remedy = /: (name|install|correct|change|wait|see|grant) [^:]+(: "true")?$/

const contracted = (contract: string) =>
  ({ metadata: { name: 'toy', generation: 4 }, spec: { locations: ['*'], contract } }) as unknown as DataPlane

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
      message: /^a, column 3: no; b, column 3: no; c, column 3: no; and 2 more: correct the DataPlane$/,
    },
    {
      says: 'with unknown fields tells the first of them, counts the rest, and says what to do',
      given: { unknownFields: ['a', 'b', 'c', 'd'].map(error), lost: [{ pattern: '*', to: 'older' }] },
      want: { Accepted: 'False/UnknownField', Installed: 'True/Installed', Permitted: 'True/Permitted' },
      message:
        /^a, column 3: no; b, column 3: no; c, column 3: no; and 1 more: correct the DataPlane, or install the version of the definition that has the field$/,
    },
    {
      says: 'repeats what an earlier process said of unknown fields, word for word',
      given: { standingRefusal: 'a: no: correct the DataPlane', unknownFields: [error('b')] },
      want: { Accepted: 'False/UnknownField' },
      message: /^a: no: correct the DataPlane$/,
    },
    {
      says: 'whose templates do not compile has no other fault yet',
      given: { compiled: { errors: [error('a')] }, unknownFields: [error('b')] },
      want: { Accepted: 'False/InvalidTemplate' },
      message: /^a, column 3: no: correct the DataPlane$/,
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
      says: 'that is being deleted says so before all else, and what it waits for',
      given: {
        leaving: 'Waits for a, b: wait for them to go, or delete their claims',
        compiled: { errors: [error('a')], refusedKinds: ['Secret (v1)'] },
      },
      want: { Accepted: 'False/Deleting' },
      message: /^Being deleted; takes no new interfaces\. Waits for a, b: wait for them to go, or delete their claims$/,
    },
    {
      says: 'of a contract that is not known says which are, whatever its templates are',
      given: { object: contracted('v2'), compiled: { errors: [error('a')] } },
      want: { Accepted: 'False/ContractUnsupported', Installed: 'True/Installed', Permitted: 'True/Permitted' },
      message: /^Contract v2 is not known; this NSO knows v1: install a newer NSO, or a DataPlane for v1$/,
    },
    { says: 'of a known contract is accepted', given: { object: contracted('v1') }, want: { Accepted: 'True/Accepted' } },
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
      for (const [type, { short, message: told = '' }] of Object.entries(said)) {
        // What is being asked for has nothing to be done about it.
        if (!short.startsWith('True/') && short !== 'Unknown/Pending')
          assert.match(told, remedy, `${type} says what to do: ${told}`)
      }
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

describe('an event is told', () => {
  const condition = (type: string, is: 'True' | 'False' | 'Unknown', reason: string) => ({
    type,
    status: is,
    reason,
    message: 'why',
  })
  const told = (stands: object[], intent: object[]) =>
    eventsFor({ status: { conditions: stands } } as never, { conditions: intent } as never).map(({ type, reason }) =>
      type === 'Warning' ? reason : `${type} ${reason}`,
    )
  const unserved = condition('Installed', 'False', 'KindNotServed')
  const table: { says: string; stands: object[]; intent: object[]; want: string[] }[] = [
    {
      says: 'when a condition turns False',
      stands: [condition('Installed', 'True', 'Installed')],
      intent: [unserved],
      want: ['KindNotServed'],
    },
    { says: 'when nothing was said before', stands: [], intent: [unserved], want: ['KindNotServed'] },
    {
      says: 'when it is False for another reason now',
      stands: [condition('Installed', 'False', 'KindNotNamespaced')],
      intent: [unserved],
      want: ['KindNotServed'],
    },
    { says: 'not when that was said before', stands: [unserved], intent: [unserved], want: [] },
    {
      says: 'though the same was said of another condition',
      stands: [condition('Permitted', 'False', 'KindNotServed')],
      intent: [unserved],
      want: ['KindNotServed'],
    },
    {
      says: 'when a condition is True again',
      stands: [unserved],
      intent: [condition('Installed', 'True', 'Installed')],
      want: ['Normal Installed'],
    },
    {
      says: 'not when what was False is not known now',
      stands: [unserved],
      intent: [condition('Installed', 'Unknown', 'DiscoveryFailed')],
      want: [],
    },
    {
      says: 'not when it is True or not known',
      stands: [],
      intent: [condition('Accepted', 'True', 'Accepted'), condition('Installed', 'Unknown', 'DiscoveryFailed')],
      want: [],
    },
    { says: 'not of its deletion', stands: [], intent: [condition('Accepted', 'False', 'Deleting')], want: [] },
  ]
  for (const { says, stands, intent, want } of table) test(says, () => assert.deepEqual(told(stands, intent), want))
  test('with what the condition says', () =>
    assert.deepEqual(eventsFor({} as never, { conditions: [unserved] } as never), [
      { type: 'Warning', reason: 'KindNotServed', action: 'UseDataPlane', message: 'why' },
    ]))
})
