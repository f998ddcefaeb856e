/** A kind of these tests' own. */
import type { KubeObject } from 'kube-localplane'

/** Each call gives another group, so that each test's kind is new. */
export function definition(): { name: { group: string }; object: KubeObject } {
  const group = `g${crypto.randomUUID().slice(0, 8)}.example.dev`
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  const object = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `gizmos.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind: 'Gizmo', plural: 'gizmos', singular: 'gizmo' },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  }
  return { name: { group }, object }
}

export function gizmo(of: { group: string; name: string; namespace?: string; owners?: object[] }): KubeObject {
  const metadata = {
    name: of.name,
    ...(of.namespace ? { namespace: of.namespace } : {}),
    ...(of.owners ? { ownerReferences: of.owners } : {}),
  }
  return { apiVersion: `${of.group}/v1`, kind: 'Gizmo', metadata }
}
