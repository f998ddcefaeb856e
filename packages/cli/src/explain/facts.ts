/** What rules about a chain look at: the objects, who runs, and small questions about conditions. Pure. */
import type { DataPlane } from '@nso/api'
import type { KubeObject } from 'kube-control-loop'
import { isSeed } from '../owners/findings.ts'
import { conditionOf, groupOf, pick, type StoredCondition, textAt } from '../owners/stored.ts'
import { componentOf, rowOf, statusOwnersOf } from '../owners/table.ts'
import { age } from './ages.ts'
import type { Chain, Link, Wanted } from './chain.ts'
import { absenceOf, type Leader } from './leaders.ts'
import type { ObjectName } from './model.ts'
import { gapOf, isListed, type Snapshot } from './snapshot.ts'

export type Facts = {
  readonly snapshot: Snapshot
  readonly chain: Chain
  readonly leaders: readonly Leader[]
  readonly tells: boolean
}

/** `VPCAttachment default/web-0` */
export function nameOf({ kind, namespace, name }: Pick<Wanted, 'kind' | 'namespace' | 'name'>): string {
  return `${kind} ${namespace ? `${namespace}/` : ''}${name}`
}

export function refOf({ apiVersion, kind, metadata: { namespace, name } }: KubeObject): ObjectName {
  return { apiVersion, kind, ...(namespace ? { namespace } : {}), name }
}

/** Absent, or as the schema's default put it: nothing was reported. */
export function reported(object: KubeObject | undefined, type: string): StoredCondition | undefined {
  const condition = conditionOf(object, type)
  return condition && !isSeed(condition) ? condition : undefined
}

export const isTrue = (object: KubeObject | undefined, type: string): boolean => conditionOf(object, type)?.status === 'True'

const longest = 300

/** The first line of a message, at a length for a sentence, without its last full stop. */
export function brief(message: string | undefined): string {
  const [line = ''] = (message ?? '').split(/\r?\n/, 1)
  return line.length > longest ? `${line.slice(0, longest)}…` : line.replace(/\.$/, '')
}

/** `Ready=False AwaitingVPC` */
export function showCondition({ type, status, reason }: StoredCondition): string {
  return `${type}=${status}${reason ? ` ${reason}` : ''}`
}

/** Why a condition does not speak of the object as it stands; undefined where it does, or does not tell. */
export function stalenessOf(object: KubeObject, condition: StoredCondition): string | undefined {
  const observed = observedBy(object, condition)
  const { generation } = object.metadata
  if (observed === undefined || generation === undefined || observed === generation) return undefined
  return `it speaks of generation ${observed}, the object is at ${generation}`
}

export function observedBy(object: KubeObject, condition: StoredCondition): number | undefined {
  const observed = condition.observedGeneration ?? pick(object.status, 'observedGeneration')
  return typeof observed === 'number' ? observed : undefined
}

/** `does not exist`; or why that is not known. */
export function missing({ snapshot }: Facts, { wanted }: Link): { isKnown: boolean; says: string } {
  const kind = { group: groupOf(wanted.apiVersion), kind: wanted.kind }
  const gap = gapOf(snapshot, kind, wanted.namespace)
  if (!gap) return { isKnown: true, says: isListed(snapshot, kind, wanted.namespace) ? 'is not in the dump' : 'does not exist' }
  if (gap.why === 'not served') return { isKnown: true, says: `does not exist: ${gap.message}` }
  return {
    isKnown: false,
    says: gap.why === 'forbidden' ? 'may not be read' : gap.why === 'failed' ? 'could not be read' : gap.message,
  }
}

/** Conditions of the attachment that the data plane reports by. */
export function reportOf({ chain }: Facts): { prepared: string; programmed: string | undefined } | undefined {
  const report = chain.plane.object?.spec.report as DataPlane['spec']['report'] | undefined
  const prepared = textAt(report, 'prepared', 'condition')
  return prepared === undefined ? undefined : { prepared, programmed: textAt(report, 'programmed', 'condition') }
}

/** Who is documented to report a condition of this object; a data plane without a table is known by its name. */
export function reporterOf(facts: Facts, object: Pick<KubeObject, 'apiVersion' | 'kind'>, type: string) {
  const row = rowOf(object)
  const owner = row && statusOwnersOf(row, `conditions/${type}`)[0]
  const component = owner && componentOf(owner.identity)
  const name = component ?? (facts.chain.plane.chosen ? `data plane ${facts.chain.plane.chosen.name}` : 'the data plane')
  return { name, component, writer: owner?.writer }
}

export const ageOf = ({ snapshot }: Facts, time: string | undefined): string | undefined => age(snapshot.at, time)

/** Whom the chain was asked of. */
export const linkAsked = ({ chain }: Facts): Link | undefined => (chain.target.kind === 'claim' ? chain.claim : chain.interface)

/** `; NSO is not running: …`, or nothing. */
export function absent({ leaders }: Facts, component: string | undefined): string {
  const why = absenceOf(leaders, component)
  return why ? `; ${why}` : ''
}
