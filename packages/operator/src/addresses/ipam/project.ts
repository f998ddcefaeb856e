/** Which project of the address service a namespace belongs to, and which namespace it is there: two labels say it. Pure. */
import { labels } from '@nso/api'
import type { Kind, KubeObject } from 'kube-control-loop'
import { advice } from '../../messages.ts'

/** `v1` Namespace, of which only the labels are read. */
export const Namespace: Kind = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', scope: 'Cluster' }

/** What is read of one: a cluster may have many, with whatever annotations. */
export function labelsOnly(namespace: KubeObject): KubeObject {
  const { apiVersion, kind, metadata, spec } = namespace
  const { name, uid = '', resourceVersion = '', labels: written = {} } = metadata
  return { apiVersion, kind, metadata: { name, uid, resourceVersion, labels: written }, spec }
}

/** `name` is for messages and metrics; `namespace` is where the claims are made. */
export type Project = { readonly name: string; readonly namespace: string }

export type ProjectAnswer =
  | { readonly kind: 'resolved'; readonly project: Project }
  | { readonly kind: 'refused'; readonly reason: 'ProjectUnresolved'; readonly message: string }

const clusterPrefix = 'cluster-'

/** Reads a project's name out of its label: `/` is written `_` there, behind `cluster-`. */
export function decodeProject(label: string): string {
  const text = label.replaceAll('_', '/')
  const name = text.startsWith(clusterPrefix) ? text.slice(clusterPrefix.length) : text
  return name.startsWith('/') ? name.slice(1) : name
}

/** `stored`: the namespace as it stands; undefined is answered like one without labels. */
export function projectOf(namespace: string, stored: Pick<KubeObject, 'metadata'> | undefined): ProjectAnswer {
  const found = stored?.metadata.labels ?? {}
  const missing = [labels.upstreamCluster, labels.upstreamNamespace].filter((key) => !found[key])
  const name = decodeProject(found[labels.upstreamCluster] ?? '')
  if (missing.length === 0 && name !== '') {
    return { kind: 'resolved', project: { name, namespace: found[labels.upstreamNamespace] ?? '' } }
  }
  const what =
    missing.length > 0 ? `has no label ${missing.join(' and none ')}` : `has a label ${labels.upstreamCluster} that names none`
  const message = advice(`Namespace ${namespace} ${what}, so its project is not known`, 'set both labels on the namespace')
  return { kind: 'refused', reason: 'ProjectUnresolved', message }
}
