import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { IPAllocation, IPClaim, IPClass, IPPool } from '../src/index.ts'
import { alphaPools } from './alpha-pools.ts'
import { overlaps, requireBlock } from './block.ts'
import { allocationName } from './names.ts'
import { type Draft, type Plan, planFor, type Standing } from './plan.ts'
import { Refused } from './refused.ts'
import { carvedLabel, choresIn, claimUidLabel } from './tidy.ts'

const alpha = alphaPools()
const isOf = (kind: string) => (object: { kind: string }) => object.kind === kind
const empty: Standing = {
  classes: alpha.filter(isOf('IPClass')) as unknown as IPClass[],
  pools: alpha.filter(isOf('IPPool')) as unknown as IPPool[],
  allocations: [],
  claims: [],
}

const scope = (network: string, location = 'here') => ({
  network: { apiGroup: 'example.com', kind: 'Network', name: network },
  location: { apiGroup: 'example.com', kind: 'Location', name: location },
})

/** The world after a plan was carried out. */
function after(standing: Standing, draft: Draft, plan: Plan): Standing {
  const { namespace, name = '', spec } = draft
  const uid = `uid of ${name}`
  const allocation: IPAllocation[] = plan.allocation
    ? [
        {
          apiVersion: '',
          kind: 'IPAllocation',
          metadata: { namespace, name: allocationName(namespace, name), labels: { [claimUidLabel]: uid } },
          spec: {
            ...{ ipFamily: plan.allocation.family, poolRef: { name: plan.pool }, className: plan.allocation.className },
            ...{ purpose: 'Claim', claimRef: { name }, reclaimPolicy: spec.reclaimPolicy ?? 'Delete' },
            ...(spec.scope ? { scope: spec.scope } : {}),
          },
          status: { allocatedCIDR: plan.cidr },
        },
      ]
    : []
  const pools = plan.pools.map(
    (pool): IPPool => ({
      apiVersion: '',
      kind: 'IPPool',
      metadata: { name: pool.name, labels: { [carvedLabel]: 'true' } },
      spec: {
        ...{ cidr: pool.cidr, ipFamily: pool.family, classNames: pool.classNames },
        ...{ parentPoolRef: { name: pool.parent }, scope: { ...pool.scope } },
      },
    }),
  )
  const status: IPClaim['status'] = { phase: 'Bound', allocatedCIDR: plan.cidr, poolRef: { name: plan.pool } }
  const claim: IPClaim = { apiVersion: '', kind: 'IPClaim', metadata: { namespace, name, uid }, spec, status }
  return {
    ...standing,
    pools: [...standing.pools, ...pools],
    allocations: [...standing.allocations.filter(({ metadata }) => metadata.name !== plan.allocation?.retained), ...allocation],
    claims: [...standing.claims, claim],
  }
}

const draft = (name: string, spec: Draft['spec']): Draft => ({ namespace: 'ns', name, spec })

function given(...drafts: Draft[]): Standing {
  return drafts.reduce((standing, each) => after(standing, each, planFor(each, standing)), empty)
}

/** Without the claim; what it kept stays where the policy says so. */
function without(standing: Standing, name: string): Standing {
  const isIts = ({ spec }: IPAllocation) => spec.claimRef?.name === name
  return {
    ...standing,
    claims: standing.claims.filter(({ metadata }) => metadata.name !== name),
    allocations: standing.allocations.flatMap((each) => {
      if (!isIts(each)) return [each]
      const { claimRef, ...spec } = each.spec
      return spec.reclaimPolicy === 'Retain' ? [{ ...each, spec }] : []
    }),
  }
}

const six = (network = 'one', location?: string): Draft['spec'] => ({ ipFamily: 'IPv6', scope: scope(network, location) })
const four: Draft['spec'] = { ipFamily: 'IPv4', scope: scope('one') }
const range = (className: string, network = 'one'): Draft['spec'] => ({ className, target: 'ScopeRange', scope: scope(network) })

