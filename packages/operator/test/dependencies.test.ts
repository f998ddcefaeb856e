// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the strings are templates of a DataPlane
/**
 * What claims depend on comes in any order and changes, on a real API server: who waits for it goes on by a watch, and nobody
 * else is woken.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  AddressLease,
  type DataPlane,
  Network,
  NetworkContext,
  NetworkInterface,
  NetworkInterfaceClaim,
  ServingLocation,
  Subnet,
} from '@nso/api'
import { type Clock, type Key, type KubeObject, systemClock } from 'kube-control-loop'
import { createManualClock } from 'kube-control-loop/testing'
import { eventually } from 'kube-localplane/testing'
import {
  attachmentOf,
  bring,
  change,
  claimed,
  context,
  drop,
  life,
  place,
  planeIsGone,
  planeSays,
  ready,
  release,
  startLife,
  subnet,
  toySpec,
  withNetwork,
} from './life-world.ts'
import { ToyNetwork } from './races/world.ts'
import { isAtRest, passesOf } from './support/at-rest.ts'
import { aClaim, claimSays, create, find, gone, know, listed, location, merge, remove, said } from './world.ts'

know(Network, ServingLocation)
startLife()

const aLocation = (name: string): ServingLocation => ({
  apiVersion: 'networking.datumapis.com/v1alpha',
  kind: 'ServingLocation',
  metadata: { name },
  spec: { topology: { 'topology.datum.net/city-code': 'XXX' } },
})

const aNetwork = (namespace: string): Network => ({
  apiVersion: 'networking.datumapis.com/v1alpha',
  kind: 'Network',
  metadata: { name: 'net', namespace },
  spec: { ipam: { mode: 'Auto' }, ipFamilies: ['IPv6'], mtu: 1460 },
})

/** Another NSO in place of the one that runs: the world is one cluster. */
async function restartedWith(given: Parameters<typeof life.world.startNso>[0]): Promise<void> {
  await life.nso.stop()
  life.nso = await life.world.startNso(given)
}

const atRest = () => eventually('NSO has nothing in hand', () => isAtRest(life.nso.operator))

function orders<T>(all: readonly T[]): T[][] {
  if (all.length === 0) return [[]]
  return all.flatMap((first) => orders(all.filter((one) => one !== first)).map((rest) => [first, ...rest]))
}

/** L: location, D: data plane, for the whole cluster. C: context, S: Subnet, N: Network, of one namespace. */
type Step = 'L' | 'D' | 'C' | 'S' | 'N'
const isForAll = (step: Step) => step === 'L' || step === 'D'

/** The steps of a namespace between those of the cluster. */
function phases(order: readonly Step[]): Step[][] {
  const cuts = order.flatMap((step, at) => (isForAll(step) ? [at] : []))
  return [order.slice(0, cuts[0]), order.slice((cuts[0] ?? 0) + 1, cuts[1]), order.slice((cuts[1] ?? 0) + 1)]
}

async function take(step: Step, namespace: string): Promise<unknown> {
  const { client } = life.world
  if (step === 'C') return create(client, context(namespace))
  if (step === 'S') return create(client, subnet(namespace))
  if (step === 'N') return create(client, aNetwork(namespace))
  return step === 'L' ? create(client, aLocation(location)) : bring('late', withNetwork)
}

