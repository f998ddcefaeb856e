import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ownershipParameters } from 'kube-control-loop'
import { ownershipGaps } from 'kube-control-loop/testing'
import { enforcement } from '../enforcement.ts'
import { galacticManifestFiles, galacticManifests, kinds, localKinds, localManifestFiles } from '../manifests.ts'
import { conditionsByKind } from './conditions.ts'
import { type AttachmentStatusIntent, ownership } from './ownership.ts'

test('every status path of every kind has one documented writer or is reserved, and nothing else is documented', () => {
  const none = { kinds: [], undocumented: [], unknown: [], twice: [], unkeyed: [] }
  assert.deepEqual(ownershipGaps([...kinds, ...localKinds], ownership, conditionsByKind), none)
})

test('an intent with a field that nobody writes does not compile', () => {
  // @ts-expect-error: podName is reserved
  const intent: AttachmentStatusIntent = { podName: 'pod', conditions: [] }
  assert.ok(intent)
})

test('there is a definition for each kind, and each object is in exactly one file', () => {
  const { crds, rbac, local, ownership: policies } = galacticManifests()
  assert.deepEqual(
    [...galacticManifestFiles(), ...localManifestFiles()].flatMap(({ objects }) => objects),
    [...crds, ...rbac, ...policies, ownershipParameters(enforcement, 'Deny'), ...local],
  )
})

test('no permission is wildcarded, and none writes what routers and node agents write', () => {
  const rules = galacticManifests().rbac.flatMap((object) => (Array.isArray(object.rules) ? object.rules : []))
  const text = JSON.stringify(rules)
  assert.ok(!text.includes('"*"'))
  const onRouting = rules.filter(({ apiGroups }) => apiGroups.includes('network.datumapis.com')).flatMap(({ verbs }) => verbs)
  assert.deepEqual([...new Set(onRouting)], ['get', 'list', 'watch'])
})
