/** What the API server takes of the kinds of this package, and what it refuses. */
import { join } from 'node:path'
import { testSamples } from 'kube-multus/testing/planes'
import { galacticManifests } from '../src/manifests.ts'

const { crds, local } = galacticManifests()
await testSamples(join(import.meta.dirname, '..', 'testdata', 'samples'), [...crds, ...local])
