/** What a claim is answered, from what stands: pure. */
import type { IPAllocation, IPClaim, IPClass, IPPool } from '../src/index.ts'
import {
  type Block,
  contains,
  type Family,
  firstFree,
  firstGiven,
  formatBlock,
  overlaps,
  readBlock,
  requireBlock,
} from './block.ts'
import { classFor, lengthFor, lineageOf, requireClass, rolesMissing } from './class-of.ts'
import { allocationName, poolName, type Scope, scopeText, within } from './names.ts'
import { Refused } from './refused.ts'

export type Standing = {
  readonly classes: readonly IPClass[]
  readonly pools: readonly IPPool[]
  readonly allocations: readonly IPAllocation[]
  readonly claims: readonly IPClaim[]
}

/** A claim to be answered; without a name where the server is to choose one. */
export type Draft = { namespace: string; name?: string | undefined; spec: IPClaim['spec'] }

export type NewPool = { name: string; cidr: string; family: Family; parent: string; classNames: string[]; scope: Scope }

/** `allocation`: absent where a pool itself is bound. `retained`: the name of one that stands and is taken up. */
export type Plan = {
  pools: readonly NewPool[]
  cidr: string
  pool: string
  allocation?: { className: string; family: Family; retained?: string | undefined }
}

/** A pool that stands or is to be made. */
type Range = { name: string; block: Block; family: Family }

type Work = { standing: Standing; scope: Scope; made: NewPool[] }

/** Throws `Refused`. */
export function planFor(draft: Draft, standing: Standing): Plan {
  const { spec } = draft
  const found = classFor(spec, standing.classes)
  const missing = rolesMissing(spec, lineageOf(found, standing.classes))
  if (missing.length > 0) throw new Refused(...missing)
  const work: Work = { standing, scope: spec.scope ?? {}, made: [] }
  return spec.target === 'ScopeRange' ? planPool(draft, found, work) : planBlock(draft, found, work)
}

function planPool(draft: Draft, found: IPClass, work: Work): Plan {
  const { name } = found.metadata
  if (!found.spec.poolPer?.length)
    throw new Refused({ type: 'NoOfferingPool', message: `class ${name} has no pools of its own that could be bound` })
  const pool = poolOf(found, work)
  const holder = work.standing.claims.find((claim) => isAnother(claim, draft) && bindsPool(claim, pool.name))
  if (holder)
    throw new Refused({
      type: 'ClaimExists',
      message: `pool ${pool.name} of this scope is bound by IPClaim ${holder.metadata.namespace}/${holder.metadata.name}`,
    })
  return { pools: work.made, cidr: formatBlock(pool.block), pool: pool.name }
}

const isAnother = ({ metadata }: IPClaim, { namespace, name }: Draft): boolean =>
  metadata.namespace !== namespace || metadata.name !== name

export const bindsPool = ({ spec, status }: IPClaim, pool: string): boolean =>
  spec.target === 'ScopeRange' && status?.poolRef?.name === pool

function planBlock(draft: Draft, found: IPClass, work: Work): Plan {
  const { spec, namespace, name } = draft
  const prefixLength = lengthFor(spec, found)
  const allocation = { className: found.metadata.name, family: found.spec.ipFamily }
  const left = name === undefined ? undefined : heldBy(namespace, name, work.standing)
  if (left) {
    const { cidr, pool } = takenUp(left, draft, found)
    return { pools: [], cidr, pool, allocation: { ...allocation, retained: left.metadata.name } }
  }
  const ranges = rangesFor(found, work)
  const wanted = spec.address === undefined ? undefined : wantedBlock(spec.address, prefixLength)
  if (wanted && !ranges.some(({ block }) => contains(block, wanted)))
    throw new Refused({ type: 'NoOfferingPool', message: `no pool of class ${found.metadata.name} has ${formatBlock(wanted)}` })
  for (const range of ranges) {
    const block = wanted ? takeExactly(wanted, range, found, work) : take(prefixLength, range, found, work)
    if (block) return { pools: work.made, cidr: formatBlock(block), pool: range.name, allocation }
  }
  throw exhausted(ranges[0]?.name ?? '', prefixLength)
}

/** What a claim of this name has left behind, or holds already without having been answered. */
function heldBy(namespace: string, name: string, { allocations }: Standing): IPAllocation | undefined {
  const own = allocationName(namespace, name)
  return allocations.find(({ metadata }) => metadata.namespace === namespace && metadata.name === own)
}

function takenUp(left: IPAllocation, { name, spec }: Draft, found: IPClass): { cidr: string; pool: string } {
  const { className, scope, poolRef } = left.spec
  const cidr = left.status?.allocatedCIDR ?? ''
  const asked = spec.address === undefined ? undefined : readBlock(spec.address)
  const isSame =
    className === found.metadata.name &&
    scopeText(scope ?? {}) === scopeText(spec.scope ?? {}) &&
    (asked === undefined || contains(requireBlock(cidr), asked))
  if (isSame) return { cidr, pool: poolRef.name }
  throw new Refused({
    type: 'AllocationRetained',
    message: `IPAllocation ${left.metadata.name} keeps ${cidr} for a claim ${name} of class ${className} and another scope, class or address`,
  })
}