const answers: { says: string; standing: Standing; asks: Draft; want: string }[] = [
  {
    says: 'the first endpoint of a network leaves its first block',
    standing: empty,
    asks: draft('a', six()),
    want: 'fd20:1000::1:0:0/96',
  },
  { says: 'the next one follows', standing: given(draft('a', six())), asks: draft('b', six()), want: 'fd20:1000::2:0:0/96' },
  {
    says: 'another location of the network has its own /64',
    standing: given(draft('a', six())),
    asks: draft('b', six('one', 'there')),
    want: 'fd20:1000:0:1:0:1::/96',
  },
  {
    says: 'another network has its own /48',
    standing: given(draft('a', six())),
    asks: draft('b', six('two')),
    want: 'fd20:1000:1::1:0:0/96',
  },
  {
    says: 'an IPv4 range’s own address and the first are nobody’s',
    standing: empty,
    asks: draft('a', four),
    want: '10.128.0.2/32',
  },
  {
    says: 'a class is asked for by name',
    standing: empty,
    asks: draft('a', { className: 'datum-public-v4', scope: scope('one') }),
    want: '198.51.100.2/32',
  },
  {
    says: 'a range of a network is carved from the root',
    standing: empty,
    asks: draft('n', range('datum-network-v6')),
    want: 'fd20:1000::/48',
  },
  {
    says: 'a range of a location is carved from its network’s',
    standing: given(draft('n', range('datum-network-v6'))),
    asks: draft('c', range('datum-subnet-v6')),
    want: 'fd20:1000::/64',
  },
  {
    says: 'a range that endpoints made necessary is bound as it stands',
    standing: given(draft('a', six())),
    asks: draft('c', range('datum-subnet-v6')),
    want: 'fd20:1000::/64',
  },
  {
    says: 'an address is given as asked for',
    standing: empty,
    asks: draft('a', { ...four, address: '10.128.9.9' }),
    want: '10.128.9.9/32',
  },
  {
    says: 'a freed block is given again',
    standing: without(given(draft('a', four), draft('b', four)), 'a'),
    asks: draft('c', four),
    want: '10.128.0.2/32',
  },
  {
    says: 'a retained block comes back to a claim of its name',
    standing: without(given(draft('a', four), draft('b', { ...four, reclaimPolicy: 'Retain' })), 'b'),
    asks: draft('b', four),
    want: '10.128.0.3/32',
  },
  {
    says: 'what a claim was answered stays its own when its allocation is gone',
    standing: { ...given(draft('a', four)), allocations: [] },
    asks: draft('b', four),
    want: '10.128.0.3/32',
  },
  {
    says: 'a retained block is nobody else’s',
    standing: without(given(draft('a', { ...four, reclaimPolicy: 'Retain' })), 'a'),
    asks: draft('b', four),
    want: '10.128.0.3/32',
  },
]

for (const { says, standing, asks, want } of answers) {
  test(says, () => {
    const plan = planFor(asks, standing)
    assert.equal(plan.cidr, want)
    assert.equal(plan.allocation === undefined, asks.spec.target === 'ScopeRange')
    assert.deepEqual(choresIn(after(standing, asks, plan)), [], 'what was carried out leaves nothing to put right')
  })
}

const noPools = { ...empty, pools: [] }
const fullPool = {
  ...empty,
  pools: empty.pools.map((pool) =>
    pool.spec.ipFamily === 'IPv4' ? { ...pool, spec: { ...pool.spec, cidr: '10.128.0.0/31' } } : pool,
  ),
}
const circle = {
  ...empty,
  classes: empty.classes.map((each) =>
    each.metadata.name === 'datum-network-v6' ? { ...each, spec: { ...each.spec, parentClassName: 'datum-endpoint-v6' } } : each,
  ),
}

const refusals: { says: string; standing?: Standing; asks: Draft; want: string[] }[] = [
  { says: 'a class that is not there', asks: draft('a', { className: 'gold' }), want: ['ClassNotFound'] },
  { says: 'neither class nor family', asks: draft('a', {}), want: ['NoDefaultClass'] },
  {
    says: 'a family without a default class',
    standing: { ...empty, classes: [] },
    asks: draft('a', four),
    want: ['NoDefaultClass'],
  },
  {
    says: 'a class of the other family',
    asks: draft('a', { ...four, className: 'datum-endpoint-v6' }),
    want: ['NoOfferingPool'],
  },
  { says: 'no pool serves the class', standing: noPools, asks: draft('a', four), want: ['NoOfferingPool'] },
  { says: 'classes in a circle', standing: circle, asks: draft('a', six()), want: ['NoOfferingPool'] },
  {
    says: 'a length that the class does not give',
    asks: draft('a', { ...four, prefixLength: 31 }),
    want: ['PrefixLengthRejected at spec.prefixLength'],
  },
  {
    says: 'an address that is larger than a block',
    asks: draft('a', { ...four, address: '10.128.0.0/24' }),
    want: ['PrefixLengthRejected at spec.address'],
  },
  { says: 'an address of no pool', asks: draft('a', { ...four, address: '10.9.9.9' }), want: ['NoOfferingPool'] },
  {
    says: 'an address that is held',
    standing: given(draft('a', four)),
    asks: draft('b', { ...four, address: '10.128.0.2' }),
    want: ['ClaimExists'],
  },
  { says: 'an address that is reserved', asks: draft('b', { ...four, address: '10.128.0.1' }), want: ['ClaimExists'] },
  {
    says: 'a scope without its roles: each is named',
    asks: draft('a', { ipFamily: 'IPv6' }),
    want: ['ScopeRolesMissing at spec.scope.network', 'ScopeRolesMissing at spec.scope.location'],
  },
  { says: 'a full pool is named', standing: fullPool, asks: draft('a', four), want: ['Exhausted of alpha-v4'] },
  {
    says: 'a range that another claim binds',
    standing: given(draft('n', range('datum-network-v6'))),
    asks: draft('m', range('datum-network-v6')),
    want: ['ClaimExists'],
  },
  { says: 'a range of a class without any', asks: draft('n', range('datum-endpoint-v6')), want: ['NoOfferingPool'] },
  {
    says: 'a retained block of another scope',
    standing: without(given(draft('a', { ...four, reclaimPolicy: 'Retain' })), 'a'),
    asks: draft('a', { ...four, scope: scope('two') }),
    want: ['AllocationRetained'],
  },
]

