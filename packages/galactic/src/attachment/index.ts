/** The attachment controller: identity, definition, report of the node side, tear-down. Key: VPCAttachment. */
import {
  type Cache,
  type Change,
  type Controller,
  type Key,
  keyOf,
  type Outcome,
  type Pass,
  settled,
  splitKey,
  waiting,
  watch,
  writeOnce,
} from 'kube-control-loop'
import { define, definitionRefusal, definitionsServed, redefine } from 'kube-multus'
import { finalizer, type NetworkAttachmentDefinition, VPCAttachment } from '../api/index.ts'
import { type Caches, labelledIdentity, recordedIdentity } from '../caches.ts'
import { type Identity, identityKey } from '../identifiers/identity.ts'
import { attachmentControllerName, type Parts } from '../parts.ts'
import { chooseIdentity } from './act.ts'
import { type Decision, decide, renderingOf, type Seen } from './decide.ts'
import { observe, observeAdvertisements, wasReported } from './observe.ts'
import { nodeReport } from './programmed.ts'
import { type Detaching, release } from './release.ts'
import { intentOf, notReported, type Verdict } from './status.ts'

export function attachmentController(parts: Parts): Controller {
  const { caches, reservations } = parts
  const detaching: Detaching = new Map()
  const exhausted = new Set<Key>()
  const forget = (uid: string | undefined) => {
    if (uid === undefined) return
    reservations.release(uid)
    detaching.delete(uid)
  }
  return {
    name: attachmentControllerName,
    watches: [
      watch(caches.attachments, (change) => {
        if (change.before?.metadata.uid !== change.after?.metadata.uid) forget(change.before?.metadata.uid)
        return new Set([change.key, ...sharers(caches, change)])
      }),
      watch(caches.definitions, (change) => new Set([change.key, ...labelSharers(caches, change)])),
      watch(caches.vpcs, ({ key }) => caches.attachments.by('vpc', key).map(keyOf)),
      watch(caches.advertisements, ({ key }) => advertised(caches, key)),
      watch(caches.routers, ({ key }) =>
        caches.advertisements.by('router', splitKey(key).name).flatMap((found) => advertised(caches, keyOf(found))),
      ),
      definitionsServed(caches.definitions, caches.attachments),
      // An identifier may be free again: of a small space in which all are given out, any that goes counts.
      ...[caches.attachments, caches.definitions, caches.advertisements].map((cache) =>
        watch<unknown, unknown>(cache as Cache, ({ after }) => (after ? [] : exhausted)),
      ),
    ],
    needs: [
      { cache: caches.attachments },
      { cache: caches.vpcs },
      { cache: caches.definitions },
      // Without the routing kinds nothing can be advertised, and everything before that works.
      { cache: caches.advertisements, optional: true },
      { cache: caches.routers, optional: true },
    ],
    forget(key) {
      exhausted.delete(key)
      parts.writers.attachmentStatus.forget(key)
    },
    async reconcile(pass) {
      const attachment = caches.attachments.get(pass.key)
      if (!attachment) return settled
      return sayingRefusals(parts, attachment, pass.signal, async () => {
        if (attachment.metadata.deletionTimestamp !== undefined) return release(parts, detaching, attachment, pass)
        exhausted.delete(pass.key)
        const outcome = await attach(parts, await parts.writers.attachment.addFinalizer(attachment, finalizer, pass.signal), pass)
        if (outcome === noneLeft) exhausted.add(pass.key)
        return outcome
      })
    },
  }
}

const noneLeft = waiting('an attachment identifier of its VPC to be given back')

/** A refused definition is a fault like any other, and is besides said on the attachment. */
async function sayingRefusals<R>(
  parts: Parts,
  attachment: VPCAttachment,
  signal: AbortSignal,
  work: () => Promise<R>,
): Promise<R> {
  try {
    return await work()
  } catch (error) {
    const message = definitionRefusal(error)
    if (message !== undefined) {
      const verdict = { ready: false, reason: 'DefinitionsForbidden', message } as const
      await say(parts, attachment, observe(parts.caches, attachment), verdict, recordedIdentity(attachment), signal)
    }
    throw error
  }
}

