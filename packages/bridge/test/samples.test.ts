/** What the API server takes of the kinds of this package, and what it refuses. */
import { join } from 'node:path'
import { testSamples } from 'kube-multus/testing/planes'
import { bridgeManifests } from '../src/manifests.ts'

const { crds, local } = bridgeManifests()
await testSamples(join(import.meta.dirname, '..', 'testdata', 'samples'), [...crds, ...local])
