// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the strings are templates of a DataPlane
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import type { DataPlane } from '@nso/api'
import { parseManifests } from 'kube-localplane'
import { compileSpec } from './plane.ts'

test('the DataPlane that is delivered for the first data plane compiles', async () => {
  const text = await readFile(new URL('../../../../deploy/data-planes/galactic.yaml', import.meta.url), 'utf8')
  const plane = parseManifests(text).find(({ kind }) => kind === 'DataPlane') as unknown as DataPlane
  const { errors, refusedKinds } = compileSpec(plane.spec)
  assert.deepEqual([errors, refusedKinds], [[], []])
})
