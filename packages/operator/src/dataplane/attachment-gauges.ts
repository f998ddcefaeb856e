/**
 * Which data planes can be used, which of them are silent (attachments that stand and that they have not spoken of, for how
 * long), and which break the contract. A report that says no is a report. The label names a DataPlane, of which an administrator installs a few; no label
 * names anything that users make.
 */
import type { NetworkInterface } from '@nso/api'
import { type Cache, type Clock, type KubeObject, keyOf, registerScrapedGauges, type Series } from 'kube-control-loop'
import type { Registry } from 'prom-client'
import type { Caches } from '../caches.ts'
import { holderOf, isDeleting } from '../interface/holder.ts'
import type { DataPlaneRegistry, KnownPlane } from './registry.ts'
import { breaksContract, reportedWhen } from './report.ts'

export type AttachmentGaugeParts = {
  readonly registry: Registry
  readonly clock: Pick<Clock, 'now'>
  readonly caches: Pick<Caches, 'interfaces' | 'dataPlanes'>
  readonly planes: Pick<DataPlaneRegistry, 'get'>
}

const usable = 'nso_data_plane_usable'
const attachments = 'nso_attachments'
const unreported = 'nso_attachments_unreported'
const oldest = 'nso_attachment_oldest_unreported_seconds'
const violations = 'nso_data_plane_contract_violations'
const labelNames = ['data_plane'] as const

const gauges = {
  [usable]: { help: 'Whether a data plane can be asked: templates sound, kinds served, permissions given', labelNames },
  [attachments]: { help: 'Attachments of bound interfaces, by data plane', labelNames },
  [unreported]: { help: 'Attachments that their data plane has not reported on since they were made or changed', labelNames },
  [oldest]: { help: 'Seconds that the oldest of the unreported attachments has been so; 0: there is none', labelNames },
  [violations]: { help: 'Attachments whose report breaks the contract for data planes', labelNames },
} as const

type Name = keyof typeof gauges

/** Attachments whose report is older than they are, and when that was first seen: nothing in them tells. In ms. */
type Outdated = Map<string, number>

/** Series of a data plane are there while its attachments are known: not known is not none. */
export function registerAttachmentGauges({ registry, clock, caches, planes }: AttachmentGaugeParts): void {
  let outdated: Outdated = new Map()
  registerScrapedGauges<Name>(registry, gauges, () => {
    if (!isKnown(caches.dataPlanes)) return undefined
    const now = clock.now().getTime()
    const seen: Outdated = new Map()
    const series = [...caches.dataPlanes.values()].flatMap((object) => {
      const known = planes.get(object.metadata.name)
      return known ? seriesOf({ known, caches, now, before: outdated, seen }) : []
    })
    outdated = seen
    return series
  })
}

type Look = {
  known: KnownPlane
  caches: AttachmentGaugeParts['caches']
  now: number
  before: Outdated
  seen: Outdated
}

function seriesOf(look: Look): Series<Name>[] {
  const { object, plane, compiled } = look.known
  const labels = { data_plane: object.metadata.name }
  const { attachments: cache } = plane
  const can: Series<Name> = { gauge: usable, labels, value: plane.hindrance === undefined && !isDeleting(object) ? 1 : 0 }
  if (!cache || !isKnown(cache) || !isKnown(look.caches.interfaces)) return [can]
  let count = 0
  let broken = 0
  const waiting: number[] = []
  for (const nic of look.caches.interfaces.by('plane', object.metadata.name)) {
    const attachment = cache.get(keyOf(nic))
    if (!attachment || !isAskedFor(nic, attachment)) continue
    count++
    if (conditionsOf(compiled).some((type) => breaksContract(attachment, type))) broken++
    const since = silentSince(attachment, compiled.preparedCondition, look)
    if (since !== undefined) waiting.push(Math.max(0, look.now - since) / 1000)
  }
  return [
    can,
    { gauge: attachments, labels, value: count },
    { gauge: unreported, labels, value: waiting.length },
    { gauge: oldest, labels, value: waiting.reduce((most, each) => Math.max(most, each), 0) },
    { gauge: violations, labels, value: broken },
  ]
}

function conditionsOf({ preparedCondition, programmedCondition }: KnownPlane['compiled']): readonly string[] {
  return programmedCondition === undefined ? [preparedCondition] : [preparedCondition, programmedCondition]
}

const isKnown = ({ state }: Pick<Cache, 'state'>): boolean => state === 'synced' || state === 'stale'

/** The very interface's, and still wanted. */
function isAskedFor(nic: NetworkInterface, { metadata }: KubeObject): boolean {
  if (nic.metadata.deletionTimestamp || metadata.deletionTimestamp || !holderOf(nic)) return false
  return metadata.ownerReferences?.some((owner) => owner.controller && owner.uid === nic.metadata.uid) ?? false
}

/** In ms; undefined when the report is there. */
function silentSince(attachment: KubeObject, condition: string, { now, before, seen }: Look): number | undefined {
  const reported = reportedWhen(attachment, condition)
  if (reported === 'since') return undefined
  const { uid, generation, creationTimestamp } = attachment.metadata
  const created = Date.parse(creationTimestamp ?? '')
  if (reported === 'never' && !Number.isNaN(created)) return created
  const id = `${uid} ${generation}`
  const at = before.get(id) ?? now
  seen.set(id, at)
  return at
}
