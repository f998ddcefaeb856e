/** Reads what an explanation is asked of: `claim/web-0`, or `claim web-0` like kubectl. */
import { NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import { Explained } from '../failure.ts'
import { kindNamed } from '../kind-names.ts'
import type { Target } from './chain.ts'

export type Asked = Pick<Target, 'kind' | 'name'>

/** Kinds that can be explained. */
export const explained = [NetworkInterfaceClaim, NetworkInterface] as const

/** Rejects with `Explained` what names no object. */
export function parseTarget(words: readonly string[]): Asked {
  const [first = '', second, ...rest] = words
  const slash = first.indexOf('/')
  const [kind, name] = slash < 0 ? [first, second] : [first.slice(0, slash), first.slice(slash + 1)]
  const extra = slash < 0 ? rest : [second, ...rest].filter((word) => word !== undefined)
  const found = kindNamed(explained, kind)
  if (!name || extra.length > 0) throw new Explained(`One object is explained at a time: nso explain ${kind}/NAME.`)
  return { kind: found === NetworkInterfaceClaim ? 'claim' : 'interface', name }
}
