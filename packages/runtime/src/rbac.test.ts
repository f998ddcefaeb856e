import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OwnershipTable } from './ownership.ts'
import { rulesFor } from './rbac.ts'

const kind = (name: string) =>
  ({ group: 'g.dev', version: 'v1', kind: name, plural: `${name.toLowerCase()}s`, scope: 'Namespaced' }) as const
const owns = (identity: string) => ({ writer: `${identity}-manager`, identity, owns: ['phase'], when: '' })

const table: OwnershipTable = [
  {
    kind: kind('Own'),
    status: [owns('app')],
    metadata: [
      { path: 'spec', writer: 'user', identity: 'user', when: '' },
      { path: 'metadata.finalizers/f', writer: 'app', identity: 'app', when: '', verbs: ['patch'] },
    ],
  },
  {
    kind: kind('Child'),
    status: [owns('other')],
    metadata: [{ path: 'spec', writer: 'app', identity: 'app', when: '', verbs: ['delete', 'create'] }],
  },
]

const can = (identity: string) =>
  rulesFor(identity, table, [{ group: '', resources: ['namespaces'], verbs: ['get', 'list'] }])
    .flatMap(({ apiGroups, resources, verbs }) => resources.map((resource) => `${apiGroups}/${resource}: ${verbs.join(' ')}`))
    .sort()

test('an identity reads the kinds of its table and writes what its rows say', () => {
  assert.deepEqual(can('app'), [
    '/namespaces: get list',
    'g.dev/childs: get list watch create delete',
    'g.dev/owns/status: get patch',
    'g.dev/owns: get list watch patch',
  ])
})

test('a grant on named objects is a rule of its own, and gives nothing on others', () => {
  const named = { group: 'r.dev', resources: ['roles'], verbs: ['get', 'watch'], resourceNames: ['one'] }
  const rules = rulesFor('nobody', [], [named, { group: 'r.dev', resources: ['maps'], verbs: ['get', 'watch'] }])
  assert.deepEqual(rules, [
    { apiGroups: ['r.dev'], resources: ['maps'], verbs: ['get', 'watch'] },
    { apiGroups: ['r.dev'], resources: ['roles'], verbs: ['get', 'watch'], resourceNames: ['one'] },
  ])
})

test('a writer of status may change the object too: only there can managedFields be put right; the status of another it may not', () => {
  assert.deepEqual(can('other'), [
    '/namespaces: get list',
    'g.dev/childs/status: get patch',
    'g.dev/childs: get list watch patch',
    'g.dev/owns: get list watch',
  ])
})
