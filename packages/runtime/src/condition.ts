/**
 * Conditions declared with their reasons, so that an unlisted reason does not compile.
 * Source: Kubernetes API conventions, "Typical status properties"; KEP-1623 (metav1.Condition).
 */
import type { ConditionIntent } from './ownership.ts'

export type ConditionStatus = 'True' | 'False' | 'Unknown'

/** In the order in which people are told of them. */
export const reasonStatuses = ['True', 'False', 'Unknown'] as const satisfies readonly ConditionStatus[]

/** Reasons per status. An empty list: the condition never has this status. */
export type Reasons = { readonly [S in ConditionStatus]: readonly string[] }

export type ConditionDefinition<Type extends string = string, R extends Reasons = Reasons> = {
  readonly type: Type
  readonly reasons: R
  /** Statuses whose reason may also be one that another component documents (see `reported`). */
  readonly open: readonly ConditionStatus[]
  yes(reason: R['True'][number], message: string, observedGeneration?: number): ConditionIntent<Type>
  no(reason: R['False'][number], message: string, observedGeneration?: number): ConditionIntent<Type>
  unknown(reason: R['Unknown'][number], message: string, observedGeneration?: number): ConditionIntent<Type>
  /** Whether the table lists this reason under this status; open statuses list any well-formed reason. */
  lists(status: ConditionStatus, reason: string): boolean
}

/** A condition that may carry reasons which another component documents. */
export type ReportedCondition<
  Type extends string = string,
  R extends Reasons = Reasons,
  Open extends ConditionStatus = ConditionStatus,
> = ConditionDefinition<Type, R> & {
  /** The one escape from the list: a reason that the reporting component documents. The caller has checked that it is a CamelCase word. */
  reported(status: Open, reason: string, message: string, observedGeneration?: number): ConditionIntent<Type>
}

/** What a reason tells people. */
export type ReasonText = {
  /** What is the case. */
  readonly means: string
  /** What to do about it, and where. */
  readonly remedy: string
}

type ConditionsByKind = Readonly<Record<string, Readonly<Record<string, ConditionDefinition>>>>

/** A text for each listed reason, by kind, type and status: a reason without one does not compile, nor a text without a reason. */
export type ReasonTexts<Kinds extends ConditionsByKind = ConditionsByKind> = {
  readonly [Kind in keyof Kinds]: {
    readonly [Type in keyof Kinds[Kind]]: {
      readonly [S in ConditionStatus]: Readonly<Record<Kinds[Kind][Type]['reasons'][S][number], ReasonText>>
    }
  }
}

/** What metav1.Condition accepts as a reason. */
export const reasonPattern = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/

function say<Type extends string>(
  type: Type,
  status: ConditionStatus,
  reason: string,
  message: string,
  observedGeneration: number | undefined,
): ConditionIntent<Type> {
  const condition = { type, status, reason, message }
  return observedGeneration === undefined ? condition : { ...condition, observedGeneration }
}

/** Declares a condition whose reasons are all listed. */
export function condition<Type extends string, const R extends Reasons>(type: Type, reasons: R): ConditionDefinition<Type, R> {
  return {
    type,
    reasons,
    open: [],
    yes: (reason, message, generation) => say(type, 'True', reason, message, generation),
    no: (reason, message, generation) => say(type, 'False', reason, message, generation),
    unknown: (reason, message, generation) => say(type, 'Unknown', reason, message, generation),
    lists: (status, reason) => reasons[status].includes(reason),
  }
}

/** Declares a condition that, for the statuses in `open`, may also carry a reason of another component. */
export function reportedCondition<Type extends string, const R extends Reasons, const Open extends ConditionStatus>(
  type: Type,
  reasons: R,
  open: readonly Open[],
): ReportedCondition<Type, R, Open> {
  const isOpen = (status: ConditionStatus) => open.some((candidate) => candidate === status)
  return {
    ...condition(type, reasons),
    open,
    reported: (status, reason, message, generation) => say(type, status, reason, message, generation),
    lists: (status, reason) => reasons[status].includes(reason) || (isOpen(status) && reasonPattern.test(reason)),
  }
}
