/** Compares what pages about ownership tell with what tables and conditions have. For tests. */
import { type ConditionDefinition, type ReasonText, type ReasonTexts, reasonStatuses } from './condition.ts'
import type { OwnershipTable, ResourceOwnership } from './ownership.ts'

export type Documentation = {
  readonly table: OwnershipTable
  /** By kind, then by type. */
  readonly conditions: Readonly<Record<string, Readonly<Record<string, ConditionDefinition>>>>
  readonly reasons: ReasonTexts
  /** Finalizers, labels and annotations that other programs read on objects of the table. */
  readonly names: readonly string[]
}

const isText = (text: string | undefined) => text !== undefined && text.trim() !== ''

function statusGaps({ kind, status, texts = {} }: ResourceOwnership): string[] {
  const owned = status.flatMap(({ owns }) => owns)
  return [
    ...owned
      .filter((path) => !isText(texts[path]?.when) || !isText(texts[path]?.source))
      .map((path) => `${kind.kind}.${path} has no text`),
    ...Object.keys(texts)
      .filter((path) => !owned.includes(path))
      .map((path) => `${kind.kind}.${path} has a text and no writer`),
  ]
}

function metadataGaps({ kind, metadata }: ResourceOwnership): string[] {
  return metadata
    .filter(({ when, source }) => !isText(when) || !isText(source))
    .map(({ path }) => `${kind.kind}.${path} has no text`)
}

function reasonGaps(at: string, listed: readonly string[], texts: Readonly<Record<string, ReasonText>> = {}): string[] {
  return [
    ...listed
      .filter((reason) => !isText(texts[reason]?.means) || !isText(texts[reason]?.remedy))
      .map((reason) => `${at} ${reason} has no text`),
    ...Object.keys(texts)
      .filter((reason) => !listed.includes(reason))
      .map((reason) => `${at} ${reason} has a text and is not listed`),
  ]
}

function conditionGaps({ conditions, reasons }: Documentation): string[] {
  return Object.entries(conditions).flatMap(([kind, types]) =>
    Object.entries(types).flatMap(([type, definition]) =>
      reasonStatuses.flatMap((status) =>
        reasonGaps(`${kind}.conditions/${type} ${status}`, definition.reasons[status], reasons[kind]?.[type]?.[status]),
      ),
    ),
  )
}

/** In a path of its own, or as a key of a map that is one path. */
const isNamed = (name: string, table: OwnershipTable) =>
  table.some(({ metadata, foreign = [] }) =>
    [...metadata, ...foreign].some((row) => row.path.endsWith(`/${name}`) || ('keys' in row && row.keys?.includes(name))),
  )

/** What is told of nothing, and what is not told, each as one phrase; empty when all agree. */
export function documentationGaps(documentation: Documentation): string[] {
  const { table, names } = documentation
  return [
    ...table.flatMap(statusGaps),
    ...table.flatMap(metadataGaps),
    ...conditionGaps(documentation),
    ...names.filter((name) => !isNamed(name, table)).map((name) => `${name} is in no row`),
  ]
}
