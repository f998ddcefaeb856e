/** The attachment controller: definition, report of Multus, tear-down. Key: BridgeAttachment. */
import {
  ApiError,
  again,
  type Cache,
  type Change,
  type Controller,
  type Key,
  keyFor,
  keyOf,
  type Outcome,
  type Pass,
  settled,
  type Watch,
  waiting,
  watch,
} from 'kube-control-loop'
import { define, definitionsOf, definitionsServed, type Pod, redefine, seeDefinition } from 'kube-multus'
import { BridgeAttachment, finalizer } from '../api/index.ts'
import type { Caches } from '../caches.ts'
import { networkKeyOf } from '../network/index.ts'
import { controllers, type Parts } from '../parts.ts'
import type { Readable } from '../readable.ts'
import { type Decision, decide, type Seen } from './decide.ts'
import { type Detaching, kept, release } from './release.ts'
import { say } from './say.ts'

/** Nothing watches permissions. */
const forbiddenRetryMs = 5_000
const unreadRetryMs = 2_000

export function attachmentController(parts: Parts): Controller {
  const { caches, writers, readable } = parts
  const detaching: Detaching = new Map()
  return {
    name: controllers.attachment,
    watches: [
      watch(caches.attachments, ({ key, before, after }) => {
        if (before && before.metadata.uid !== after?.metadata.uid) detaching.delete(before.metadata.uid ?? '')
        return [key]
      }),
      watch(caches.definitions, ({ key }) => ofAttachments(caches, [key])),
      watch(caches.networks, ({ key }) => caches.attachments.by('network', key).map(keyOf)),
      watch(caches.pods, (change) => ofAttachments(caches, concerned(change))),
      definitionsServed(caches.definitions, caches.attachments),
      readAgain(caches.pods, caches.attachments),
    ],
    // Definitions and Pods are of others: what keeps them from being read is said on each attachment.
    needs: [{ cache: caches.attachments }, { cache: caches.networks }],
    forget: (key) => writers.attachmentStatus.forget(key),
    async reconcile(pass) {
      const { signal } = pass
      const attachment = caches.attachments.get(pass.key)
      if (!attachment) return settled
      const [definitions, pods] = await Promise.all([readable.definitions(signal), readable.pods(signal)])
      if (definitions.is === 'soon' || pods.is === 'soon') return again(unreadRetryMs, 'nothing tells that reading is refused')
      const held = isDeleting(attachment) ? attachment : await writers.attachment.addFinalizer(attachment, finalizer, signal)
      if (!held.metadata.finalizers?.includes(finalizer)) return settled
      if (definitions.is === 'yes') return work(parts, detaching, held, pods, pass)
      pass.log.warn({ refusal: definitions.message }, 'the API server refuses NetworkAttachmentDefinitions')
      await sayForbidden(parts, held, definitions.message, pods, signal)
      return again(forbiddenRetryMs, 'nothing tells when a permission is given')
    },
  }
}

const isDeleting = ({ metadata }: BridgeAttachment) => metadata.deletionTimestamp !== undefined

/**
 * The work on one attachment. That the API server refuses definitions is also said on it: whoever waits for the attachment does not
 * read the logs.
 */
async function work(parts: Parts, detaching: Detaching, held: BridgeAttachment, pods: Readable, pass: Pass): Promise<Outcome> {
  try {
    return isDeleting(held) ? await release(parts, detaching, held, pods, pass) : await attach(parts, held, pods, pass)
  } catch (error) {
    const refusal = refusalOf(error)
    if (refusal !== undefined) await sayForbidden(parts, held, refusal, pods, pass.signal)
    throw error
  }
}

async function sayForbidden(parts: Parts, held: BridgeAttachment, message: string, pods: Readable, signal: AbortSignal) {
  const verdict = { ready: false, reason: 'DefinitionsForbidden', message } as const
  await say(parts, held, { verdict, ...kept(held, pods) }, signal)
}

/** What a refusal by permissions says; a status of our own that is refused is another matter, and surfaces. */
function refusalOf(error: unknown): string | undefined {
  const isPermission = error instanceof ApiError && error.status === 403 && error.path.includes('/network-attachment-definitions')
  return isPermission ? error.text : undefined
}

async function attach(parts: Parts, attachment: BridgeAttachment, pods: Readable, { signal }: Pass): Promise<Outcome> {
  const decision = decide(observe(parts.caches, attachment))
  if (decision.do === 'block') {
    const { reason, message } = decision
    await say(parts, attachment, { verdict: { ready: false, reason, message }, ...kept(attachment, pods) }, signal)
    return waiting(message)
  }
  await realise(parts, attachment, decision, signal)
  await say(parts, attachment, { verdict: { ready: true }, bridge: decision.bridge, pods }, signal)
  return settled
}

/** The definition stands before the status speaks of it; a crash in between leaves a definition that the next pass finds right. */
async function realise(
  { caches, writers }: Parts,
  attachment: BridgeAttachment,
  { do: does, rendering }: Exclude<Decision, { do: 'block' }>,
  signal: AbortSignal,
): Promise<void> {
  const definitions = { cache: caches.definitions, writer: writers.definition }
  if (does === 'define') await define(definitions, BridgeAttachment, attachment, rendering, signal)
  else if (does === 'redefine') await redefine(definitions, attachment, rendering, signal)
}

function observe(caches: Caches, attachment: BridgeAttachment): Seen {
  const { metadata, spec, status } = attachment
  const network = caches.networks.get(networkKeyOf(attachment))
  const definition = caches.definitions.get(keyOf(attachment))
  const { mtu, addresses = [], gateways = [] } = spec.interface
  return {
    attachment: {
      namespace: metadata.namespace ?? '',
      name: metadata.name,
      network: spec.network.name,
      link: { mtu, addresses, gateways },
      ranges: spec.ranges ?? [],
      recorded: status?.bridge,
    },
    network: network && {
      bridge: network.status?.bridge,
      ranges: network.spec.ranges,
      hostGateway: network.spec.hostGateway,
      deleting: network.metadata.deletionTimestamp !== undefined,
    },
    definitionsServed: caches.definitions.state !== 'unserved',
    definition: definition && seeDefinition(definition, attachment),
  }
}

/** Keys of definitions are those of the attachments that they were made for; others' are nobody's. */
const ofAttachments = ({ attachments }: Caches, keys: Iterable<Key>) => [...keys].filter((key) => attachments.get(key))

/** Definitions that a Pod's change is about. */
const concerned = ({ before, after }: Change<Pod>) => new Set([before, after].flatMap((pod) => (pod ? definitionsOf(pod) : [])))

/** Pods can be read, or no longer: the report of every attachment is made of them. */
function readAgain(pods: Pick<Cache, 'onState'>, attachments: Caches['attachments']): Watch {
  return {
    subscribe: (enqueue) =>
      pods.onState(() => {
        for (const { metadata } of attachments.values()) enqueue(keyFor(metadata.name, metadata.namespace), { urgent: false })
      }),
  }
}
