/** What Galactic may do, with its own manifests and nothing else. */
import { testPermissions } from 'kube-multus/testing/planes'
import { ownership } from '../src/api/index.ts'
import { galacticAccount, galacticManifestFiles, galacticManifests } from '../src/manifests.ts'

const { crds, rbac } = galacticManifests()

testPermissions({
  ...{ crds, rbac, account: galacticAccount, files: galacticManifestFiles() },
  // Of its table; events; and leases, to be elected.
  groups: [...ownership.map(({ kind }) => kind.group), 'events.k8s.io', 'coordination.k8s.io'],
  own: { group: 'cloud.datumapis.com', resource: 'vpcs' },
})
