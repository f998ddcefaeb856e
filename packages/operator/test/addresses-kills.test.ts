/**
 * Two live allocators on one network of the real API server, each in a context of its own, killed between a request and its
 * answer again and again while others take over. Seeded; full size with SOAK set.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { AddressLease, type NetworkContext, type NetworkInterfaceClaim, nsoAccount, nsoManifests, type Subnet } from '@nso/api'
import { ConnectionBroken, isWrite, keyFor, type Transport, WriteRaced } from 'kube-control-loop'
import { sharedPlane, testNamespace } from 'kube-localplane/testing'
import { createBuiltinAllocator } from '../src/addresses/builtin.ts'
import { readBlock } from '../src/addresses/cidr.ts'
import type { AddressRequest } from '../src/addresses/port.ts'
import { aClaim, aContext, anInterface, aSubnet } from './objects.ts'
import { transportTo, viewOf } from './server.ts'

const isFull = process.env.SOAK !== undefined
const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))

let plane: Awaited<ReturnType<typeof sharedPlane>>
let transport: Transport
before(async () => {
  plane = await sharedPlane()
  const { crds, rbac } = nsoManifests()
  await plane.apply([...crds, ...rbac])
  transport = transportTo(await plane.kubeconfigFor({ serviceAccount: nsoAccount }))
})
/** Of every life: a test that fails ends them too. */
const ends: (() => void)[] = []
after(async () => {
  for (const end of ends) end()
  await transport.close()
})

