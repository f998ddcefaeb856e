import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Manifest } from '../manifest.ts'
import type { OwnershipTable, ResourceOwnership } from '../ownership.ts'
import { quoted } from './cel.ts'
import { enforcedKind, enforcedKinds, reservedManagers } from './enforced.ts'
import { type OwnershipEnforcement, ownershipParameters, ownershipPolicies } from './policy.ts'

const kind = (name: string) => ({
  ...{ group: 'widgets.example.dev', version: 'v1', kind: name, plural: `${name.toLowerCase()}s`, scope: 'Namespaced' as const },
})

const widget: ResourceOwnership = {
  kind: kind('Widget'),
  status: [
    { writer: 'painter', identity: 'app', owns: ['color', 'conditions/Dry'], when: '', formerly: ['brush', ''] },
    { writer: 'holder', identity: 'holder', anyManager: true, owns: ['conditions/Held'], when: '' },
    { writer: 'router', identity: 'router', owns: ['route', 'conditions/Routed'], when: '' },
  ],
  metadata: [
    { path: 'spec', writer: 'user', identity: 'user', when: '' },
    { path: 'metadata.finalizers/example.dev/wet', writer: 'painter', identity: 'app', when: '' },
    { path: 'metadata.annotations/example.dev/tone', writer: 'painter', identity: 'app', when: '' },
    { path: 'metadata.annotations/example.dev/tone', writer: 'mixer', identity: 'app', when: '' },
    { path: 'metadata.labels', writer: 'mixer', identity: 'app', when: '', shared: true },
    { path: 'deletion', writer: 'mixer', identity: 'app', when: '' },
  ],
  reserved: [{ path: 'gloss', why: 'not built' }],
}
const gadget: ResourceOwnership = {
  kind: kind('Gadget'),
  marked: 'example.dev/ours',
  status: [],
  metadata: [{ path: 'spec', writer: 'mixer', identity: 'app', when: '' }],
}
const foreign: ResourceOwnership = {
  kind: kind('Foreign'),
  status: [{ writer: 'router', identity: 'router', owns: ['conditions/*'], when: '' }],
  metadata: [],
}
const table: OwnershipTable = [widget, gadget, foreign]
const enforcement: OwnershipEnforcement = {
  app: 'example',
  namespace: 'here',
  table,
  identities: { app: ['u1', 'u2'], holder: [] },
}
const closed = Object.keys(enforcement.identities)

const named = (objects: readonly Manifest[], name: string) => {
  const found = objects.find(({ metadata }) => metadata.name === name)
  assert.ok(found, name)
  return found
}
type Spec = {
  matchConstraints: { resourceRules: { resources: string[]; operations: string[] }[] }
  matchConditions?: { name: string; expression: string }[]
  variables: { name: string; expression: string }[]
  validations: { expression: string; messageExpression: string; reason: string }[]
}
const specOf = (policies: readonly Manifest[], plural: string) => named(policies, `example-owners-${plural}`).spec as Spec

test('paths of closed identities are enforced, each with all its writers; shared ones, deletion and open identities are not', () => {
  const groups = enforcedKind(widget, closed)?.groups
  assert.deepEqual(
    groups?.map(({ on, paths, passes }) => ({ on, paths, by: passes.map(({ managers }) => managers) })),
    [
      { on: 'status', paths: ['color', 'conditions/Dry'], by: [['painter', 'brush', '']] },
      { on: 'status', paths: ['conditions/Held'], by: [['holder']] },
      { on: 'status', paths: ['gloss'], by: [] },
      { on: 'metadata', paths: ['metadata.finalizers/example.dev/wet'], by: [['painter']] },
      { on: 'metadata', paths: ['metadata.annotations/example.dev/tone'], by: [['painter'], ['mixer']] },
    ],
  )
  assert.deepEqual(
    enforcedKinds(table, closed).map(({ kind: { kind } }) => kind),
    ['Widget', 'Gadget'],
  )
})

test('a path with an open writer among its writers is open', () => {
  const row: ResourceOwnership = {
    ...gadget,
    metadata: [...gadget.metadata, { path: 'spec', writer: 'user', identity: 'user', when: '' }],
  }
  assert.equal(enforcedKind(row, closed), undefined)
})

test('names of the table are reserved for their identity; one that chooses its own has none', () => {
  assert.deepEqual([...reservedManagers(table, closed)], [['app', ['mixer', 'painter']]])
})

