/**
 * The built-in allocator against a brute-force model: a plain set of addresses. What stands is a record in this file, which
 * the allocator's writers write and its caches are told of; every answer, and every crash in between, is drawn.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AddressLease, NetworkContext, NetworkInterface, NetworkInterfaceClaim, Subnet } from '@nso/api'
import fc from 'fast-check'
import { createCache, createClient, type Key, keyOf, silentLogger, systemClock, WriteRaced } from 'kube-control-loop'
import { scriptTransport } from 'kube-control-loop/testing'
import { type Caches, createCaches } from '../caches.ts'
import { allocate } from './allocate.ts'
import { type Block, formatCidr, lastOf, overlaps, readBlock } from './cidr.ts'
import { releaseClaim, releaseInterface, releaseSurplus } from './give-back.ts'
import { createHeldAddresses } from './held.ts'
import { hasSurplus } from './known.ts'
import { isAssignable, unitAround } from './layout.ts'
import type { AllocatorParts } from './parts.ts'
import type { AddressRequest } from './port.ts'
import { createPosting } from './posting.ts'
import { subnetLayout } from './subnet-range.ts'
import { verify } from './verify.ts'
import { createWaitingClaims } from './waiting.ts'

const apiVersion = 'networking.datumapis.com/v1alpha'
const signal = new AbortController().signal
const nobody = createClient(scriptTransport(), { clock: systemClock, jitter: () => 0.5 })

type What = { claim: number } & (
  | { do: 'allocate'; families: readonly ('IPv4' | 'IPv6')[]; answer: 'comes' | 'is lost' | 'never asked' }
  | { do: 'make interface' | 'end claim' | 'remove interface' | 'lose lease' | 'verify' | 'surplus' }
)
type Step = What | { do: 'restart' } | { do: 'tell' } | { do: 'edit'; ranges: readonly string[] }

const context = { metadata: { name: 'net-here', namespace: 'ns' }, spec: { network: { name: 'net' } } } as NetworkContext

function subnet(range: string, n: number): Subnet {
  const block = readBlock(range) ?? assert.fail(range)
  const [startAddress = '', length] = range.split('/')
  const metadata = { name: `s${n}`, namespace: 'ns', creationTimestamp: `2026-01-0${n + 1}T00:00:00Z` }
  const of = { subnetClass: 'private', networkContext: { name: 'net-here' }, location: { name: 'here' } }
  const spec = { ...of, ipFamily: block.family, startAddress, prefixLength: Number(length) }
  return { apiVersion, kind: 'Subnet', metadata, spec }
}

class Broken extends Error {}

/** What stands, and one process that works on it. */
function createWorld() {
  const leases = new Map<Key, AddressLease>()
  const interfaces = new Map<Key, NetworkInterface>()
  const untold: AddressLease[] = []
  let version = 0
  let answer: 'comes' | 'is lost' | 'never asked' = 'comes'
  let process = start()

  const stamped = <O extends AddressLease | NetworkInterface>(object: O): O => {
    version += 1
    return { ...object, metadata: { uid: `uid-${version}`, ...object.metadata, resourceVersion: `${version}` } }
  }

  function writer(caches: () => Caches) {
    return {
      async create(lease: AddressLease) {
        if (answer === 'never asked') throw new Broken()
        const stands = leases.get(keyOf(lease))
        if (stands) {
          caches().leases.absorb(stands)
          throw new WriteRaced(
            { controller: 'c', resource: 'addressleases', verb: 'create', key: keyOf(lease) },
            'AlreadyExists' as never,
          )
        }
        const made = stamped(lease)
        leases.set(keyOf(lease), made)
        if (answer === 'is lost') {
          untold.push(made)
          throw new Broken()
        }
        caches().leases.absorb(made)
        return made
      },
      async remove(lease: AddressLease) {
        if (leases.get(keyOf(lease))?.metadata.uid === lease.metadata.uid) leases.delete(keyOf(lease))
        caches().leases.absorbGone(lease)
      },
    }
  }

  function start(): { caches: Caches; parts: AllocatorParts } {
    const caches = createCaches((kind, options) =>
      createCache(nobody, kind, options, { clock: systemClock, jitter: () => 0.5, log: silentLogger }),
    )
    for (const lease of leases.values()) caches.leases.absorb(lease)
    for (const nic of interfaces.values()) caches.interfaces.absorb(nic)
    untold.length = 0
    const writes = writer(() => caches)
    const all: Record<string, ReadonlyMap<Key, unknown>> = { AddressLease: leases, NetworkInterface: interfaces }
    const live = { find: async ({ kind }: { kind: string }, { name }: { name: string }) => all[kind]?.get(`ns/${name}` as Key) }
    const parts = {
      leases: caches.leases,
      held: createHeldAddresses(caches),
      waiting: createWaitingClaims(),
      posting: createPosting(writes as never),
      client: live as never,
      subnetsElsewhere: () => [],
      claimWriter: writes,
      interfaceWriter: writes,
    } satisfies AllocatorParts
    return { caches, parts }
  }

  return {
    leases,
    interfaces,
    get parts() {
      return process.parts
    },
    get caches() {
      return process.caches
    },
    restart() {
      process = start()
    },
    /** The events of leases whose answer was lost. */
    tell() {
      for (const lease of untold.splice(0)) if (leases.get(keyOf(lease)) === lease) process.caches.leases.absorb(lease)
    },
    answers(how: typeof answer) {
      answer = how
    },
    put(nic: NetworkInterface) {
      const made = stamped(nic)
      interfaces.set(keyOf(nic), made)
      process.caches.interfaces.absorb(made)
    },
    drop(nic: NetworkInterface) {
      interfaces.delete(keyOf(nic))
      process.caches.interfaces.absorbGone(nic)
    },
    lose(lease: AddressLease) {
      leases.delete(keyOf(lease))
      process.caches.leases.absorbGone(lease)
    },
    isTold: () => untold.length === 0,
  }
}

