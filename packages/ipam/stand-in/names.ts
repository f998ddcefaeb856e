/** Names of what the service makes: from what they are for, so that a second attempt finds what the first one made. */
import { createHash } from 'node:crypto'
import type { ScopeReference } from '../src/index.ts'

export type Scope = Readonly<Record<string, ScopeReference>>

const digest = (text: string, length: number) => createHash('sha256').update(text).digest('hex').slice(0, length)

/** Of the allocation that a claim of this name holds, or has left behind. */
export const allocationName = (namespace: string, claim: string): string => `block-${digest(`${namespace}\0${claim}`, 24)}`

/** Of the pool of a class for one scope. */
export const poolName = (className: string, scope: Scope): string => `${className.slice(0, 200)}-${digest(scopeText(scope), 12)}`

/** One text for a scope, whatever the order of its roles. */
export function scopeText(scope: Scope): string {
  const roles = Object.keys(scope).sort()
  return JSON.stringify(roles.map((role) => [role, scope[role]?.apiGroup, scope[role]?.kind, scope[role]?.name]))
}

/** The part of a scope that these roles are. */
export function within(scope: Scope, roles: readonly string[]): Scope {
  return Object.fromEntries(roles.flatMap((role) => (scope[role] ? [[role, scope[role]]] : [])))
}