/** The pools that a block of this class may come from, the first to be tried first. */
function rangesFor(found: IPClass, work: Work): Range[] {
  const { parentClassName } = found.spec
  if (parentClassName !== undefined) return [poolOf(requireClass(parentClassName, work.standing.classes), work)]
  const { name } = found.metadata
  const serving = work.standing.pools
    .filter(({ spec }) => spec.classNames?.includes(name) && spec.ipFamily === found.spec.ipFamily)
    .filter(({ spec }) => Object.entries(spec.scope ?? {}).every(([role, of]) => work.scope[role]?.name === of.name))
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
  if (serving.length === 0)
    throw new Refused({ type: 'NoOfferingPool', message: `no pool that is open to this scope serves class ${name}` })
  return serving.map(({ metadata, spec }) => ({
    name: metadata.name,
    block: requireBlock(spec.cidr),
    family: spec.ipFamily,
  }))
}

/** The pool of a class for the scope: the one that stands, or a new one, carved from its own class's pool. */
function poolOf(found: IPClass, work: Work): Range {
  const { poolPer = [], ipFamily: family, defaultPrefixLength } = found.spec
  const scope = within(work.scope, poolPer)
  const name = poolName(found.metadata.name, scope)
  const stands = work.standing.pools.find(({ metadata }) => metadata.name === name)?.spec.cidr
  if (stands !== undefined) return { name, family, block: requireBlock(stands) }
  if (defaultPrefixLength === undefined)
    throw new Refused({ type: 'PrefixLengthRejected', message: `class ${found.metadata.name} says no length of its pools` })
  const parents = rangesFor(found, work)
  const classNames = work.standing.classes
    .filter(({ spec }) => spec.parentClassName === found.metadata.name)
    .map(({ metadata }) => metadata.name)
  for (const parent of parents) {
    const block = take(defaultPrefixLength, parent, found, work)
    if (!block) continue
    work.made.push({ name, cidr: formatBlock(block), family, parent: parent.name, classNames, scope })
    return { name, family, block }
  }
  throw exhausted(parents[0]?.name ?? '', defaultPrefixLength)
}

function take(prefixLength: number, range: Range, found: IPClass, work: Work): Block | undefined {
  return firstFree({ range: range.block, taken: takenIn(range, found, work), reserved: reservedBy(found) }, prefixLength)
}

/** A block that is asked for by name: where it lies in the range, it is free or the claim is refused. */
function takeExactly(wanted: Block, range: Range, found: IPClass, work: Work): Block | undefined {
  if (!contains(range.block, wanted)) return undefined
  const isReserved = wanted.start < firstGiven({ range: range.block, reserved: reservedBy(found) })
  if (!isReserved && !takenIn(range, found, work).some((block) => overlaps(block, wanted))) return wanted
  throw new Refused({
    type: 'ClaimExists',
    message: `${formatBlock(wanted)} of pool ${range.name} is ${isReserved ? 'reserved' : 'held by another claim'}`,
  })
}

function wantedBlock(address: string, prefixLength: number): Block {
  const read = readBlock(address)
  if (!read) throw new Refused({ type: 'PrefixLengthRejected', field: 'spec.address', message: `${address} is no address` })
  if (read.prefixLength < prefixLength)
    throw new Refused({
      type: 'PrefixLengthRejected',
      field: 'spec.address',
      message: `${address} is larger than a block of /${prefixLength}`,
    })
  const whole = { ...read, prefixLength }
  const size = BigInt(read.family === 'IPv4' ? 32 : 128) - BigInt(prefixLength)
  return { ...whole, start: (read.start >> size) << size }
}

/** Blocks of the range that are held, and pools in it. Where the class is unique within a scope only, those of the same one count. */
function takenIn({ name }: Range, { spec }: IPClass, { standing, scope, made }: Work): Block[] {
  const { uniqueWithin = [] } = spec
  const own = scopeText(within(scope, uniqueWithin))
  const isHere = (of: Scope = {}) => scopeText(within(of, uniqueWithin)) === own
  const allocated = standing.allocations.filter(({ spec: { poolRef, scope: of } }) => poolRef.name === name && isHere(of))
  // Also where somebody has deleted the allocation behind a claim: its holder goes on using it.
  const answered = standing.claims.filter(
    ({ status, spec }) => status?.poolRef?.name === name && !spec.target && isHere(spec.scope),
  )
  const held = [...allocated, ...answered].flatMap(({ status }) => readBlock(status?.allocatedCIDR ?? '') ?? [])
  const pools = standing.pools.filter((each) => each.spec.parentPoolRef?.name === name).map((each) => each.spec.cidr)
  const fresh = made.filter(({ parent }) => parent === name).map(({ cidr }) => cidr)
  return [...held, ...[...pools, ...fresh].map(requireBlock)]
}

function reservedBy({ spec: { reservations } }: IPClass) {
  if (reservations?.leading === undefined || reservations.unitPrefixLength === undefined) return undefined
  return { leading: reservations.leading, unitPrefixLength: reservations.unitPrefixLength }
}

const exhausted = (pool: string, prefixLength: number): Refused =>
  new Refused({ type: 'Exhausted', pool, message: `pool ${pool} has no free block of /${prefixLength}` })
