/** Reads all that a pass over one attachment needs, from memory, into plain values. */
import { keyFor, keyOf } from 'kube-control-loop'
import { seeDefinition } from 'kube-multus'
import type { VPCAttachment } from '../api/index.ts'
import { type Caches, recordedIdentity } from '../caches.ts'
import { advertisementNames, type Identity, identityKey } from '../identifiers/identity.ts'
import { isOlder, type Seen } from './decide.ts'
import type { Advertisement } from './programmed.ts'

export function observe(caches: Caches, attachment: VPCAttachment): Seen {
  const { name, namespace } = attachment.metadata
  const vpc = caches.vpcs.get(keyFor(attachment.spec.vpc.name, namespace))
  const definition = caches.definitions.get(keyOf(attachment))
  return {
    attachment: {
      name,
      uid: attachment.metadata.uid ?? '',
      vpcName: attachment.spec.vpc.name,
      link: linkOf(attachment),
      recorded: recordedIdentity(attachment),
    },
    vpc: vpc && { id: vpc.status?.vpc, deleting: vpc.metadata.deletionTimestamp !== undefined },
    definitionsServed: caches.definitions.state !== 'unserved',
    definition: definition && seeDefinition(definition, attachment),
    olderHolder: (identity) => olderHolder(caches, attachment, identity),
  }
}

function linkOf({ spec }: VPCAttachment): Seen['attachment']['link'] {
  const { mode = 'Netns', mtu, addresses = [], gateways = [] } = spec.interface
  return { mode, mtu, addresses, gateways }
}

/** Another holder of the identity that came first: an attachment that reports it, or one whose definition is labelled with it. */
function olderHolder(caches: Caches, attachment: VPCAttachment, identity: Identity): string | undefined {
  const ours = keyOf(attachment)
  const key = identityKey(identity)
  const holders = new Set([...caches.attachments.by('identity', key), ...caches.definitions.by('identity', key)].map(keyOf))
  holders.delete(ours)
  for (const holder of holders) {
    const other = caches.attachments.get(holder)
    // A definition without its attachment waits for the collector; its identifier is free only when it is gone.
    if (!other || isOlder(ageOf(other), ageOf(attachment))) return holder
  }
  return undefined
}

const ageOf = ({ metadata }: VPCAttachment) => ({ createdAt: metadata.creationTimestamp ?? '', uid: metadata.uid ?? '' })

/** The advertisements that stand under any name of the identity. */
export function observeAdvertisements(caches: Caches, systemNamespace: string, identity: Identity): Advertisement[] {
  return advertisementNames(identity).flatMap((name) => {
    const found = caches.advertisements.get(keyFor(name, systemNamespace))
    if (!found) return []
    const { metadata, spec, status } = found
    const advertised = status?.conditions?.find((condition) => condition.type === 'Advertised')
    const router = spec?.routerRef && caches.routers.get(keyFor(spec.routerRef.name, systemNamespace))
    return [
      {
        name,
        deleting: metadata.deletionTimestamp !== undefined,
        annotations: metadata.annotations ?? {},
        node: router?.spec.targetRef.name,
        advertised: advertised && { status: advertised.status, reason: advertised.reason, message: advertised.message },
      },
    ]
  })
}

/** Whether an advertisement was reported on before; our own status is the only record of it that survives a restart. */
export function wasReported({ status }: VPCAttachment): boolean {
  const programmed = status?.conditions?.find((condition) => condition.type === 'Programmed')
  return status?.hostInterface !== undefined || (programmed !== undefined && programmed.status !== 'Unknown')
}