/** Mulberry32. */
function chance(from: number): (below: number) => number {
  let state = from
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

/** A process that can be killed. Once dead it sends nothing, and hears no answer of what it sent before. */
async function live(namespace: string) {
  const stop = new AbortController()
  let left = Number.POSITIVE_INFINITY
  let when: 'before' | 'after' = 'before'
  const die = () => stop.abort(new Error('killed'))
  ends.push(die)
  const mortal: Transport = {
    async send(request, signal) {
      const isLast = isWrite(request) && left-- === 0
      if (isLast && when === 'before') die()
      if (stop.signal.aborted) throw new ConnectionBroken(request, stop.signal.reason)
      // What was sent arrives, also when the process dies meanwhile.
      const answer = await transport.send(request, isWrite(request) ? AbortSignal.timeout(60_000) : signal)
      if (isLast) die()
      if (stop.signal.aborted) throw new ConnectionBroken(request, stop.signal.reason)
      return answer
    },
    stream: (request, signal) => transport.stream(request, signal),
    close: async () => {},
  }
  const { environment, caches } = await viewOf(mortal, { namespace, signal: stop.signal, names: ['leases', 'interfaces'] })
  return {
    allocator: createBuiltinAllocator(environment, caches),
    signal: stop.signal,
    isDead: () => stop.signal.aborted,
    die,
    dieAt(n: number, which: 'before' | 'after') {
      left = n
      when = which
    },
  }
}

type Life = Awaited<ReturnType<typeof live>>

/** One claim name: its incarnations follow each other. */
type Subject = {
  readonly n: number
  life: number
  busy: boolean
  state: 'wants' | 'told' | 'ends'
  told: readonly string[]
}

const wants: readonly (readonly AddressRequest[])[] = [
  [{ family: 'IPv4' }],
  [{ family: 'IPv4' }, { family: 'IPv6' }],
  [{ family: 'IPv6' }, { class: 'public' }],
]
const rangesOf = {
  'net-here': [
    ['10.0.0.0/28', 'private'],
    ['fd20::/92', 'private'],
    ['198.51.100.0/28', 'public'],
  ],
  'net-there': [
    ['10.0.0.0/27', 'private'],
    ['fd20::/91', 'private'],
    ['198.51.100.8/29', 'public'],
  ],
} as const

function createWorld(namespace: string, subjects: readonly Subject[]) {
  const placeOf = ({ n }: Subject) => (n % 2 === 0 ? 'net-here' : 'net-there')
  const claimOf = ({ n, life }: Subject): NetworkInterfaceClaim =>
    aClaim({
      metadata: { name: `c${n}`, namespace, uid: `c${n}-${life}` },
      spec: { ipFamilies: ['IPv4', 'IPv6'] },
    })
  const contextOf = (of: Subject): NetworkContext =>
    aContext({ metadata: { name: placeOf(of), namespace }, spec: { location: { name: placeOf(of).slice(4) } } })
  const subnetsOf = (of: Subject): Subnet[] =>
    rangesOf[placeOf(of)].map(([range, subnetClass], n) => {
      const [startAddress = '', length] = range.split('/')
      const ipFamily = readBlock(range)?.family ?? assert.fail(range)
      const spec = { subnetClass, ipFamily, startAddress, prefixLength: Number(length), networkContext: { name: placeOf(of) } }
      return aSubnet({ metadata: { name: `${placeOf(of)}-${n}`, namespace }, spec })
    })
  const wantsOf = ({ n }: Subject) => wants[n % wants.length] ?? []
  /** Which subject was told an address. */
  const tellers = new Map<string, Subject>()

  async function allocate(of: Subject, by: Life): Promise<void> {
    const request = { claim: claimOf(of), context: contextOf(of), subnets: subnetsOf(of), wants: wantsOf(of) }
    const answer = await by.allocator.allocate(request, by.signal)
    if (by.isDead() || answer.kind === 'refused') return
    of.told = answer.addresses.map(({ cidr }) => cidr)
    of.state = 'told'
    for (const cidr of of.told) {
      const other = tellers.get(cidr)
      assert.equal(other, undefined, `${cidr} was told to c${other?.n}-${other?.life} and c${of.n}-${of.life}`)
      tellers.set(cidr, of)
    }
  }

  /** From here on nobody uses the addresses any more: another may be told them as soon as their leases go. */
  async function end(of: Subject, by: Life): Promise<void> {
    of.state = 'ends'
    for (const cidr of of.told) tellers.delete(cidr)
    of.told = []
    const { name, uid = '' } = claimOf(of).metadata
    await by.allocator.releaseClaim({ namespace, name, uid }, by.signal)
    if (by.isDead()) return
    of.life += 1
    of.state = 'wants'
  }

  return { subjects, claimOf, contextOf, subnetsOf, wantsOf, allocate, end }
}

type World = ReturnType<typeof createWorld>

/** As a loop does: lost races and broken connections are taken up again later. */
async function step(world: World, of: Subject, by: Life, isEnd: boolean): Promise<void> {
  of.busy = true
  try {
    if (of.state === 'ends' || (of.state === 'told' && isEnd)) await world.end(of, by)
    else if (of.state === 'wants') await world.allocate(of, by)
  } catch (error) {
    if (!by.isDead() && !(error instanceof WriteRaced)) throw error
  } finally {
    of.busy = false
  }
}

async function settle(world: World, by: Life, namespace: string): Promise<void> {
  for (const of of world.subjects) {
    while (of.state === 'ends') await step(world, of, by, true)
    const { name, uid } = world.claimOf(of).metadata
    // What landed after a release, as the claim controller gives it back: nobody's uid.
    for (const stray of by.allocator.strays(keyFor(name, namespace), uid)) {
      await by.allocator.releaseClaim({ namespace, name, uid: stray }, by.signal)
    }
  }
  for (const of of world.subjects) {
    if (of.state === 'wants') await step(world, of, by, false)
    const claim = world.claimOf(of)
    const addresses = of.told.map((address) => ({ family: readBlock(address)?.family ?? 'IPv6', address }))
    const nic = anInterface({ metadata: { name: claim.metadata.name, namespace }, spec: { addresses } })
    if (of.state === 'told') await by.allocator.releaseSurplus(claim, nic, by.signal)
  }
}

test(`B48: two live allocators of one network, killed at any moment, never hand out one address twice and leave none behind (SEED=${seed})`, async () => {
  await using area = await testNamespace(plane, 'addresses')
  const namespace = area.name
  const next = chance(seed)
  const subjects = Array.from({ length: 40 }, (_, n): Subject => ({ n, life: 0, busy: false, state: 'wants', told: [] }))
  const world = createWorld(namespace, subjects)
  const seats = await Promise.all([live(namespace), live(namespace)])
  let [left, kills] = [isFull ? 5_000 : 300, 0]

  const heirs = new Map<number, Promise<void>>()

  async function takeOver(at: number): Promise<void> {
    kills += 1
    const heir = await live(namespace)
    seats[at] = heir
    heirs.delete(at)
  }

  async function seated(at: number): Promise<Life> {
    for (;;) {
      const life = seats[at]
      if (life && !life.isDead()) return life
      const coming = heirs.get(at) ?? takeOver(at)
      heirs.set(at, coming)
      await coming
    }
  }

  async function work(): Promise<void> {
    while (left > 0) {
      left -= 1
      const by = await seated(next(2))
      if (next(25) === 0) by.dieAt(next(4), next(2) === 0 ? 'before' : 'after')
      const idle = subjects.filter(({ busy }) => !busy)
      const of = idle[next(idle.length)]
      if (of) await step(world, of, by, next(3) > 0)
    }
  }
  await Promise.all(Array.from({ length: 8 }, work))
  for (const end of ends) end()

  const last = await live(namespace)
  await settle(world, last, namespace)
  const { items } = await (await viewOf(transport, { namespace, signal: last.signal, names: [] })).client.list(
    AddressLease,
    { namespace },
    AbortSignal.timeout(60_000),
  )
  const stands = items.map(({ spec }) => `${spec.address} ${spec.holder.claimUID} ${spec.holder.family ?? spec.holder.class}`)
  const wanted = subjects.flatMap((of) =>
    of.told.map((cidr, at) => {
      const request = world.wantsOf(of)[at]
      return `${cidr} ${world.claimOf(of).metadata.uid} ${request?.family ?? request?.class}`
    }),
  )
  assert.deepEqual(stands.sort(), wanted.sort())
  for (const of of subjects) if (of.state === 'told') assert.equal(of.told.length, world.wantsOf(of).length)
  const addresses = items.map(({ spec }) => spec.address)
  assert.equal(new Set(addresses).size, addresses.length)
  assert.equal(last.allocator.reserved, 0)
  assert.ok(kills >= (isFull ? 60 : 3), `${kills} kills`)
  assert.ok(wanted.length > 20, `${wanted.length} addresses are held at the end`)
})