test('a policy judges creations and updates of the object and of its status, and knows its writers by identity and name', () => {
  const policies = ownershipPolicies(enforcement)
  const { matchConstraints, matchConditions, validations, variables } = specOf(policies, 'widgets')
  assert.deepEqual(matchConstraints.resourceRules[0]?.resources, ['widgets', 'widgets/status'])
  assert.deepEqual(matchConstraints.resourceRules[0]?.operations, ['CREATE', 'UPDATE'])
  assert.equal(matchConditions, undefined)
  assert.deepEqual(
    validations.map(({ expression, reason }) => ({ expression, reason })),
    [
      {
        expression: `variables.isAllowed || params.?data.?breakGlassGroup.orValue('') in request.userInfo.?groups.orValue([])`,
        reason: 'Forbidden',
      },
    ],
  )
  const isAllowed = variables.find(({ name }) => name === 'isAllowed')?.expression.split('\n&& ')
  const same = (id: string) => `(size(variables.changed_${id}) == 0 && size(variables.joined_${id}) == 0)`
  assert.deepEqual(isAllowed, [
    `((!(variables.manager in ['mixer', 'painter']) || variables.is_app)`,
    `((variables.manager in ['painter', 'brush', ''] && variables.is_app) || ${same('status1')})`,
    `((!(variables.manager in ['mixer', 'painter']) && variables.is_holder) || ${same('status2')})`,
    `(${same('reserved')})`,
    `((variables.manager in ['painter'] && variables.is_app) || ${same('metadata1')})`,
    `((variables.manager in ['painter'] && variables.is_app) || (variables.manager in ['mixer'] && variables.is_app) || ${same('metadata2')}))`,
  ])
})

test('the message, which the server evaluates for every write, asks first whether there is anything to say', () => {
  for (const plural of ['widgets', 'gadgets'])
    assert.match(
      specOf(ownershipPolicies(enforcement), plural).validations[0]?.messageExpression ?? '',
      /^variables\.isAllowed \? ""\n/,
    )
})

test('every enforced path stands in what is compared and in who owns it, and each variable only uses earlier ones', () => {
  for (const plural of ['widgets', 'gadgets']) {
    const { variables, validations } = specOf(ownershipPolicies(enforcement), plural)
    const text = (prefix: string) =>
      variables
        .filter(({ name }) => name.startsWith(prefix))
        .map(({ expression }) => expression)
        .join('\n')
    const row = enforcedKinds(table, closed).find((each) => each.kind.plural === plural)
    for (const path of row?.groups.flatMap(({ paths }) => paths) ?? []) {
      const last = path === 'spec' ? 'spec' : path.replace(/^conditions\//, '').replace(/^metadata\.[a-z]+\//, '')
      assert.ok(text('changed_').includes(last), `${path} is compared`)
      assert.ok(text('joined_').includes(last), `${path} is looked up in managedFields`)
    }
    const known = new Set<string>()
    for (const { name, expression } of variables) {
      for (const [, used = ''] of expression.matchAll(/variables\.(\w+)/g)) assert.ok(known.has(used), `${used} before ${name}`)
      known.add(name)
    }
    for (const { expression, messageExpression } of validations)
      for (const [, used = ''] of `${expression} ${messageExpression}`.matchAll(/variables\.(\w+)/g))
        assert.ok(known.has(used), used)
  }
})

test('of a marked kind only objects with the label are judged, before or after the write', () => {
  const { variables, matchConstraints } = specOf(ownershipPolicies(enforcement), 'gadgets')
  const isAllowed = variables.find(({ name }) => name === 'isAllowed')?.expression ?? ''
  assert.match(isAllowed, /^!\('example.dev\/ours' in variables\.now\..*\|\| 'example.dev\/ours' in variables\.was\./)
  assert.deepEqual(matchConstraints.resourceRules[0]?.resources, ['gadgets'])
})

test('one label of the parameters chooses between the bindings that refuse and those that count', () => {
  const policies = ownershipPolicies(enforcement)
  const selected = (name: string) => {
    const { spec } = named(policies, name) as Manifest & {
      spec: { validationActions: string[]; paramRef: { selector: { matchLabels: Record<string, string> } } }
    }
    return { actions: spec.validationActions, labels: spec.paramRef.selector.matchLabels }
  }
  for (const [mode, actions] of [
    ['Deny', ['Deny', 'Audit']],
    ['Audit', ['Audit']],
  ] as const) {
    const { metadata } = ownershipParameters(enforcement, mode)
    const binding = selected(`example-owners-widgets-${mode.toLowerCase()}`)
    assert.deepEqual(binding.actions, actions)
    assert.deepEqual(binding.labels, metadata.labels)
  }
  const { metadata } = ownershipParameters(enforcement, 'Off')
  for (const mode of ['deny', 'audit']) assert.notDeepEqual(selected(`example-owners-widgets-${mode}`).labels, metadata.labels)
})

test('the parameters hold each identity’s users and the break-glass group', () => {
  assert.deepEqual(ownershipParameters(enforcement, 'Deny').data, {
    app: 'u1\nu2',
    holder: '',
    breakGlassGroup: 'ownership:break-glass',
  })
})

test('any text becomes a literal that ends where it should', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const literal = quoted(text)
      assert.match(literal, /^'(?:[^'\\\n\r]|\\.)*'$/su)
      const inside = literal
        .slice(1, -1)
        .replaceAll("\\'", "'")
        .replaceAll(/\\u([0-9a-f]{4})|\\(.)|(")/g, (whole, _u, _c, quote) => (quote ? '\\"' : whole))
      assert.equal(JSON.parse(`"${inside}"`), text)
    }),
  )
})
