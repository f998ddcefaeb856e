import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Manifest } from '../manifest.ts'
import type { OwnershipTable, ResourceOwnership } from '../ownership.ts'
import { anyOf, identifier, listOf, quoted, sumOf } from './cel.ts'
import { enforcedKind, enforcedKinds, reservedManagers } from './enforced.ts'
import { aboutParameters, type OwnershipEnforcement, ownershipParameters, ownershipPolicies } from './policy.ts'

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
    { path: 'metadata.annotations/example.dev/coat', writer: 'painter', identity: 'app', when: '' },
    { path: 'metadata.annotations/example.dev/tone', writer: 'painter', identity: 'app', when: '' },
    { path: 'metadata.annotations/example.dev/tone', writer: 'mixer', identity: 'app', when: '' },
    { path: 'metadata.labels', writer: 'mixer', identity: 'app', when: '', shared: true },
    {
      path: 'metadata.annotations',
      writer: 'mixer',
      identity: 'app',
      when: '',
      keys: ['example.dev/hue', 'mixed.example.dev/*'],
    },
    { path: 'deletion', writer: 'mixer', identity: 'app', when: '' },
  ],
  reserved: [{ path: 'gloss', why: 'not built' }],
}
const gadget: ResourceOwnership = {
  kind: kind('Gadget'),
  marked: 'example.dev/ours',
  status: [],
  metadata: [
    { path: 'spec', writer: 'mixer', identity: 'app', when: '' },
    { path: 'metadata.ownerReferences', writer: 'mixer', identity: 'app', when: '' },
    { path: 'metadata.finalizers', writer: 'painter', identity: 'app', when: '' },
    { path: 'metadata.labels', writer: 'painter', identity: 'app', when: '' },
  ],
}
const foreign: ResourceOwnership = {
  kind: kind('Foreign'),
  status: [{ writer: 'router', identity: 'router', owns: ['conditions/*'], when: '' }],
  metadata: [],
}
const gizmo: ResourceOwnership = {
  kind: kind('Gizmo'),
  status: [{ writer: 'mixer', identity: 'app', owns: ['level'], when: '' }],
  metadata: [],
  reserved: [{ path: 'conditions/Later', why: 'not built' }],
}
const unwritten: ResourceOwnership = { ...gizmo, kind: kind('Unwritten'), status: [] }
const doodad: ResourceOwnership = {
  kind: kind('Doodad'),
  status: [],
  metadata: [{ path: 'metadata.finalizers/example.dev/kept', writer: 'mixer', identity: 'app', when: '' }],
}
const table: OwnershipTable = [widget, gadget, gizmo, doodad, foreign, unwritten]
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
      {
        on: 'metadata',
        paths: ['metadata.finalizers/example.dev/wet', 'metadata.annotations/example.dev/coat'],
        by: [['painter']],
      },
      { on: 'metadata', paths: ['metadata.annotations/example.dev/tone'], by: [['painter'], ['mixer']] },
      {
        on: 'metadata',
        paths: ['metadata.annotations/example.dev/hue', 'metadata.annotations/mixed.example.dev/*'],
        by: [['mixer']],
      },
    ],
  )
  assert.deepEqual(
    enforcedKinds(table, closed).map(({ kind: { kind } }) => kind),
    ['Widget', 'Gadget', 'Gizmo', 'Doodad'],
  )
})

test('a path with an open writer among its writers is open', () => {
  const row: ResourceOwnership = {
    ...gadget,
    metadata: ['app', 'user'].map((identity) => ({ path: 'spec', writer: identity, identity, when: '' })),
  }
  assert.equal(enforcedKind(row, closed), undefined)
})

test('names of the table are reserved for their identity; one that chooses its own has none', () => {
  assert.deepEqual([...reservedManagers(table, closed)], [['app', ['mixer', 'painter']]])
})

test('a policy judges creations and updates of the object and of its status, and knows its writers by identity and name', () => {
  const { matchConstraints, matchConditions, validations } = specOf(ownershipPolicies(enforcement), 'widgets')
  assert.deepEqual(matchConstraints.resourceRules[0]?.resources, ['widgets', 'widgets/status'])
  assert.deepEqual(matchConstraints.resourceRules[0]?.operations, ['CREATE', 'UPDATE'])
  assert.deepEqual(
    matchConditions?.map(({ name }) => name),
    ['is-not-plainly-the-writers-own'],
  )
  assert.deepEqual(
    validations.map(({ reason }) => reason),
    ['Forbidden'],
  )
  const [foreign, judged = '', ...free] = (validations[0]?.expression ?? '').split('\n|| ')
  assert.equal(foreign, `params.metadata.name != 'example-ownership'`)
  const group = `params.?data.?breakGlassGroup.orValue('').trim()`
  assert.deepEqual(free, [`(${group} in request.userInfo.?groups.orValue([]) && ${group} != '')`])
  const same = (id: string) => `(size(variables.changed_${id}) == 0 && size(variables.joined_${id}) == 0)`
  assert.deepEqual(judged.split('\n&& '), [
    `((variables.is_app || !(variables.manager in ['mixer', 'painter']))`,
    `((variables.manager in ['painter', 'brush', ''] && variables.is_app) || ${same('status1')})`,
    `((!(variables.manager in ['mixer', 'painter']) && variables.is_holder) || ${same('status2')})`,
    `(${same('reserved')})`,
    `((variables.manager in ['painter'] && variables.is_app) || ${same('metadata1')})`,
    `((variables.manager in ['painter'] && variables.is_app) || (variables.manager in ['mixer'] && variables.is_app) || ${same('metadata2')})`,
    `((variables.manager in ['mixer'] && variables.is_app) || ${same('metadata3')})`,
    `(variables.is_app || size(variables.taken_app) == 0))`,
  ])
})

