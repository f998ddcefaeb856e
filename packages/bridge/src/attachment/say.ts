/** Says what an attachment is, in one intent made of everything that is known of it. */
import { keyOf, writeOnce } from 'kube-control-loop'
import { isControlledBy } from 'kube-multus'
import { BridgeAttachment } from '../api/index.ts'
import type { Caches } from '../caches.ts'
import { controllers, type Parts } from '../parts.ts'
import type { Readable } from '../readable.ts'
import { type Programmed, programmedOf } from './programmed.ts'
import { intentOf, type Verdict } from './status.ts'

/** `bridge`: device that it is on, once it is known. */
export type Saying = { readonly verdict: Verdict; readonly bridge: string | undefined; readonly pods: Readable }

/** A device that another leader recorded first stands; this pass then ends as a lost race. */
export async function say(
  parts: Parts,
  attachment: BridgeAttachment,
  { verdict, bridge, pods }: Saying,
  signal: AbortSignal,
): Promise<void> {
  const { caches, client, writers, writeMetrics: metrics } = parts
  const definition = caches.definitions.get(keyOf(attachment))
  const intent = intentOf({
    generation: attachment.metadata.generation ?? 0,
    verdict,
    bridge,
    definition: definition && isControlledBy(definition, attachment) ? attachment.metadata.name : undefined,
    programmed: reportOn(caches, attachment, pods),
  })
  await writeOnce(() => writers.attachmentStatus.status(attachment, intent, signal), {
    ...{ client, metrics, signal, kind: BridgeAttachment, object: attachment, cache: caches.attachments },
    controller: controllers.attachment,
    isOthers: (live) => live.status?.bridge !== undefined && live.status.bridge !== bridge,
  })
}

function reportOn(caches: Caches, attachment: BridgeAttachment, readable: Readable): Programmed {
  if (readable.is === 'forbidden') return { status: 'Unknown', reason: 'PodsForbidden', message: readable.message }
  const key = keyOf(attachment)
  return programmedOf(key, attachment.spec.interface.addresses ?? [], caches.pods.by('definition', key))
}
