/** Gives a VPC its identifier. */
import { writeOnce } from 'kube-control-loop'
import { VPC } from '../api/index.ts'
import { pickIdentifier, vpcSpace } from '../identifiers/pick.ts'
import { type Parts, vpcControllerName } from '../parts.ts'
import { intentOf } from './status.ts'

/** All VPCs share one space: an identifier stands in kernel names and route targets of every node. No VPC identifier is `*`. */
const scope = '*'

/**
 * Promises: no two VPCs have one identifier, and a VPC keeps the first one it got.
 * Relies on: one leader writing; the schema refuses a second value, which then stands.
 * Crash: before the write nothing is stored and another identifier is chosen; after it the identifier stands.
 */
export async function identify(parts: Parts, vpc: VPC, signal: AbortSignal): Promise<void> {
  const uid = vpc.metadata.uid ?? ''
  const held = parts.reservations.held(uid, scope)
  const id = held !== undefined && !isTaken(parts, uid, held) ? held : choose(parts, uid)
  parts.reservations.reserve(uid, scope, id)
  await writeOnce(() => parts.writers.vpcStatus.status(vpc, intentOf(id, vpc.metadata.generation ?? 0, false), signal), {
    client: parts.client,
    kind: VPC,
    object: vpc,
    cache: parts.caches.vpcs,
    isOthers: (live) => live.status?.vpc !== undefined && live.status.vpc !== id,
    controller: vpcControllerName,
    metrics: parts.writeMetrics,
    signal,
  })
}

/** Also taken: an identifier whose VPC is gone but whose definitions still stand. */
function isTaken({ caches, reservations }: Parts, uid: string, id: string): boolean {
  const standing = caches.vpcs.by('id', id).length > 0 || caches.definitions.by('vpcId', id).length > 0
  return standing || reservations.isTaken(scope, id, uid)
}

function choose(parts: Parts, uid: string): string {
  const id = pickIdentifier(vpcSpace, parts.random, (candidate) => isTaken(parts, uid, candidate))
  if (id === undefined) throw new Error('no free VPC identifier was found in 100 attempts')
  return id
}
