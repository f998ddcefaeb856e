import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseManifests, stages } from './install-manifests.ts'

const object = (apiVersion: string, kind: string, name = kind) => ({ apiVersion, kind, metadata: { name } })

test('what others need comes first, what a definition may have brought comes last, else the order is kept', () => {
  const given = [
    object('example.dev/v1', 'Gizmo'),
    object('v1', 'ConfigMap', 'b'),
    object('apps/v1', 'Deployment', 'a'),
    object('apiextensions.k8s.io/v1', 'CustomResourceDefinition'),
    object('admissionregistration.k8s.io/v1', 'ValidatingAdmissionPolicy'),
    object('v1', 'Namespace'),
  ]
  assert.deepEqual(
    stages(given).map((stage) => stage.map(({ metadata }) => metadata.name)),
    [['CustomResourceDefinition', 'Namespace'], ['b', 'a', 'ValidatingAdmissionPolicy'], ['Gizmo']],
  )
})

const texts: { says: string; text: string; want: string[] }[] = [
  { says: 'several documents', text: 'kind: A\nmetadata: {name: a}\n---\nkind: B\nmetadata: {name: b}\n', want: ['a', 'b'] },
  { says: 'empty documents and comments', text: '---\n# nothing\n---\nkind: A\nmetadata: {name: a}\n---\n', want: ['a'] },
  {
    says: 'a list, also in a list',
    text: 'kind: List\nitems: [{kind: A, metadata: {name: a}}, {kind: BList, items: [{kind: B, metadata: {name: b}}]}]',
    want: ['a', 'b'],
  },
  { says: 'JSON', text: '{"kind":"A","metadata":{"name":"a"}}', want: ['a'] },
  { says: 'nothing', text: '', want: [] },
]
for (const { says, text, want } of texts) {
  test(`manifests may be ${says}`, () => {
    assert.deepEqual(
      parseManifests(text).map(({ metadata }) => metadata.name),
      want,
    )
  })
}

test('a manifest that is no YAML is refused with the place', () => {
  assert.throws(() => parseManifests('kind: A\nmetadata: {name'), /line 2/)
})
