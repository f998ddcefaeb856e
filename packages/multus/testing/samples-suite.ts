/** Manifests as data: what the API server takes of an application's kinds, and what it refuses with which words. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Manifest } from 'kube-control-loop'
import { installManifests } from 'kube-localplane'
import { applySample, messageOf, readSamples, type Sample } from 'kube-localplane/samples'
import { sharedPlane, type TestNamespace, testNamespace } from 'kube-localplane/testing'

/** `folder` holds `valid` and `invalid`; `crds` are installed first. */
export async function testSamples(folder: string, crds: readonly Manifest[]): Promise<void> {
  const plane = await sharedPlane()
  const [valid, invalid] = await Promise.all(['valid', 'invalid'].map((kind) => readSamples(join(folder, kind))))
  assert.ok(valid?.length && invalid?.length)
  describe('samples', () => {
    let space: TestNamespace
    before(async () => {
      await installManifests(plane, crds as never)
      space = await testNamespace(plane, 'samples')
    })
    after(async () => await space[Symbol.asyncDispose]())
    const answerTo = (sample: Sample) => applySample(plane.connection, space.name, sample)

    for (const sample of valid)
      test(`accepted: ${sample.file}`, async () => {
        assert.equal(sample.error, undefined)
        const answer = await answerTo(sample)
        assert.ok(answer.status < 300, messageOf(answer))
      })

    for (const sample of invalid)
      test(`refused: ${sample.file}`, async () => {
        assert.ok(sample.error, 'the file names the error it must get')
        const answer = await answerTo(sample)
        assert.equal(answer.status, 422, messageOf(answer))
        assert.ok(messageOf(answer).includes(sample.error), messageOf(answer))
      })
  })
}
