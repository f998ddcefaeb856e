import assert from 'node:assert/strict'
import { test } from 'node:test'
import { looseListKeys } from 'kube-control-loop/testing'
import { crds } from './manifests.ts'

test('B05: in every list that is merged by key, each entry must say its key: none is filled in by a default', () => {
  for (const crd of crds()) assert.deepEqual(looseListKeys(crd), [], crd.metadata.name)
})