test('the message, which the server evaluates for every write, asks first whether there is anything to say', () => {
  for (const plural of ['widgets', 'gadgets', 'gizmos', 'doodads']) {
    const { expression = '', messageExpression = '' } = specOf(ownershipPolicies(enforcement), plural).validations[0] ?? {}
    const judged = expression.slice(0, expression.lastIndexOf('\n|| '))
    assert.ok(judged.length > 0 && messageExpression.startsWith(`${judged}\n? ""\n`), plural)
  }
})

test('every enforced path stands in what is compared and in who owns it, and each variable only uses earlier ones', () => {
  for (const plural of ['widgets', 'gadgets', 'gizmos', 'doodads']) {
    const { variables, validations } = specOf(ownershipPolicies(enforcement), plural)
    const text = (prefix: string) =>
      variables
        .filter(({ name }) => name.startsWith(prefix))
        .map(({ expression }) => expression)
        .join('\n')
    const row = enforcedKinds(table, closed).find((each) => each.kind.plural === plural)
    for (const path of row?.groups.flatMap(({ paths }) => paths) ?? []) {
      const last =
        path === 'spec'
          ? 'spec'
          : path
              .replace(/^conditions\//, '')
              .replace(/^metadata\.[a-z]+\//, '')
              .replace(/\*$/, '')
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
  const { validations, matchConstraints } = specOf(ownershipPolicies(enforcement), 'gadgets')
  assert.match(
    validations[0]?.expression ?? '',
    /^params.*\n\|\| !\('example.dev\/ours' in variables\.now\..*\|\| 'example.dev\/ours' in variables\.was\./,
  )
  assert.deepEqual(matchConstraints.resourceRules[0]?.resources, ['gadgets'])
})

type Selector = {
  matchLabels: Record<string, string>
  matchExpressions: { key: string; operator: 'In' | 'NotIn'; values: string[] }[]
}

/** As the API server does. */
const selects = ({ matchLabels, matchExpressions }: Selector, labels: Record<string, string>) =>
  Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
  matchExpressions.every(({ key, operator, values }) => values.includes(labels[key] ?? '') === (operator === 'In'))

test('one label of the parameters chooses between the bindings that refuse and those that count', () => {
  const policies = ownershipPolicies(enforcement)
  const bindings = (['Deny', 'Audit'] as const).map((mode) => {
    const { spec } = named(policies, `example-owners-widgets-${mode.toLowerCase()}`) as Manifest & {
      spec: { validationActions: string[]; paramRef: { selector: Selector } }
    }
    return { actions: spec.validationActions, selector: spec.paramRef.selector }
  })
  const actionsOf = (labels: Record<string, string>) =>
    bindings.flatMap(({ actions, selector }) => (selects(selector, labels) ? actions : []))
  const withMode = (mode: string | undefined) => {
    const { labels = {} } = ownershipParameters(enforcement, 'Deny').metadata
    const { mode: _, ...rest } = labels
    return actionsOf({ ...rest, ...(mode === undefined ? {} : { mode }) })
  }
  for (const mode of ['Deny', 'Audit', 'Off'] as const)
    assert.deepEqual(actionsOf(ownershipParameters(enforcement, mode).metadata.labels ?? {}), withMode(mode))
  assert.deepEqual(withMode('Deny'), ['Deny', 'Audit'])
  assert.deepEqual(withMode('Audit'), ['Audit'])
  assert.deepEqual(withMode('Off'), [])
  for (const mode of ['deny', 'audit', undefined]) assert.deepEqual(withMode(mode), ['Deny', 'Audit'], String(mode))
  assert.deepEqual(actionsOf({ mode: 'Deny' }), [])
})

test('the parameters hold each identity’s users and the break-glass group', () => {
  assert.deepEqual(ownershipParameters(enforcement, 'Deny').data, {
    app: 'u1\nu2',
    holder: '',
    breakGlassGroup: 'ownership:break-glass',
  })
})

const expectedFile = path.join(import.meta.dirname, 'policy.expected.txt')

test('the policies of this table, word by word (UPDATE_GOLDEN=1 writes them anew)', () => {
  const made = [ownershipParameters(enforcement, 'Deny'), ...ownershipPolicies(enforcement), aboutParameters]
  // Line by line, so that a change can be read.
  const text = `${JSON.stringify(made, (_, value) => (typeof value === 'string' && value.includes('\n') ? value.split('\n') : value), 2)}\n`
  if (process.env.UPDATE_GOLDEN) writeFileSync(expectedFile, text)
  assert.equal(text, readFileSync(expectedFile, 'utf8'))
})

test('pieces of expressions: where nothing is given they are still expressions', () => {
  assert.equal(anyOf('a', 'b'), 'a || b')
  assert.equal(anyOf(), 'false')
  assert.equal(sumOf('a', 'b'), 'a\n  + b')
  assert.equal(sumOf(), '[]')
  assert.equal(listOf(['a', "b'"]), "['a', 'b\\'']")
  assert.equal(identifier('data-plane 2'), 'data_plane_2')
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
