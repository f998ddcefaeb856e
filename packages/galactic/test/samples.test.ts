import assert from 'node:assert/strict'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { installManifests } from 'kube-localplane'
import { applySample, messageOf, readSamples } from 'kube-localplane/samples'
import { sharedPlane, type TestNamespace, testNamespace } from 'kube-localplane/testing'
import { galacticManifests } from '../src/manifests.ts'

const folder = path.join(import.meta.dirname, '..', 'testdata', 'samples')
const plane = await sharedPlane()
const valid = await readSamples(path.join(folder, 'valid'))
const invalid = await readSamples(path.join(folder, 'invalid'))

describe('samples', () => {
  let space: TestNamespace
  before(async () => {
    const { crds, local } = galacticManifests()
    await installManifests(plane, [...crds, ...local])
    space = await testNamespace(plane, 'samples')
  })
  after(async () => await space[Symbol.asyncDispose]())

  for (const sample of valid)
    test(`accepted: ${sample.file}`, async () => {
      assert.equal(sample.error, undefined)
      const answer = await applySample(plane.connection, space.name, sample)
      assert.ok(answer.status < 300, messageOf(answer))
    })

  for (const sample of invalid)
    test(`refused: ${sample.file}`, async () => {
      assert.ok(sample.error, 'the file names the error it must get')
      const answer = await applySample(plane.connection, space.name, sample)
      assert.equal(answer.status, 422, messageOf(answer))
      assert.ok(messageOf(answer).includes(sample.error), messageOf(answer))
    })
})