type World = ReturnType<typeof createWorld>

function claimOf(n: number, life: number): NetworkInterfaceClaim & { metadata: { uid: string } } {
  const metadata = { name: `c${n}`, namespace: 'ns', uid: `c${n}-${life}` }
  return { metadata, spec: { network: { name: 'net' }, ipFamilies: ['IPv4', 'IPv6'] } } as never
}

function interfaceFor(claim: ReturnType<typeof claimOf>, cidrs: readonly string[]): NetworkInterface {
  const { name, uid } = claim.metadata
  const annotations = { 'networking.datumapis.com/allocation-claim': name, 'networking.datumapis.com/claim-uid': uid }
  const addresses = cidrs.map((address) => ({ family: readBlock(address)?.family, address }))
  const metadata = { name, namespace: 'ns', annotations, labels: { 'networking.datumapis.com/location': 'here' } }
  return {
    apiVersion,
    kind: 'NetworkInterface',
    metadata,
    spec: { network: { name: 'net' }, claimRef: { name }, addresses },
  } as never
}

/** Every address that something holds. */
function takenIn({ leases, interfaces }: World): Block[] {
  const listed = [...interfaces.values()].flatMap(({ spec }) => (spec.addresses ?? []).map(({ address }) => address))
  const texts = new Set([...[...leases.values()].map(({ spec }) => spec.address), ...listed])
  return [...texts].map((text) => readBlock(text) ?? assert.fail(text))
}

/** Every unit of the Subnets that may be handed out, one by one. */
function unitsOf(subnets: readonly Subnet[], family: 'IPv4' | 'IPv6'): Block[] {
  return subnets.flatMap((each) => {
    const layout = subnetLayout(each)
    if (layout?.range.family !== family) return []
    const units: Block[] = []
    for (let at = layout.range.start; at <= lastOf(layout.range); at = lastOf(unitAround(layout, at)) + 1n) {
      const unit = unitAround(layout, at)
      if (isAssignable(layout, unit)) units.push(unit)
    }
    return units
  })
}