for (const { says, standing = empty, asks, want } of refusals) {
  test(`refused: ${says}`, () => {
    assert.throws(
      () => planFor(asks, standing),
      (error) => {
        assert.ok(error instanceof Refused)
        const shown = error.refusals.map(
          ({ type, field, pool }) => `${type}${field ? ` at ${field}` : ''}${pool ? ` of ${pool}` : ''}`,
        )
        assert.deepEqual(shown, want)
        return true
      },
    )
  })
}

test('where a class is unique within a network, two networks may hold the same address', () => {
  const classes = empty.classes.map((each) =>
    each.metadata.name === 'datum-endpoint-v4' ? { ...each, spec: { ...each.spec, uniqueWithin: ['network'] } } : each,
  )
  const first = draft('a', four)
  const standing = after({ ...empty, classes }, first, planFor(first, { ...empty, classes }))
  assert.equal(planFor(draft('b', { ...four, scope: scope('two') }), standing).cidr, '10.128.0.2/32')
  assert.equal(planFor(draft('b', four), standing).cidr, '10.128.0.3/32')
})

test('whatever is claimed and given back in whatever order: no two hold the same address, and all comes free in the end', () => {
  const step = fc.record({
    name: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    network: fc.constantFrom('one', 'two'),
    kind: fc.constantFrom('six', 'four', 'network', 'location'),
    keeps: fc.boolean(),
  })
  const property = fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
    let standing = empty
    for (const { name, network, kind, keeps } of steps) {
      if (standing.claims.some(({ metadata }) => metadata.name === name)) {
        standing = tidied(without(standing, name))
        continue
      }
      const classes = { network: 'datum-network-v6', location: 'datum-subnet-v6' } as const
      const base =
        kind === 'six' || kind === 'four'
          ? kind === 'six'
            ? six(network)
            : { ...four, scope: scope(network) }
          : range(classes[kind], network)
      const asks = draft(name, { ...base, reclaimPolicy: keeps ? 'Retain' : 'Delete' })
      try {
        standing = after(standing, asks, planFor(asks, standing))
      } catch (error) {
        assert.ok(error instanceof Refused, String(error))
      }
      assertApart(standing)
    }
    for (const { metadata } of standing.claims) standing = without(standing, metadata.name)
    standing = tidied({ ...standing, allocations: [] })
    assert.deepEqual(standing.pools, empty.pools)
  })
  fc.assert(property)
})

/** As the service puts right, again and again. */
function tidied(standing: Standing): Standing {
  let now = standing
  for (let chores = choresIn(now); chores.length > 0; chores = choresIn(now)) {
    for (const chore of chores) {
      assert.equal(chore.do, 'drop-pool')
      if (chore.do === 'drop-pool') now = { ...now, pools: now.pools.filter((pool) => pool !== chore.pool) }
    }
  }
  return now
}

function assertApart({ allocations, pools }: Standing): void {
  const blocks = allocations.map(({ status }) => requireBlock(status?.allocatedCIDR ?? ''))
  for (const [at, one] of blocks.entries())
    for (const other of blocks.slice(at + 1)) assert.ok(!overlaps(one, other), 'two hold the same address')
  const carved = pools.filter(({ spec }) => spec.parentPoolRef)
  for (const [at, one] of carved.entries())
    for (const other of carved.slice(at + 1))
      if (one.spec.parentPoolRef?.name === other.spec.parentPoolRef?.name)
        assert.ok(!overlaps(requireBlock(one.spec.cidr), requireBlock(other.spec.cidr)), 'two pools overlap')
}
