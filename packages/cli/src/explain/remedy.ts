/** What is to be done about a condition, by the documented text of its reason. Pure. */
import { reasonTextOf } from '../owners/table.ts'
import type { Said } from './break.ts'

/** Undefined where no table has the reason, or nothing is to be done, or the text only leads on to another condition. */
export function remedyFor(said: Said | undefined): string | undefined {
  const remedy = said && reasonTextOf(said, said.condition)?.remedy
  return remedy === undefined || /^(Nothing\b|See the condition )/.test(remedy) ? undefined : remedy
}