/** Time goes on only by this, and never as far as the next try of a rejected claim. */
async function whileTicking<T>(clock: { advance(ms: number): Promise<void> }, work: Promise<T>): Promise<T> {
  let done = false
  const over = work.finally(() => {
    done = true
  })
  let passedMs = 0
  for (; !done && passedMs < 50_000; passedMs += 20) {
    await clock.advance(20)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  return over
}

for (const first of ['L', 'D'] as const) {
  const second: Step = first === 'L' ? 'D' : 'L'
  const begun = (order: readonly Step[]) => order.indexOf(first) < order.indexOf(second)
  const all = [...orders<Step>(['L', 'D', 'C', 'S']), ...orders<Step>(['L', 'D', 'N'])].filter(begun)
  test(`B33: claims, two minutes later what they need in every order (${first} before ${second}): bound by watches alone`, async () => {
    const { client } = life.world
    // Behind the others' all the while, so that no later time goes back.
    const clock = createManualClock(new Date(systemClock.now().getTime() - 180_000))
    await restartedWith({ settings: { location: undefined, networkControllers: true }, clock: clock as Clock })
    const rows = await Promise.all(
      all.map(async (order) => ({ order, namespace: await place({ context: false, subnets: [], prefix: 'orders' }) })),
    )
    await Promise.all(rows.map(({ namespace }) => create(client, aClaim(namespace, 'web-0'))))
    await Promise.all(rows.map(({ namespace }) => claimSays(client, namespace, 'web-0', 'Ready', 'False NoLocationIdentity')))
    await clock.advance(120_000)
    await atRest()
    for (const [at, step] of ([first, second, undefined] satisfies (Step | undefined)[]).entries()) {
      const ofRow = async ({ order, namespace }: (typeof rows)[number]) => {
        for (const each of phases(order)[at] ?? []) await take(each, namespace)
      }
      await Promise.all(rows.map(ofRow))
      if (step) await whileTicking(clock, take(step, ''))
      await atRest()
    }
    await whileTicking(clock, Promise.all(rows.map(({ namespace }) => ready(namespace))))
    await Promise.all(
      rows.map(async ({ namespace, order }) =>
        assert.ok(await find(client, ToyNetwork, namespace, 'net-here'), `${order.join('')} has its network object`),
      ),
    )
    await restartedWith({ settings: { networkControllers: true } })
    await remove(client, ServingLocation, undefined, location)
    await Promise.all(rows.map(({ namespace }) => release(namespace, 'web-0')))
    await Promise.all(rows.map(({ namespace }) => remove(client, Network, namespace, 'net').catch(() => undefined)))
    await Promise.all(rows.map(({ namespace }) => gone(client, Network, namespace, 'net')))
    await drop('late')
    await planeIsGone('late')
  })
}

type WrongRow = {
  says: string
  /** The object with the fault, what is said meanwhile, and the correction. */
  wrong: (namespace: string) => Promise<unknown>
  meanwhile: [type: string, what: string]
  right: (namespace: string) => Promise<unknown>
}

const set =
  <S, T>(kind: Parameters<typeof merge<S, T>>[1], name: string, spec: object) =>
  (namespace: string) =>
    merge(life.world.client, kind, namespace, name, { spec })
const made =
  (object: (namespace: string) => KubeObject, spec: object) =>
  (namespace: string): Promise<unknown> => {
    const right = object(namespace)
    return create(life.world.client, { ...right, spec: { ...(right.spec as object), ...spec } })
  }

const wrongReferences: WrongRow[] = [
  {
    says: 'a context of another network',
    wrong: made(context, { network: { name: 'nett' } }),
    meanwhile: ['Ready', 'False NetworkNotAvailableInLocation'],
    right: set(NetworkContext, 'net-here', { network: { name: 'net' } }),
  },
  {
    says: 'a context of another location',
    wrong: made(context, { location: { name: 'there' } }),
    meanwhile: ['Ready', 'False NetworkNotAvailableInLocation'],
    right: set(NetworkContext, 'net-here', { location: { name: location } }),
  },
  {
    says: 'a Subnet of another context',
    wrong: async (namespace) => {
      await create(life.world.client, context(namespace))
      await made(subnet, { networkContext: { name: 'nett-here' } })(namespace)
    },
    meanwhile: ['Ready', 'False AddressAllocationRejected'],
    right: set(Subnet, 'net-here-0', { networkContext: { name: 'net-here' } }),
  },
  {
    says: 'a Subnet of another family',
    wrong: async (namespace) => {
      await create(life.world.client, context(namespace))
      await made(subnet, { ipFamily: 'IPv4', startAddress: '10.0.0.0', prefixLength: 24 })(namespace)
    },
    meanwhile: ['Ready', 'False AddressAllocationRejected'],
    right: set(Subnet, 'net-here-0', { ipFamily: 'IPv6', startAddress: 'fd20:0:0:1::', prefixLength: 64 }),
  },
  {
    says: 'a Subnet of another class',
    wrong: async (namespace) => {
      await create(life.world.client, context(namespace))
      await made(subnet, { subnetClass: 'public' })(namespace)
    },
    meanwhile: ['Ready', 'False AddressAllocationRejected'],
    right: set(Subnet, 'net-here-0', { subnetClass: 'private' }),
  },
]

test('B33, B56: a wrong reference that is corrected is enough, and one that is made wrong again is said at once', async () => {
  const { client } = life.world
  await restartedWith({ settings: { retryRejectedMs: 3_600_000 } })
  await bring('steady', { locations: ['there'] })
  const rows = await Promise.all(
    wrongReferences.map(async (row) => ({ ...row, namespace: await place({ context: false, subnets: [], prefix: 'wrong' }) })),
  )
  const each = (act: (row: (typeof rows)[number]) => Promise<unknown>) => Promise.all(rows.map(act))
  await each(({ namespace, wrong }) => wrong(namespace))
  await each(({ namespace }) => create(client, aClaim(namespace, 'web-0')))
  await each(({ namespace, meanwhile: [type, what] }) => claimSays(client, namespace, 'web-0', type, what))
  await atRest()
  await each(({ namespace, right }) => right(namespace))
  // The Subnets of the others come now: theirs was not the fault.
  await each(({ namespace }) => create(client, subnet(namespace)).catch(() => undefined))
  await each(({ namespace }) => claimSays(client, namespace, 'web-0', 'Prepared', 'False NoDataPlane'))
  // And so is the location of a data plane.
  await change('steady', { locations: [location] })
  await each(({ namespace }) => ready(namespace))
  const [{ namespace } = { namespace: '' }] = rows
  await merge(client, NetworkContext, namespace, 'net-here', { spec: { network: { name: 'nett' } } })
  const told = await claimSays(client, namespace, 'web-0', 'Ready', 'False NetworkNotAvailableInLocation')
  assert.equal(said(told, 'Bound'), 'True Bound')
  await merge(client, NetworkContext, namespace, 'net-here', { spec: { network: { name: 'net' } } })
  await each(({ namespace }) => ready(namespace))
  await each(({ namespace }) => release(namespace, 'web-0'))
})

test('B56: a ServingLocation that goes, is doubled and comes back: who is bound stays so, who is not says why and goes on', async () => {
  const { client } = life.world
  await bring('steady')
  await restartedWith({ settings: { location: undefined, retryRejectedMs: 3_600_000 } })
  await create(client, aLocation(location))
  const namespace = await place({})
  const addresses = (await claimed(namespace, 'bound')).status?.addresses
  await remove(client, ServingLocation, undefined, location)
  await create(client, aClaim(namespace, 'early'))
  await claimSays(client, namespace, 'early', 'Ready', 'False NoLocationIdentity')
  await create(client, aLocation('there'))
  await claimSays(client, namespace, 'early', 'Ready', 'False NetworkNotAvailableInLocation')
  await create(client, aLocation(location))
  await claimSays(client, namespace, 'early', 'Ready', 'False AmbiguousLocationIdentity')
  await merge(client, NetworkContext, namespace, 'net-here', { spec: { mtu: 1300 } })
  await eventually('what is bound follows its network all the while', async () => {
    return (await attachmentOf(namespace, 'bound'))?.spec.mtu === 1300
  })
  await remove(client, ServingLocation, undefined, 'there')
  await ready(namespace, 'early')
  assert.deepEqual((await ready(namespace, 'bound')).status?.addresses, addresses)
  await remove(client, ServingLocation, undefined, location)
  await release(namespace, 'bound', 'early')
})

/** Whom the watches of a controller wake from now on, whether or not a pass is made of it. */
function woken(controller: string): { read(): string[]; forget(): void } {
  const keys = new Set<Key>()
  const { watches } = life.nso.operator.controllers.find(({ name }) => name === controller) ?? { watches: [] }
  for (const watch of watches) watch.subscribe((key) => void keys.add(key))
  return { read: () => [...keys].map((key) => key.slice(key.indexOf('/') + 1)).sort(), forget: () => keys.clear() }
}

const networks = ['a', 'b', 'c'] as const
/** Twenty claims on each of three networks; of every four, two ask for IPv6, one for IPv4 and one for an IPv4 address of a class too. */
const crowd = networks.flatMap((network) =>
  Array.from({ length: 20 }, (_, at) => {
    const kind = (['six', 'six', 'four', 'public'] as const)[at % 4] ?? 'six'
    return { network, kind, name: `${network}-${kind}-${at}` }
  }),
)
const namesOf = (which: (one: (typeof crowd)[number]) => boolean) =>
  crowd
    .filter(which)
    .map(({ name }) => name)
    .sort()

const crowdSpec = ({ network, kind }: (typeof crowd)[number]): Partial<NetworkInterfaceClaim['spec']> => ({
  network: { name: network },
  ipFamilies: [kind === 'six' ? 'IPv6' : 'IPv4'],
  ...(kind === 'public' ? { addresses: [{ class: 'public' }] } : {}),
})

async function crowdNetwork(namespace: string, network: string, index: number): Promise<void> {
  const { client } = life.world
  const right = context(namespace)
  const name = `${network}-here`
  await create(client, {
    ...right,
    metadata: { name, namespace },
    spec: { ...right.spec, network: { name: network }, ipFamilies: ['IPv6', 'IPv4'] },
  })
  const ranges = {
    six: { ipFamily: 'IPv6', startAddress: `fd20:0:0:${index}::`, prefixLength: 64 },
    four: { ipFamily: 'IPv4', startAddress: `10.${index}.0.0`, prefixLength: 20 },
    public: { ipFamily: 'IPv4', startAddress: `198.51.${index}.0`, prefixLength: 24, subnetClass: 'public' },
  } as const
  for (const [kind, range] of Object.entries(ranges)) {
    const one = subnet(namespace)
    await create(client, {
      ...one,
      metadata: { name: `${network}-${kind}`, namespace },
      spec: { ...one.spec, ...range, networkContext: { name } },
    })
  }
}

type Cause = {
  says: string
  act: (namespace: string) => Promise<unknown>
  seen: (namespace: string) => Promise<unknown>
  wakes: string[]
}

const interfacesAt = async (namespace: string, names: readonly string[], is: (nic: NetworkInterface) => boolean) =>
  eventually('the interfaces follow', async () => {
    const all = new Map((await listed(life.world.client, NetworkInterface, namespace)).map((nic) => [nic.metadata.name, nic]))
    return names.every((name) => {
      const nic = all.get(name)
      return nic !== undefined && is(nic)
    })
  })

/** Until NSO has seen an object that was made after the cause. */
async function markerSeen(namespace: string, name: string): Promise<void> {
  const { caches } = life.nso.operator
  await create(life.world.client, { ...subnet(namespace), metadata: { name, namespace } })
  await eventually('the marker is seen', () => caches.subnets.get(`${namespace}/${name}`) !== undefined)
}

const elsewhere = (namespace: string, name: string): NetworkContext => ({
  ...context(namespace),
  metadata: { name: `${name}-there`, namespace },
  spec: { ...context(namespace).spec, network: { name }, location: { name: 'there' } },
})

const causes: Cause[] = [
  {
    says: 'an IPv6 Subnet of network a wakes the claims of a that ask for IPv6',
    act: set(Subnet, 'a-six', { startAddress: 'fd20:0:0:1::10' }),
    seen: (namespace) =>
      interfacesAt(
        namespace,
        namesOf(({ network, kind }) => network === 'a' && kind === 'six'),
        ({ spec }) => spec.addresses?.[0]?.gateway === 'fd20:0:0:1::11',
      ),
    wakes: namesOf(({ network, kind }) => network === 'a' && kind === 'six'),
  },
  {
    says: 'a Subnet of network b of a class that only IPv4 claims could ask for wakes the claims of b that ask for IPv4',
    act: set(Subnet, 'b-public', { prefixLength: 25 }),
    seen: (namespace) =>
      eventually(
        'NSO has seen it',
        () => life.nso.operator.caches.subnets.get(`${namespace}/b-public`)?.spec.prefixLength === 25,
      ),
    wakes: namesOf(({ network, kind }) => network === 'b' && kind !== 'six'),
  },
  {
    says: 'the context of network b wakes the claims of b',
    act: set(NetworkContext, 'b-here', { mtu: 1400 }),
    seen: (namespace) =>
      interfacesAt(
        namespace,
        namesOf(({ network }) => network === 'b'),
        ({ spec }) => spec.mtu === 1400,
      ),
    wakes: namesOf(({ network }) => network === 'b'),
  },
  {
    says: 'the context of network b in another location wakes nobody',
    act: (namespace) => create(life.world.client, elsewhere(namespace, 'b')),
    seen: (namespace) =>
      eventually('NSO has seen it', () => life.nso.operator.caches.contexts.get(`${namespace}/b-there`) !== undefined),
    wakes: [],
  },
  {
    says: 'a lease that is taken away wakes its holder',
    async act(namespace) {
      const leases = await listed(life.world.client, AddressLease, namespace)
      const lease = leases.find(({ spec }) => spec.holder.claimName === 'c-six-0')
      assert.ok(lease)
      await remove(life.world.client, AddressLease, namespace, lease.metadata.name)
    },
    seen: (namespace) =>
      eventually('it stands again', async () => {
        const leases = await listed(life.world.client, AddressLease, namespace)
        return leases.some(({ spec }) => spec.holder.claimName === 'c-six-0')
      }),
    wakes: ['c-six-0'],
  },
  {
    says: 'a data plane of another location wakes nobody',
    act: () => bring('far', { locations: ['there'] }),
    seen: async () => {},
    wakes: [],
  },
  {
    says: 'a Network wakes no claim',
    act: (namespace) => create(life.world.client, { ...aNetwork(namespace), metadata: { name: 'a', namespace } }),
    seen: (namespace) =>
      eventually('NSO has seen it', () => life.nso.operator.caches.networks.get(`${namespace}/a`) !== undefined),
    wakes: [],
  },
]

test(`B32: of ${crowd.length} claims on three networks, a change wakes those that it concerns and nobody else`, async () => {
  const { client } = life.world
  await bring('near')
  await restartedWith({ settings: { retryRejectedMs: 3_600_000 } })
  const namespace = await place({ context: false, subnets: [], prefix: 'crowd' })
  for (const [at, network] of networks.entries()) await crowdNetwork(namespace, network, at + 1)
  await Promise.all(crowd.map((one) => create(client, aClaim(namespace, one.name, crowdSpec(one)))))
  await Promise.all(crowd.map(({ name }) => ready(namespace, name)))
  const interfacesSay = () =>
    interfacesAt(
      namespace,
      namesOf(() => true),
      (nic) => said(nic, 'Programmed') === 'True ToyProgrammed',
    )
  await interfacesSay()
  await atRest()
  const claims = woken('networkinterfaceclaim')
  const interfaces = woken('networkinterface')
  for (const [at, { says, act, seen, wakes }] of causes.entries()) {
    claims.forget()
    interfaces.forget()
    const before = await passesOf(life.nso.operator, 'networkinterfaceclaim')
    await act(namespace)
    await seen(namespace)
    await markerSeen(namespace, `marker-${at}`)
    await atRest()
    await Promise.all(wakes.map((name) => ready(namespace, name)))
    await interfacesSay()
    await atRest()
    assert.deepEqual(claims.read(), wakes, says)
    const passes = (await passesOf(life.nso.operator, 'networkinterfaceclaim')) - before
    assert.ok(passes <= 12 * wakes.length, `${says}: ${passes} passes`)
    const network = wakes[0]?.slice(0, 2) ?? (says.includes('Network') ? 'a-' : 'nobody')
    assert.deepEqual(
      interfaces.read().filter((name) => !name.startsWith(network)),
      [],
      `${says}: interfaces`,
    )
  }
  await drop('far')
  await planeIsGone('far')
  await release(namespace, ...crowd.map(({ name }) => name))
})

const labelKey = 'compute.datumapis.com/workload-name'
const everything = {
  ...toySpec.attachment,
  metadata: { ...toySpec.attachment.metadata, labels: { workload: `\${interface.metadata.labels['${labelKey}']}` } },
  spec: {
    mtu: '${interface.spec.mtu}',
    ranges: '${subnets.map(s, s.cidr)}',
    note: "${claim.metadata.annotations['example.dev/note']}",
    network: '${network.spec.mtu}',
    generation: '${context.spec.networkGeneration}',
  },
}

/** A template takes a value away by naming it without one; what it does not name is not its own. */
const noValue = "${interface.metadata.labels['none']}"

type Field = {
  says: string
  write: (namespace: string, value: unknown) => Promise<unknown>
  read: (attachment: KubeObject, nic: NetworkInterface) => unknown
  /** Values to write, and what is then to be seen. */
  values: readonly (readonly [written: unknown, seen: unknown])[]
}

const spec = (attachment: KubeObject) => attachment.spec as Record<string, unknown>
const fields: Field[] = [
  {
    says: 'the context’s MTU',
    write: (namespace, mtu) => merge(life.world.client, NetworkContext, namespace, 'net-here', { spec: { mtu } }),
    read: (attachment, nic) => (nic.spec.mtu === spec(attachment).mtu ? nic.spec.mtu : 'not in step'),
    values: [
      [1400, 1400],
      [1500, 1500],
      [null, undefined],
    ],
  },
  {
    says: 'the context’s generation of the network',
    write: (namespace, networkGeneration) =>
      merge(life.world.client, NetworkContext, namespace, 'net-here', { spec: { networkGeneration } }),
    read: (attachment) => spec(attachment).generation,
    values: [
      [1, 1],
      [2, 2],
      [null, undefined],
    ],
  },
  {
    says: 'the start of a Subnet',
    write: (namespace, startAddress) => merge(life.world.client, Subnet, namespace, 'net-here-0', { spec: { startAddress } }),
    read: (_, nic) => nic.spec.addresses?.[0]?.gateway,
    values: [
      ['fd20:0:0:1::20', 'fd20:0:0:1::21'],
      ['fd20:0:0:1::', 'fd20:0:0:1::1'],
    ],
  },
  {
    says: 'the length of a Subnet',
    write: (namespace, prefixLength) => merge(life.world.client, Subnet, namespace, 'net-here-0', { spec: { prefixLength } }),
    read: (attachment) => spec(attachment).ranges,
    values: [
      [80, ['fd20:0:0:1::/80']],
      [64, ['fd20:0:0:1::/64']],
    ],
  },
  {
    says: 'a label of the claim',
    write: (namespace, value) =>
      merge(life.world.client, NetworkInterfaceClaim, namespace, 'web-0', { metadata: { labels: { [labelKey]: value } } }),
    read: ({ metadata }, nic) =>
      metadata.labels?.workload === nic.metadata.labels?.[labelKey] ? metadata.labels?.workload : 'not in step',
    values: [
      ['one', 'one'],
      ['two', 'two'],
      [null, undefined],
    ],
  },
  {
    says: 'an annotation of the claim',
    write: (namespace, value) =>
      merge(life.world.client, NetworkInterfaceClaim, namespace, 'web-0', {
        metadata: { annotations: { 'example.dev/note': value } },
      }),
    read: (attachment) => spec(attachment).note,
    values: [
      ['one', 'one'],
      ['two', 'two'],
      [null, undefined],
    ],
  },
  {
    says: 'the MTU of the Network',
    write: (namespace, mtu) => merge(life.world.client, Network, namespace, 'net', { spec: { mtu } }),
    read: (attachment) => spec(attachment).network,
    values: [
      [1400, 1400],
      [1500, 1500],
      // Cleared, it has its default.
      [null, 1460],
    ],
  },
  {
    says: 'a label of the DataPlane’s template',
    write: (_, note) => change('fields', { attachment: { metadata: { labels: { note } } } }),
    read: ({ metadata }) => metadata.labels?.note,
    values: [
      ['one', 'one'],
      ['two', 'two'],
      [noValue, undefined],
    ],
  },
  {
    says: 'a field of the DataPlane’s template',
    write: (_, extra) => change('fields', { attachment: { spec: { extra } } }),
    read: (attachment) => spec(attachment).extra,
    values: [
      ['one', 'one'],
      ['two', 'two'],
      [noValue, undefined],
    ],
  },
  {
    says: 'where the DataPlane’s report gives the identifier of the network',
    write: (_, vpc) => change('fields', { report: { vpc } }),
    read: (_, nic) => nic.status?.vpc,
    values: [
      ['${context.metadata.name}', 'net-here'],
      ['${interface.metadata.name}', 'web-0'],
      [null, undefined],
    ],
  },
  {
    says: 'the condition by which the DataPlane reports that a workload may start',
    write: (_, condition) => change('fields', { report: { prepared: { condition } } }),
    read: (_, nic) => said(nic, 'Prepared'),
    values: [
      ['Nothing', 'Unknown Pending'],
      ['Ready', 'True AttachmentReady'],
    ],
  },
  {
    says: 'the condition by which the DataPlane reports that traffic flows',
    write: (_, programmed) => change('fields', { report: { programmed } }),
    read: (_, nic) => said(nic, 'Programmed'),
    values: [
      [null, 'True NotReported'],
      [{ condition: 'Programmed' }, 'True ToyProgrammed'],
    ],
  },
]

test('B56: every field that may change shows its effect when it is set, changed and cleared, and the claim is Ready at the end', async () => {
  const { client } = life.world
  await restartedWith({ settings: { retryRejectedMs: 3_600_000 } })
  await bring('fields', { attachment: everything } as Partial<DataPlane['spec']>)
  const namespace = await place({})
  await create(client, aNetwork(namespace))
  const addresses = (await claimed(namespace)).status?.addresses?.map(({ address }) => address)
  for (const { says, write, read, values } of fields) {
    for (const [written, seen] of values) {
      await write(namespace, written)
      await eventually(`${says}: ${JSON.stringify(written)}`, async () => {
        const [attachment, nic] = await Promise.all([attachmentOf(namespace), find(client, NetworkInterface, namespace, 'web-0')])
        assert.ok(attachment && nic)
        assert.deepEqual(read(attachment as KubeObject, nic), seen)
        return true
      })
    }
  }
  const now = (await ready(namespace)).status?.addresses?.map(({ address }) => address)
  assert.deepEqual(now, addresses)
  await release(namespace, 'web-0')
})

test('B56: capabilities that a DataPlane loses turn away who comes, and are enough when it has them again', async () => {
  const { client } = life.world
  await bring('able', { capabilities: { attachmentModes: ['Hypervisor'] } })
  const namespace = await place({})
  await create(client, aClaim(namespace, 'web-0'))
  await claimSays(client, namespace, 'web-0', 'Ready', 'False AttachmentModeNotSupported')
  await change('able', { capabilities: null })
  await ready(namespace)
  await change('able', { capabilities: { addressFamilies: ['IPv4'] } })
  await planeSays('able', 'True Accepted')
  await create(client, aClaim(namespace, 'web-1'))
  await claimSays(client, namespace, 'web-1', 'Ready', 'False AddressFamilyNotSupported')
  await ready(namespace)
  await change('able', { capabilities: { addressFamilies: ['IPv6', 'IPv4'] } })
  await ready(namespace, 'web-1')
  await release(namespace, 'web-0', 'web-1')
})
