/** The VPC controller: each VPC gets one identifier and keeps it. Key: VPC. */
import { type Change, type Controller, type Key, keyFor, type Outcome, settled, waiting, watch } from 'kube-control-loop'
import { finalizer, type VPC, type VPCAttachment } from '../api/index.ts'
import type { Caches } from '../caches.ts'
import { type Parts, vpcControllerName } from '../parts.ts'
import { identify } from './act.ts'
import { decide } from './decide.ts'
import { observe } from './observe.ts'
import { release } from './release.ts'
import { intentOf } from './status.ts'

export function vpcController(parts: Parts): Controller {
  const { caches, reservations } = parts
  return {
    name: vpcControllerName,
    watches: [
      watch(caches.vpcs, (change) => {
        const gone = change.before?.metadata.uid
        if (gone !== undefined && gone !== change.after?.metadata.uid) reservations.release(gone)
        return [change.key]
      }),
      watch(caches.attachments, (change) => heldVpcs(caches, change)),
      watch(caches.definitions, ({ key }) => heldVpcsOf(caches, [caches.attachments.get(key)])),
    ],
    // Definitions and attachments are read before an identifier is chosen or given back: both must be complete.
    needs: [{ cache: caches.vpcs }, { cache: caches.attachments }, { cache: caches.definitions }],
    forget: (key) => parts.writers.vpcStatus.forget(key),
    async reconcile({ key, signal }) {
      const vpc = caches.vpcs.get(key)
      return vpc ? pass(parts, vpc, signal) : settled
    },
  }
}

async function pass(parts: Parts, seen: VPC, signal: AbortSignal): Promise<Outcome> {
  const { writers, reservations } = parts
  const observed = observe(parts, seen)
  const decision = decide(observed)
  switch (decision.do) {
    case 'nothing':
      return settled
    case 'release':
      return release(parts, seen, signal)
    case 'identify':
      await identify(parts, await writers.vpc.addFinalizer(seen, finalizer, signal), signal)
      return settled
    case 'keep': {
      reservations.release(seen.metadata.uid ?? '')
      const vpc = decision.held ? seen : await writers.vpc.addFinalizer(seen, finalizer, signal)
      await writers.vpcStatus.status(vpc, intentOf(decision.id, vpc.metadata.generation ?? 0, decision.held), signal)
      return decision.held ? waiting('its VPCAttachments to be deleted') : settled
    }
  }
}

/** VPCs whose deletion may go on now that an attachment changed. Others need not hear of it. */
function heldVpcs(caches: Caches, { before, after }: Change<VPCAttachment>): Key[] {
  return heldVpcsOf(caches, [before, after])
}

function heldVpcsOf(caches: Caches, attachments: (VPCAttachment | undefined)[]): Key[] {
  const keys = attachments.flatMap((attachment) => (attachment ? [vpcKeyOf(attachment)] : []))
  return keys.filter((key) => caches.vpcs.get(key)?.metadata.deletionTimestamp !== undefined)
}

/** Key of the VPC that an attachment names. */
export function vpcKeyOf({ metadata, spec }: VPCAttachment): Key {
  return keyFor(spec.vpc.name, metadata.namespace)
}
