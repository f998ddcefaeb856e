/** Bodies of the floor's writes: those of a real claim's chain as they stand, with another name and other groups. */
import { createHash } from 'node:crypto'
import type { KubeObject, OwnerReference } from 'kube-control-loop'
import { inFloorGroups, type Role } from './floor-kinds.ts'

/** One object of the chain as it was stored. */
export type Template = {
  /** JSON of what is POSTed. */
  body: string
  /** JSON of the status that is applied afterwards; absent: none. */
  status?: string
  /** Field managers, as the real writers name themselves. */
  createdBy: string
  appliedBy: string
}

export type Templates = Record<Role, Template>

/** Takes what the server added out of a stored object. */
export function templateOf(stored: KubeObject): Template {
  const { name, namespace, labels, annotations, finalizers, ownerReferences, managedFields = [] } = stored.metadata
  const creator = managedFields.find(({ operation, subresource }) => operation === 'Update' && !subresource)
  const reporter = managedFields.find(({ operation, subresource }) => operation === 'Apply' && subresource === 'status')
  const metadata = { name, namespace, labels, annotations, finalizers, ownerReferences }
  const body = { apiVersion: stored.apiVersion, kind: stored.kind, metadata, spec: stored.spec }
  return {
    body: inFloorGroups(JSON.stringify(body)),
    ...(reporter ? { status: inFloorGroups(JSON.stringify(stored.status)) } : {}),
    createdBy: creator?.manager ?? 'bench',
    appliedBy: reporter?.manager ?? 'bench',
  }
}

export type Place = {
  /** Name of the claim that the template was taken from, and of the one that is made. */
  from: string
  to: string
  namespace: string
  /** Stored owner, whose uid the reference gets: a reference to nobody would be collected. */
  owner?: KubeObject | undefined
}

/** The body to POST. Names that do not contain the claim's are numbers: another one of the same length is computed. */
export function bodyAt({ body }: Template, { from, to, namespace, owner }: Place): KubeObject {
  const object = JSON.parse(body.replaceAll(`"${from}"`, `"${to}"`)) as KubeObject
  const { name, ownerReferences } = object.metadata
  return {
    ...object,
    metadata: {
      ...object.metadata,
      name: name === to ? name : numbered(name, to),
      namespace,
      ...(ownerReferences ? { ownerReferences: owner ? owned(ownerReferences, owner) : [] } : {}),
    },
  }
}

/** The apply on the status of `object`; `round` makes each one differ from the last. */
export function statusAt({ status }: Template, object: KubeObject, { from, to }: Place, round = 0): unknown {
  const { name, namespace, uid } = object.metadata
  const told = JSON.parse((status ?? '{}').replaceAll(`"${from}"`, `"${to}"`)) as { conditions?: { message: string }[] }
  const conditions = told.conditions?.map((one) => ({ ...one, message: `${one.message}${'.'.repeat(round)}` }))
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: { name, namespace, uid },
    status: { ...told, ...(conditions ? { conditions } : {}) },
  }
}

function numbered(name: string, seed: string): string {
  const digits = createHash('sha256').update(seed).digest('hex')
  const tail = digits.slice(0, Math.max(8, name.length - 'default-local-1.'.length))
  return name.length > tail.length ? `${name.slice(0, name.length - tail.length)}${tail}` : tail
}

function owned(references: readonly OwnerReference[], owner: KubeObject): OwnerReference[] {
  return references.map((reference) => ({ ...reference, name: owner.metadata.name, uid: owner.metadata.uid ?? '' }))
}
