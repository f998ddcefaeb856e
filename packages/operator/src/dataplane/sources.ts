/** The part of a status that says where its translated conditions come from. */
import type { ConditionSource } from '@nso/api'
import type { PlaneReport } from './types.ts'

/** For the same apply as the conditions themselves; empty when neither was read from an object. */
export function conditionSources({ prepared, programmed }: Pick<PlaneReport, 'prepared' | 'programmed'>): {
  conditionSources?: ConditionSource[]
} {
  const sources: ConditionSource[] = [
    ...(prepared.from ? [{ type: 'Prepared' as const, ...prepared.from }] : []),
    ...(programmed.from ? [{ type: 'Programmed' as const, ...programmed.from }] : []),
  ]
  return sources.length === 0 ? {} : { conditionSources: sources }
}
