/**
 * Tear-down of a deleted attachment: the Pods that use its definition go, then the definition, then the finalizer. Multus needs the
 * definition when such a Pod ends. Needs neither the network nor anything of whoever asked for the attachment.
 */
import { again, keyOf, type Outcome, type Pass, settled, waiting } from 'kube-control-loop'
import { definitionIsGone, patience } from 'kube-multus'
import { type BridgeAttachment, finalizer } from '../api/index.ts'
import type { Parts } from '../parts.ts'
import type { Readable } from '../readable.ts'
import { say } from './say.ts'

/**
 * Detaching attachments by uid: since when, and whether the end of the grace was told. A restart begins the grace anew, since
 * whoever is to delete the Pods may have heard of the deletion only then.
 */
export type Detaching = Map<string, { sinceMs: number; told: boolean }>

/** One pass of the tear-down. Whether a Pod uses the definition is read from the watch: it has been running for a while. */
export async function release(
  parts: Parts,
  detaching: Detaching,
  attachment: BridgeAttachment,
  pods: Readable,
  { signal, log }: Pass,
): Promise<Outcome> {
  const { uid = '' } = attachment.metadata
  const user = userOf(parts, attachment, pods)
  const begun = detaching.get(uid) ?? { sinceMs: parts.clock.monotonic(), told: false }
  detaching.set(uid, begun)
  if (user !== undefined && !begun.told) {
    const { detachGraceMs } = parts.settings
    const wait = patience(parts.clock.monotonic() - begun.sinceMs, detachGraceMs)
    if (wait.is === 'quiet') return again(wait.afterMs, 'a wait this short is not worth a status')
    if (wait.is === 'said') {
      const message = `waits until ${user} no longer uses the NetworkAttachmentDefinition, at most ${detachGraceMs / 1000} s`
      await say(parts, attachment, { verdict: { ready: false, reason: 'Detaching', message }, ...kept(attachment, pods) }, signal)
      return again(wait.afterMs, 'a Pod that stays is not waited for any longer')
    }
    begun.told = true
    parts.detachGraceExpired(attachment)
    log.warn({ user }, 'let go although still in use: the grace is over')
  }
  const definitions = { client: parts.client, cache: parts.caches.definitions, writer: parts.writers.definition }
  if (!(await definitionIsGone(definitions, attachment, signal))) return waiting('its NetworkAttachmentDefinition to be removed')
  await parts.writers.attachment.removeFinalizer(attachment, finalizer, signal)
  detaching.delete(uid)
  return settled
}

/** What stays in the status while it is on its way out. */
export const kept = ({ status }: BridgeAttachment, pods: Readable) => ({ bridge: status?.bridge, pods })

/** Who uses the definition, in words. Where Pods cannot be read, any may. */
function userOf({ caches }: Parts, attachment: BridgeAttachment, pods: Readable): string | undefined {
  if (pods.is === 'forbidden') return `whoever it is (${pods.message})`
  const [first] = caches.pods.by('definition', keyOf(attachment)).map(keyOf).sort()
  return first === undefined ? undefined : `Pod ${first}`
}