/** Attachments that share the identity this one has or had: one of them may be free of a conflict now. */
function sharers(caches: Caches, { before, after }: Change<VPCAttachment>): Key[] {
  const identities = [before, after].flatMap((attachment) => (attachment ? (recordedIdentity(attachment) ?? []) : []))
  return identities.flatMap((identity) => caches.attachments.by('identity', identityKey(identity)).map(keyOf))
}

/** Attachments that report the identity in a definition's labels: it may have been what they are in conflict with. */
function labelSharers(caches: Caches, { before, after }: Change<NetworkAttachmentDefinition>): Key[] {
  const identities = [before, after].flatMap((definition) => (definition ? (labelledIdentity(definition) ?? []) : []))
  return identities.flatMap((identity) => caches.attachments.by('identity', identityKey(identity)).map(keyOf))
}

function advertised(caches: Caches, advertisement: Key): Key[] {
  return caches.attachments.by('advertisement', splitKey(advertisement).name).map(keyOf)
}

async function attach(parts: Parts, attachment: VPCAttachment, { signal }: Pass): Promise<Outcome> {
  const seen = observe(parts.caches, attachment)
  const decision = decide(seen, parts.settings.systemNamespace)
  if (decision.do === 'block') {
    await say(
      parts,
      attachment,
      seen,
      { ready: false, reason: decision.reason, message: decision.message },
      seen.attachment.recorded,
      signal,
    )
    return waiting(decision.message)
  }
  const identity = await realise(parts, attachment, seen, decision, signal)
  if (!identity) {
    const message = `VPC ${seen.attachment.vpcName} has no attachment identifier left`
    await say(parts, attachment, seen, { ready: false, reason: 'IdentifiersExhausted', message }, undefined, signal)
    return noneLeft
  }
  await say(
    parts,
    attachment,
    observe(parts.caches, attachment),
    { ready: true, definition: attachment.metadata.name },
    identity,
    signal,
  )
  return settled
}

async function realise(
  parts: Parts,
  attachment: VPCAttachment,
  seen: Seen,
  decision: Exclude<Decision, { do: 'block' }>,
  signal: AbortSignal,
): Promise<Identity | undefined> {
  const uid = attachment.metadata.uid ?? ''
  if (decision.do === 'keep') {
    parts.reservations.release(uid)
    return decision.identity
  }
  const identity = chooseIdentity(parts, uid, decision.vpc, decision.attachment)
  if (!identity) return undefined
  // Its labels are the record of the identity, so it is made before the status speaks of it, and a crash in between loses nothing.
  const rendering = renderingOf(seen.attachment, identity, parts.settings.systemNamespace)
  const definitions = { cache: parts.caches.definitions, writer: parts.writers.definition }
  if (decision.do === 'define') await define(definitions, VPCAttachment, attachment, rendering, signal)
  else await redefine(definitions, attachment, rendering, signal)
  parts.reservations.release(uid)
  return identity
}

/** One writer, one intent, computed from everything: what the attachment was given and what its nodes report. */
async function say(
  parts: Parts,
  attachment: VPCAttachment,
  seen: Seen,
  verdict: Verdict,
  identity: Identity | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { caches, settings, client, writers, writeMetrics } = parts
  const advertisements = identity ? observeAdvertisements(caches, settings.systemNamespace, identity) : []
  const intent = intentOf({
    generation: attachment.metadata.generation ?? 0,
    verdict,
    identity,
    definition: seen.definition?.isOurs ? attachment.metadata.name : undefined,
    report: identity ? nodeReport(identity, advertisements, wasReported(attachment)) : notReported,
  })
  await writeOnce(() => writers.attachmentStatus.status(attachment, intent, signal), {
    client,
    kind: VPCAttachment,
    object: attachment,
    cache: caches.attachments,
    isOthers: (live) => {
      const stored = recordedIdentity(live)
      return stored !== undefined && (identity === undefined || identityKey(stored) !== identityKey(identity))
    },
    controller: attachmentControllerName,
    metrics: writeMetrics,
    signal,
  })
}
