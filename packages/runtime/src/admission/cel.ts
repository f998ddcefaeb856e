/** Pieces of CEL text. Source: KEP-3488, the CEL language definition with Kubernetes' libraries. */

/** A string literal: JSON's escapes are CEL's. */
export const quoted = (text: string): string =>
  `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`

export const listOf = (texts: readonly string[]): string => `[${texts.map(quoted).join(', ')}]`

/** Words of any alphabet as part of a CEL identifier. */
export const identifier = (text: string): string => text.replaceAll(/[^A-Za-z0-9]/g, '_')

/** The first that is true decides. */
export const anyOf = (...terms: readonly string[]): string => (terms.length > 0 ? terms.join(' || ') : 'false')

/** Concatenation of lists; an empty one where there is none. */
export const sumOf = (...lists: readonly string[]): string => (lists.length > 0 ? lists.join('\n  + ') : '[]')
