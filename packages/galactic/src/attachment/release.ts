/**
 * Tear-down of a deleted attachment: its definition goes, then its nodes let go, then the finalizer. Needs neither the VPC nor
 * anything of whoever asked for the attachment.
 */
import { again, keyOf, type Outcome, type Pass, settled, waiting } from 'kube-control-loop'
import { definitionIsGone, isControlledBy, patience } from 'kube-multus'
import { BGPAdvertisement, finalizer, type VPCAttachment } from '../api/index.ts'
import { labelledIdentity, recordedIdentity } from '../caches.ts'
import { advertisementNames, type Identity } from '../identifiers/identity.ts'
import type { Parts } from '../parts.ts'
import { observeAdvertisements, wasReported } from './observe.ts'
import { type Advertisement, nodeReport, stillAdvertised } from './programmed.ts'
import { intentOf, notReported } from './status.ts'

/** Detaching attachments by uid. A restart begins the grace anew, since a node may have heard of the deletion only then. */
export type Detaching = Map<string, { identity: Identity | undefined; sinceMs: number }>

/**
 * One pass of the tear-down. The finalizer goes when the definition is gone and no advertisement of the identity stands, both
 * confirmed by live reads, or when the grace is over (counted).
 */
export async function release(
  parts: Parts,
  detaching: Detaching,
  attachment: VPCAttachment,
  { signal, log }: Pass,
): Promise<Outcome> {
  const uid = attachment.metadata.uid ?? ''
  if (!attachment.metadata.finalizers?.includes(finalizer)) {
    detaching.delete(uid)
    return settled
  }
  // Read before the definition goes: until the status is written, its labels alone hold the identity.
  const identity = detaching.get(uid)?.identity ?? identityOf(parts, attachment)
  const definitions = { client: parts.client, cache: parts.caches.definitions, writer: parts.writers.definition }
  if (!(await definitionIsGone(definitions, attachment, signal))) return waiting('its NetworkAttachmentDefinition to be removed')
  const begun = detaching.get(uid) ?? { identity, sinceMs: parts.clock.monotonic() }
  detaching.set(uid, begun)

  const advertisements = identity ? await standingAdvertisements(parts, identity, signal) : []
  const standing = stillAdvertised(advertisements)
  if (standing && identity) {
    const wait = patience(parts.clock.monotonic() - begun.sinceMs, parts.settings.detachGraceMs)
    if (wait.is === 'quiet') return again(wait.afterMs, 'a wait this short is not worth a status')
    if (wait.is === 'said') {
      await say(parts, attachment, identity, advertisements, standing, signal)
      return again(wait.afterMs, 'an advertisement that is not withdrawn by then is not waited for')
    }
    parts.detachGraceExpired(attachment)
    log.warn({ advertisement: standing.name, node: standing.node }, 'let go although still advertised: the grace is over')
  }
  await parts.writers.attachment.removeFinalizer(attachment, finalizer, signal)
  detaching.delete(uid)
  return settled
}

function identityOf({ caches }: Parts, attachment: VPCAttachment): Identity | undefined {
  const definition = caches.definitions.get(keyOf(attachment))
  const labelled = definition && isControlledBy(definition, attachment) ? labelledIdentity(definition) : undefined
  return recordedIdentity(attachment) ?? labelled
}

/** What stands in memory; when nothing does, a live read of each name has the last word. */
async function standingAdvertisements(parts: Parts, identity: Identity, signal: AbortSignal): Promise<Advertisement[]> {
  const { caches, client, settings } = parts
  const cached = observeAdvertisements(caches, settings.systemNamespace, identity)
  if (cached.length > 0 || caches.advertisements.state === 'unserved') return cached
  for (const name of advertisementNames(identity)) {
    const live = await client.find(BGPAdvertisement, { name, namespace: settings.systemNamespace }, signal)
    if (live) caches.advertisements.absorb(live)
  }
  return observeAdvertisements(caches, settings.systemNamespace, identity)
}

async function say(
  parts: Parts,
  attachment: VPCAttachment,
  identity: Identity,
  advertisements: readonly Advertisement[],
  standing: Advertisement,
  signal: AbortSignal,
): Promise<void> {
  const where = standing.node === undefined ? '' : ` by node ${standing.node}`
  const message = `waits until BGPAdvertisement ${parts.settings.systemNamespace}/${standing.name} is withdrawn${where}, at most ${parts.settings.detachGraceMs / 1000} s`
  const recorded = recordedIdentity(attachment)
  const intent = intentOf({
    generation: attachment.metadata.generation ?? 0,
    verdict: { ready: false, reason: 'Detaching', message },
    identity: recorded,
    definition: undefined,
    report: recorded ? nodeReport(identity, advertisements, wasReported(attachment)) : notReported,
  })
  await parts.writers.attachmentStatus.status(attachment, intent, signal)
}
