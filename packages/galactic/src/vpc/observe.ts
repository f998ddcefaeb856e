/** Reads all that a pass over one VPC needs, from memory, into plain values. */
import { keyOf } from 'kube-control-loop'
import { finalizer, type VPC, type VPCAttachment } from '../api/index.ts'
import { labelledIdentity, recordedIdentity } from '../caches.ts'
import type { Parts } from '../parts.ts'
import type { SeenVpc } from './decide.ts'

type Sources = Pick<Parts, 'caches' | 'reservations'>

export function observe(sources: Sources, vpc: VPC): SeenVpc {
  const id = vpc.status?.vpc
  return {
    deleting: vpc.metadata.deletionTimestamp !== undefined,
    hasFinalizer: vpc.metadata.finalizers?.includes(finalizer) ?? false,
    id,
    inUse:
      id !== undefined && sources.caches.attachments.by('vpc', keyOf(vpc)).some((attachment) => carries(sources, attachment, id)),
  }
}

/** Reported, recorded in a definition, or being written right now. */
function carries({ caches, reservations }: Sources, attachment: VPCAttachment, id: string): boolean {
  const definition = caches.definitions.get(keyOf(attachment))
  return (
    recordedIdentity(attachment)?.vpc === id ||
    (definition !== undefined && labelledIdentity(definition)?.vpc === id) ||
    reservations.held(attachment.metadata.uid ?? '', id) !== undefined
  )
}
