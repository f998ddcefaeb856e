/**
 * Order of resource versions as decimal strings, never as JS numbers, which round above 2^53.
 * Source: KEP-5504 (comparable resource versions).
 */

const wellFormed = /^[1-9][0-9]*$/

const hasOrder = (version: string | undefined): version is string => wellFormed.test(String(version))

export type VersionOrder = 'older' | 'same' | 'newer' | 'unknown'

/** How `version` stands to `than`. Where one of them is not well formed only equality is known. */
export function orderOfVersions(version: string | undefined, than: string | undefined): VersionOrder {
  if (version === than) return version === undefined ? 'unknown' : 'same'
  if (!hasOrder(version) || !hasOrder(than)) return 'unknown'
  if (version.length !== than.length) return version.length < than.length ? 'older' : 'newer'
  return version < than ? 'older' : 'newer'
}
