/**
 * Adds the claim's finalizer at creation, so that it costs no write. An accelerator: where it is absent or late, the claim
 * controller adds the finalizer by itself. Patch form, since the apply form is refused for some seconds after a CRD appears.
 * Source: KEP-3962.
 */
import type { Manifest } from 'kube-control-loop'
import { NetworkInterfaceClaim } from './kinds/network-interface-claim.ts'
import { finalizers } from './names.ts'

const admission = 'admissionregistration.k8s.io/v1'
const name = 'nso-claim-finalizer'
const wanted = `'${finalizers.claim}'`

const expression = [
  'has(object.metadata.finalizers)',
  `? [JSONPatch{op: 'add', path: '/metadata/finalizers/-', value: ${wanted}}]`,
  `: [JSONPatch{op: 'add', path: '/metadata/finalizers', value: [${wanted}]}]`,
].join(' ')

export const claimFinalizerPolicy: Manifest = {
  apiVersion: admission,
  kind: 'MutatingAdmissionPolicy',
  metadata: { name },
  spec: {
    matchConstraints: {
      resourceRules: [
        {
          apiGroups: [NetworkInterfaceClaim.group],
          apiVersions: [NetworkInterfaceClaim.version],
          operations: ['CREATE'],
          resources: [NetworkInterfaceClaim.plural],
        },
      ],
    },
    matchConditions: [
      {
        name: 'finalizer-is-missing',
        expression: `!has(object.metadata.finalizers) || !object.metadata.finalizers.exists(f, f == ${wanted})`,
      },
    ],
    failurePolicy: 'Ignore',
    reinvocationPolicy: 'Never',
    mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression } }],
  },
}

export const claimFinalizerBinding: Manifest = {
  apiVersion: admission,
  kind: 'MutatingAdmissionPolicyBinding',
  metadata: { name },
  spec: { policyName: name },
}
