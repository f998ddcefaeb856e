/** What the bridge controllers may do, with their own manifests and nothing else. */
import { testPermissions } from 'kube-multus/testing/planes'
import { ownership } from '../src/api/index.ts'
import { bridgeAccount, bridgeManifestFiles, bridgeManifests } from '../src/manifests.ts'

const { crds, rbac } = bridgeManifests()

testPermissions({
  ...{ crds, rbac, account: bridgeAccount, files: bridgeManifestFiles() },
  // Of its table; Pods; events; and leases, to be elected.
  groups: [...ownership.map(({ kind }) => kind.group), '', 'events.k8s.io', 'coordination.k8s.io'],
  own: { group: 'bridge.datumapis.com', resource: 'bridgenetworks' },
})
