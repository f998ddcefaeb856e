/** Who wrote a path of an object, held against the tables, as the explanation says it. Pure. */
import type { KubeObject } from 'kube-control-loop'
import { isSeed, showOwner, showWriter, toMigrate } from '../owners/findings.ts'
import { statusWriters, type Writer } from '../owners/judge.ts'
import { conditionOf } from '../owners/stored.ts'
import { componentOf, isNamed, type Owner, rowOf, statusOwnersOf, userOf } from '../owners/table.ts'
import type { Written } from './model.ts'

export type About = {
  readonly object: KubeObject
  /** Whether objects come with their managedFields at all. */
  readonly tells: boolean
}

function ownersOf(object: KubeObject, path: string): Owner[] {
  const row = rowOf(object)
  return row ? statusOwnersOf(row, path) : []
}

function documentedIn(owners: readonly Owner[]): Pick<Written, 'documented'> {
  const [owner] = owners
  if (!owner) return {}
  const component = componentOf(owner.identity)
  return { documented: { writer: owner.writer, ...(component ? { component } : {}), identity: userOf(owner.identity) } }
}

/** For a status path, `phase` or `conditions/Ready`, that stands in the object. */
export function writtenOn({ object, tells }: About, path: string): Written {
  const owners = ownersOf(object, path)
  const documented = documentedIn(owners)
  const writers = statusWriters(object, path)
  if (writers.length > 0) {
    const complaint = complaintAbout(object, owners, writers)
    return { by: 'manager', writers, ...documented, ...(complaint ? { complaint } : {}) }
  }
  const condition = path.startsWith('conditions/') ? conditionOf(object, path.slice('conditions/'.length)) : undefined
  if (condition && isSeed(condition)) return { by: 'CRD default', writers, ...documented }
  if (!tells) return { by: 'not in the dump', writers, ...documented }
  const should = owners.find(isNamed)
  const complaint = should ? { complaint: `nobody owns it; its documented writer is ${showOwner(should)}` } : {}
  return { by: 'nobody', writers, ...documented, ...complaint }
}

/** For a condition that should stand and does not. */
export function writtenOnAbsent(object: KubeObject, path: string): Written {
  return { by: 'absent', writers: [], ...documentedIn(ownersOf(object, path)) }
}

function complaintAbout(object: KubeObject, owners: readonly Owner[], writers: readonly Writer[]): string | undefined {
  const should = owners.map(showOwner).join(' or ')
  const foreign = writers.filter(({ standing }) => standing === 'foreign')
  const names = foreign.map(showWriter).join(' and ')
  const isOwn = writers.some(({ standing, holdsValue }) => standing === 'documented' && holdsValue)
  if (foreign.length > 0 && owners.length === 0) return `written by ${names}; it is reserved and written by nobody`
  if (foreign.some(({ holdsValue }) => holdsValue) && !isOwn) return `NOT the documented writer: ${names} wrote it, not ${should}`
  if (foreign.length > 0) return `second owner: ${names}, beside ${should}`
  const former = writers.find(({ standing }) => standing === 'former')
  const row = rowOf(object)
  return former && row ? `owned by ${showWriter(former)} of an earlier release${toMigrate(row)}` : undefined
}

/** Whether somebody else than the documented writer holds the value, or took it away. */
export function isForeign({ writers, complaint }: Written): boolean {
  return complaint?.startsWith('NOT') === true && writers.some(({ standing }) => standing === 'foreign')
}

/** `nso-dataplane (NSO)`, `"kubectl-edit"`. */
export function writerName({ manager, component }: Writer): string {
  return component ? `${manager} (${component})` : `"${manager}"`
}