async function play(steps: readonly Step[]): Promise<void> {
  const world = createWorld()
  const lives = new Map<number, number>()
  /** What each claim was told last. */
  const told = new Map<number, readonly string[]>()
  let subnets = ['10.0.0.0/29', 'fd00::/94'].map(subnet)
  const claim = (n: number) => claimOf(n, lives.get(n) ?? 0)
  const nicOf = (n: number) => world.interfaces.get(`ns/c${n}` as Key)
  const ownLeases = (n: number) => [...world.leases.values()].filter(({ spec }) => spec.holder.claimUID === claim(n).metadata.uid)

  async function ask(n: number, wants: readonly AddressRequest[]) {
    for (let tries = 0; tries < 40; tries += 1) {
      try {
        return await allocate(world.parts, { claim: claim(n), context, subnets, wants }, signal)
      } catch (error) {
        const errors = error instanceof AggregateError ? error.errors : [error]
        if (errors.some((one) => one instanceof Broken)) return undefined
        if (!errors.every((one) => one instanceof WriteRaced)) throw error
      }
    }
    return assert.fail('forty lost races in a row')
  }

  async function allocating({ claim: n, families, answer }: Extract<Step, { do: 'allocate' }>) {
    const had = ownLeases(n).map(({ spec }) => spec.address)
    const before = takenIn(world)
    world.answers(answer)
    const got = await ask(
      n,
      families.map((family) => ({ family })),
    )
    world.answers('comes')
    if (!got) return
    const isFree = (unit: Block) => !before.some((held) => overlaps(held, unit))
    const lacks = families.filter((family) => !had.some((text) => readBlock(text)?.family === family))
    const room = lacks.every((family) => unitsOf(subnets, family).some(isFree))
    if (got.kind === 'refused') {
      assert.equal(room && world.isTold(), false, got.message)
      assert.deepEqual(
        ownLeases(n).filter((lease) => world.caches.leases.get(keyOf(lease))),
        [],
        'a refusal leaves nothing',
      )
      told.delete(n)
      return
    }
    assert.ok(room)
    const cidrs = got.addresses.map(({ cidr }) => cidr)
    for (const cidr of cidrs) {
      assert.ok(had.includes(cidr) || isFree(readBlock(cidr) ?? assert.fail()), `${cidr} was held`)
      assert.ok(
        ownLeases(n).some(({ spec }) => spec.address === cidr),
        `${cidr} has a lease`,
      )
    }
    told.set(n, cidrs)
  }

  async function take(step: What) {
    const n = step.claim
    const nic = nicOf(n)
    if (step.do === 'allocate') {
      if (!nic) await allocating(step)
    } else if (step.do === 'make interface') {
      const cidrs = told.get(n)
      if (!nic && cidrs?.every((cidr) => ownLeases(n).some(({ spec }) => spec.address === cidr)))
        world.put(interfaceFor(claim(n), cidrs))
    } else if (step.do === 'verify') {
      if (nic) await verify(world.parts, { interface: nic, context, subnets }, signal).catch(() => {})
    } else if (step.do === 'lose lease') {
      for (const lease of ownLeases(n)) world.lose(lease)
      if (!nic) told.delete(n)
    } else if (step.do === 'surplus') {
      if (nic && hasSurplus(world.caches, claim(n), nic)) await releaseSurplus(world.parts, claim(n), nic, signal)
    } else await end(n, nic, step.do === 'end claim')
  }

  /** As the controllers do: the attachment is gone, the addresses are given back, the interface goes; then the claim. */
  async function end(n: number, nic: NetworkInterface | undefined, isClaim: boolean) {
    if (nic) {
      await releaseInterface(world.parts, nic, signal)
      world.drop(nic)
    }
    told.delete(n)
    if (!isClaim) return
    await releaseClaim(world.parts, { namespace: 'ns', name: `c${n}`, uid: claim(n).metadata.uid }, signal)
    assert.deepEqual(ownLeases(n), [], 'nothing of an ended claim is held')
    lives.set(n, (lives.get(n) ?? 0) + 1)
  }

  for (const step of steps) {
    if (step.do === 'restart') world.restart()
    else if (step.do === 'tell') world.tell()
    else if (step.do === 'edit') subnets = step.ranges.map(subnet)
    else await take(step)
    assertSound(world, told)
  }
}

/** No address is with two, and what the allocator knows is what stands. */
function assertSound(world: World, told: ReadonlyMap<number, readonly string[]>): void {
  const listed = [...world.interfaces.values()].flatMap(({ spec }) => (spec.addresses ?? []).map(({ address }) => address))
  assert.equal(new Set(listed).size, listed.length, 'two interfaces list one address')
  const all = [...told.values()].flat()
  assert.equal(new Set(all).size, all.length, 'two claims were told one address')
  assert.equal(world.parts.held.reserved, 0)
  if (!world.isTold()) return
  const taken = takenIn(world)
  const held = world.parts.held.in('ns/net' as Key)
  for (const unit of [...unitsOf([subnet('10.0.0.0/27', 0)], 'IPv4'), ...unitsOf([subnet('fd00::/92', 0)], 'IPv6')]) {
    assert.equal(
      held.isTaken(unit),
      taken.some((each) => overlaps(each, unit)),
      formatCidr(unit),
    )
  }
}

const one = fc.integer({ min: 0, max: 5 })
const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('allocate' as const),
      claim: one,
      families: fc.constantFrom(['IPv4'] as const, ['IPv6'] as const, ['IPv4', 'IPv6'] as const, ['IPv6', 'IPv4'] as const),
      answer: fc.constantFrom('comes' as const, 'comes' as const, 'comes' as const, 'is lost' as const, 'never asked' as const),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('make interface' as const), claim: one }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('end claim', 'remove interface', 'lose lease', 'verify', 'surplus' as const),
      claim: one,
    }) as fc.Arbitrary<What>,
  },
  { weight: 1, arbitrary: fc.constantFrom<Step>({ do: 'restart' }, { do: 'tell' }) },
  {
    weight: 2,
    arbitrary: fc
      .subarray(['10.0.0.0/30', '10.0.0.0/29', '10.0.0.8/31', '10.0.0.4/30', 'fd00::/95', 'fd00::/94', 'fd00::2:0:0/95'])
      .map((ranges) => ({ do: 'edit' as const, ranges })),
  },
)

test('whatever is asked, lost, restarted, shrunk and given back: no address is with two, none is lost, and a refusal is true', async () => {
  const numRuns = process.env.SOAK === undefined ? 300 : 20_000
  await fc.assert(fc.asyncProperty(fc.array(steps, { minLength: 5, maxLength: 60 }), play), { numRuns })
})
