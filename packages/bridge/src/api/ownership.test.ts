import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ownershipParameters } from 'kube-control-loop'
import { looseListKeys, ownershipGaps } from 'kube-control-loop/testing'
import { enforcement } from '../enforcement.ts'
import { bridgeManifestFiles, bridgeManifests, kinds, localKinds } from '../manifests.ts'
import { conditionsByKind } from './conditions.ts'
import { type AttachmentStatusIntent, ownership } from './ownership.ts'

test('every status path of every kind has one documented writer, and nothing else is documented', () => {
  const none = { kinds: [], undocumented: [], unknown: [], twice: [], unkeyed: [] }
  assert.deepEqual(ownershipGaps([...kinds, ...localKinds], ownership, conditionsByKind), none)
})

test('an intent without its conditions does not compile, since that would delete them', () => {
  // @ts-expect-error: conditions are left out
  const intent: AttachmentStatusIntent = { bridge: 'kb-1' }
  assert.ok(intent)
})

test('B05: in every list that is merged by key, each entry must say its key', () => {
  for (const crd of bridgeManifests().crds) assert.deepEqual(looseListKeys(crd), [], crd.metadata.name)
})

test('each object that is installed is in exactly one file', () => {
  const { crds, rbac, ownership: policies } = bridgeManifests()
  assert.deepEqual(
    bridgeManifestFiles().flatMap(({ objects }) => objects),
    [...crds, ...rbac, ...policies, ownershipParameters(enforcement, 'Deny')],
  )
})

test('no permission is wildcarded, and Pods are only read', () => {
  const rules = bridgeManifests().rbac.flatMap((object) => (Array.isArray(object.rules) ? object.rules : []))
  assert.ok(!JSON.stringify(rules).includes('"*"'))
  const onPods = rules.filter(({ resources }) => resources.some((resource: string) => resource.startsWith('pods')))
  assert.deepEqual(onPods, [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] }])
})
