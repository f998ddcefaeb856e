/** DataPlanes that are made, changed and deleted at random while claims come and go and NSO is stopped and started. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AddressLease, annotations, DataPlane, NetworkInterface, NetworkInterfaceClaim, parseDataPlaneChoice } from '@nso/api'
import type { Kind } from 'kube-control-loop'
import { eventually } from 'kube-localplane/testing'
import { life, planeOf, startLife, withNetwork } from './life-world.ts'
import { ToyNetwork } from './races/world.ts'
import { ToyAttachment } from './toy-plane.ts'
import { aClaim, create, gone, listed, location, merge, remove, said } from './world.ts'

startLife()

const seed = Number(process.env.SEED ?? 7)
const rounds = Number(process.env.ROUNDS ?? 70)

/** The same numbers for the same seed (a linear congruential generator). */
function randomFrom(start: number) {
  let state = start
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

const random = randomFrom(seed)
const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T

const names = ['a', 'b', 'c'] as const
const planeNamed = (name: string) =>
  planeOf(name, { locations: [name === 'a' ? location : '*'], ...(name === 'b' ? {} : withNetwork) })

/** A DataPlane of that name may be there or not, or be on its way out. */
const perhaps = (act: Promise<unknown>): Promise<boolean> =>
  act.then(
    () => true,
    () => false,
  )

const changed = (spec: object) => perhaps(merge(life.world.client, DataPlane, undefined, pick(names), { spec }))

/** What happens to DataPlanes. */
const planeActs: Record<string, () => Promise<unknown>> = {
  make: () => perhaps(create(life.world.client, planeNamed(pick(names)))),
  drop: () => perhaps(remove(life.world.client, DataPlane, undefined, pick(names))),
  moves: () => changed({ locations: pick([[location], ['*'], ['he*'], ['other']]) }),
  offers: () =>
    changed({
      capabilities: pick([
        null,
        { attachmentModes: ['Netns'], addressFamilies: null },
        { addressFamilies: ['IPv6'], attachmentModes: null },
      ]),
    }),
  contract: () => changed({ contract: pick(['v1', 'v9']) }),
}

/** What happens to claims, whose names are in `claims` while they are wanted. */
const claimActs = (namespace: string, claims: Set<string>): Record<string, () => Promise<unknown>> => {
  const { client } = life.world
  let made = 0
  return {
    async claim() {
      const name = `web-${made++}`
      claims.add(name)
      const attachmentMode = pick(['Netns', 'Hypervisor', 'HypervisorDeclared'] as const)
      const ipFamilies = pick([undefined, ['IPv4'], ['IPv6', 'IPv4']] as const)
      await create(client, aClaim(namespace, name, { attachmentMode, ...(ipFamilies ? { ipFamilies: [...ipFamilies] } : {}) }))
    },
    async retain() {
      const attachmentMode = pick(['Netns', 'Hypervisor'] as const)
      const claim = aClaim(namespace, 'kept', { attachmentMode, reclaimPolicy: 'Retain' })
      // The one before may not be gone yet.
      if (!claims.has('kept') && (await perhaps(create(client, claim)))) claims.add('kept')
    },
    async release() {
      const name = pick([...claims])
      if (name && claims.delete(name)) await remove(client, NetworkInterfaceClaim, namespace, name)
    },
  }
}

const otherActs = (namespace: string): Record<string, () => Promise<unknown>> => ({
  network: () => perhaps(remove(life.world.client, ToyNetwork, namespace, 'net-here')),
  async restart() {
    await life.nso.stop()
    life.nso = await life.world.startNso()
  },
})

const often = (times: number, name: string): string[] => Array.from({ length: times }, () => name)
const weighted = [
  ...often(4, 'make'),
  ...often(4, 'drop'),
  ...often(4, 'moves'),
  ...often(2, 'offers'),
  ...often(2, 'contract'),
  ...often(8, 'claim'),
  ...often(2, 'retain'),
  ...often(4, 'release'),
  ...often(2, 'network'),
  'restart',
]

async function allAreServed(namespace: string, claims: Iterable<string>): Promise<boolean> {
  const states = new Map(
    (await listed(life.world.client, NetworkInterfaceClaim, namespace)).map((one) => [one.metadata.name, one]),
  )
  const open = [...claims].filter((name) => said(states.get(name), 'Ready') !== 'True Ready')
  if (open.length > 0) throw new Error(JSON.stringify(open.map((name) => [name, states.get(name)?.status?.conditions])))
  return true
}

/** Each claim has one interface with one attachment, of a plane that stands. */
async function worldIsSound(namespace: string, claims: Iterable<string>): Promise<void> {
  const { client } = life.world
  const planes = (await client.list(DataPlane, {}, AbortSignal.timeout(10_000))).items.map(({ metadata }) => metadata.uid)
  const attachments = new Map((await listed(client, ToyAttachment, namespace)).map((one) => [one.metadata.name, one]))
  const nics = (await listed(client, NetworkInterface, namespace)).filter(({ spec }) => spec.claimRef)
  assert.deepEqual(nics.map(({ metadata }) => metadata.name).sort(), [...claims].sort())
  assert.deepEqual([...attachments.keys()].sort(), [...claims].sort())
  for (const { metadata } of nics) {
    const choice = parseDataPlaneChoice(metadata.annotations?.[annotations.dataPlane])
    assert.ok(choice && planes.includes(choice.uid), `${metadata.name} is with a plane that stands: ${choice?.name}`)
    assert.equal(attachments.get(metadata.name)?.metadata.ownerReferences?.[0]?.uid, metadata.uid)
  }
}

test(`whatever becomes of DataPlanes, in the end every claim is served and everything goes (seed ${seed})`, async () => {
  const { client } = life.world
  const namespace = await life.world.place({ prefix: 'churn', families: ['IPv6', 'IPv4'] })
  const claims = new Set<string>()
  const acts = { ...planeActs, ...claimActs(namespace, claims), ...otherActs(namespace) }
  for (let round = 0; round < rounds; round++) await acts[pick(weighted)]?.()

  // Those that are going serve on whom they have; whoever waits is given to this one, or to one that stands.
  const all = [...names, 'last']
  await create(client, planeNamed('last'))
  for (const name of names) {
    const spec = { capabilities: null, contract: 'v1', locations: planeNamed(name).spec.locations }
    await perhaps(merge(client, DataPlane, undefined, name, { spec }))
  }
  await eventually('every claim is served', () => allAreServed(namespace, claims))
  await worldIsSound(namespace, claims)

  for (const name of all) await perhaps(remove(client, DataPlane, undefined, name))
  await life.world.plane.connection.must({ method: 'DELETE', path: `/api/v1/namespaces/${namespace}` })
  for (const name of all) await gone(client, DataPlane, undefined, name)
  for (const kind of [NetworkInterfaceClaim, NetworkInterface, ToyAttachment, ToyNetwork, AddressLease] as Kind[]) {
    await eventually(`no ${kind.kind} is left`, async () => (await listed(client, kind, namespace)).length === 0)
  }
})
