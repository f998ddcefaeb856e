/** Lets a deleted VPC go. */
import { type Outcome, settled, waiting } from 'kube-control-loop'
import { finalizer, type VPC, VPCAttachment } from '../api/index.ts'
import { recordedIdentity } from '../caches.ts'
import type { Parts } from '../parts.ts'

/**
 * Removes the finalizer, after a live list has confirmed what memory says: that no attachment carries the identifier.
 * Needs nothing else to exist.
 */
export async function release(parts: Parts, vpc: VPC, signal: AbortSignal): Promise<Outcome> {
  const { name, namespace } = vpc.metadata
  const id = vpc.status?.vpc
  if (id !== undefined && namespace !== undefined) {
    const live = await parts.client.list(VPCAttachment, { namespace }, signal)
    const user = live.items.find((attachment) => attachment.spec.vpc.name === name && recordedIdentity(attachment)?.vpc === id)
    if (user) {
      parts.caches.attachments.absorb(user)
      return waiting(`VPCAttachment ${user.metadata.name} to be deleted`)
    }
  }
  await parts.writers.vpc.removeFinalizer(vpc, finalizer, signal)
  return settled
}
