/** From what a condition was taken, and whether it still says what its source says. Pure. */
import { claimReadyOrder, NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import type { KubeObject } from 'kube-control-loop'
import { showOwner } from '../owners/findings.ts'
import { statusWriters } from '../owners/judge.ts'
import { conditionOf, groupOf, isFields, pick, type StoredCondition, textAt } from '../owners/stored.ts'
import { isNamed, rowOf, statusOwnersOf } from '../owners/table.ts'
import { type Facts, nameOf, observedBy, refOf, reported, reportOf, showCondition, stalenessOf } from './facts.ts'
import type { Freshness, Source } from './model.ts'
import { findIn, gapOf, kindOf, sameKind } from './snapshot.ts'
import { writerName } from './written.ts'

const translated = ['Prepared', 'Programmed']

const isOf = (object: KubeObject, kind: { group: string; kind: string }): boolean => sameKind(kindOf(object), kind)

/** Where this condition is from; empty where nothing tells. */
export function sourcesOf(facts: Facts, object: KubeObject, type: string): Source[] {
  const isClaim = isOf(object, NetworkInterfaceClaim)
  if (isClaim && type === 'Ready') return readyParts(object)
  if (!isClaim && !isOf(object, NetworkInterface)) return []
  if (translated.includes(type)) return translationOf(facts, object, type)
  if (type === 'Bound' && isClaim) return boundTo(facts, object)
  if (type !== 'Allocated') return []
  return facts.chain.leases.flatMap(({ object: lease }) =>
    lease ? [{ ...refOf(lease), ...uidOf(lease.metadata.uid), known: 'derived' as const }] : [],
  )
}

/** The interface that the claim holds; none while it is not bound to one. */
function boundTo({ chain: { interface: nic } }: Facts, claim: KubeObject): Source[] {
  if (nic.object) return [{ ...refOf(nic.object), ...uidOf(nic.object.metadata.uid), known: 'derived' }]
  return conditionOf(claim, 'Bound')?.status === 'True' ? [{ ...nic.wanted, known: 'derived' }] : []
}

const uidOf = (uid: string | undefined) => (uid === undefined ? {} : { uid })

/** Ready is computed of the parts: of the first that does not hold, else of all. */
function readyParts(object: KubeObject): Source[] {
  const parts = claimReadyOrder.map((type) => conditionOf(object, type) ?? { type, status: 'absent' })
  const unmet = parts.find(({ status }) => status !== 'True')
  return (unmet ? [unmet] : parts).map((part) => ({
    ...refOf(object),
    ...{ condition: part.type ?? '', says: showCondition(part), known: 'computed' as const },
  }))
}

function translationOf(facts: Facts, object: KubeObject, type: string): Source[] {
  const recorded = pick(object.status, 'conditionSources')
  const entry = Array.isArray(recorded) ? recorded.filter(isFields).find((each) => each.type === type) : undefined
  if (entry) return recordedSource(facts, object, entry)
  const report = reportOf(facts)
  const attachment = facts.chain.attachment
  if (!report || !attachment?.object) return []
  const condition = (type === 'Programmed' ? report.programmed : undefined) ?? report.prepared
  return [
    {
      ...attachment.wanted,
      ...uidOf(attachment.object.metadata.uid),
      ...asItStands(attachment.object, condition),
      known: 'derived',
    },
  ]
}

function recordedSource(facts: Facts, { metadata }: KubeObject, entry: Record<string, unknown>): Source[] {
  const [apiVersion, kind, name] = ['apiVersion', 'kind', 'name'].map((field) => textAt(entry, 'object', field))
  const condition = textAt(entry, 'condition')
  if (apiVersion === undefined || kind === undefined || name === undefined || condition === undefined) return []
  const { namespace } = metadata
  const stands = findIn(facts.snapshot, { group: groupOf(apiVersion), kind }, { namespace, name })
  const [uid, manager] = [textAt(entry, 'object', 'uid'), textAt(entry, 'manager')]
  return [
    {
      ...{ apiVersion, kind, ...(namespace ? { namespace } : {}), name },
      ...uidOf(uid),
      ...(typeof entry.generation === 'number' ? { generation: entry.generation } : {}),
      ...(stands ? asItStands(stands, condition) : { condition }),
      ...(manager === undefined ? {} : { manager, ...complaintAbout({ apiVersion, kind, condition, manager }) }),
      known: 'recorded',
    },
  ]
}

type Taken = { apiVersion: string; kind: string; condition: string; manager: string }

/** A report is worth as much as its writer: one that was taken from somebody else is told, also after it was put right. */
function complaintAbout({ apiVersion, kind, condition, manager }: Taken): Pick<Source, 'complaint'> {
  const row = rowOf({ apiVersion, kind })
  const owners = row ? statusOwnersOf(row, `conditions/${condition}`).filter(isNamed) : []
  const isDue = owners.some(({ writer }) => writer === manager) || row?.legacy?.includes(manager)
  if (owners.length === 0 || isDue) return {}
  return { complaint: `taken from a report of "${manager}", NOT of ${owners.map(showOwner).join(' or ')}` }
}

function asItStands(object: KubeObject, condition: string): Pick<Source, 'condition' | 'says' | 'writtenBy'> {
  const found = conditionOf(object, condition)
  const writers = statusWriters(object, `conditions/${condition}`).filter(({ holdsValue }) => holdsValue)
  return {
    condition,
    says: found ? showCondition(found) : `${condition} not reported`,
    ...(writers.length > 0 ? { writtenBy: writers.map(writerName) } : {}),
  }
}

/** Whether a condition speaks of the object as it stands and, where it was taken from another, of that as it stands. */
export function freshnessOf(facts: Facts, object: KubeObject, condition: StoredCondition, from: readonly Source[]): Freshness {
  const stale = stalenessOf(object, condition)
  if (stale) return { state: 'stale', why: stale }
  if (condition.status === 'True' && from.some(({ known, says }) => known === 'computed' && !says?.includes('=True'))) {
    return { state: 'stale', why: `${from[0]?.says} by now, from which it does not follow` }
  }
  const part = staleParts(facts, object, from)[0]
  if (part !== undefined) return { state: 'stale', why: `its condition ${part} is stale` }
  const behind = from.flatMap((source) => behindSource(facts, condition, source) ?? [])[0]
  if (behind) return { state: 'stale', why: behind }
  return observedBy(object, condition) === undefined ? { state: 'not told' } : { state: 'current' }
}

/** Of what a condition is computed of: types of the conditions that are stale themselves. */
function staleParts(facts: Facts, object: KubeObject, from: readonly Source[]): string[] {
  return from.flatMap(({ known, condition: type = '' }) => {
    const part = known === 'computed' ? conditionOf(object, type) : undefined
    return part && freshnessOf(facts, object, part, sourcesOf(facts, object, type)).state === 'stale' ? [type] : []
  })
}

function behindSource(facts: Facts, condition: StoredCondition, source: Source): string | undefined {
  if (source.known === 'computed') return undefined
  const { snapshot } = facts
  const stands = findIn(snapshot, { group: groupOf(source.apiVersion), kind: source.kind }, source)
  const name = nameOf(source)
  const isKnown = gapOf(snapshot, { group: groupOf(source.apiVersion), kind: source.kind }, source.namespace) === undefined
  if (!stands) {
    const isClaimed = source.known === 'recorded' || (source.condition === undefined && condition.status === 'True')
    return isClaimed && isKnown ? `${name}, from which it was taken, is not there any more` : undefined
  }
  if (source.condition === undefined) return undefined
  if (source.uid !== undefined && source.uid !== stands.metadata.uid) {
    return `it was taken from a ${name} with uid ${source.uid}; the one that stands is another (uid ${stands.metadata.uid})`
  }
  const { generation = 0 } = stands.metadata
  if (source.generation !== undefined && source.generation < generation) {
    return `it was taken from generation ${source.generation} of ${name}, which is at ${generation}`
  }
  return differs(stands, condition, source.condition)
    ? `${name} says ${source.says ?? ''} by now, which is not taken over yet`
    : undefined
}

/** Whether a report that can be believed has another status than its translation. */
function differs(source: KubeObject, translation: StoredCondition, type: string): boolean {
  const says = reported(source, type)
  if (!says || stalenessOf(source, says) || source.metadata.deletionTimestamp) return false
  // Anything else than these three is taken for Unknown.
  const status = ['True', 'False'].includes(says.status ?? '') ? says.status : 'Unknown'
  return status !== translation.status && translation.reason !== 'ContractViolation'
}
