/**
 * The world of scenarios on a running system, whoever started its processes: namespaces with a network, what an administrator may
 * do there, and the check that everything was given back.
 */
import { Network, nsoAccount, Subnet } from '@nso/api'
import type { Client } from 'kube-control-loop'
import { eventually } from 'kube-localplane/testing'
import { createActs, unlessGone } from './acts.ts'
import { allocationsIn } from './allocations.ts'
import { by, connect, requireLocation } from './connect.ts'
import { leftoversIn, networksIn, type Place, removeNetworks } from './leftovers.ts'
import { namespaceKind, namespaceObject, networkSpec, requirePresent, serviceNamespaceOf, subnetsByHand } from './places.ts'
import type { AddressMode, Scenario, ScenarioWorld } from './scenario.ts'

export type StageOptions = {
  readonly mode: AddressMode
  /** Of the administrator. */
  readonly kubeconfig: string
  /** Of the administrator of the address service, in mode ipam. Absent: `kubeconfig`. */
  readonly serviceKubeconfig?: string | undefined
  /** How long a scenario waits for a state of the world; two minutes unless said otherwise. */
  readonly patienceMs?: number
  /** False: something is killed meanwhile. */
  readonly calm?: boolean
  readonly signal: AbortSignal
}

/** A world that is open until it is ended. */
export type OpenWorld = ScenarioWorld & {
  /** Rejects when anything was not given back; else removes networks and namespaces. */
  end(): Promise<void>
}

/** A running system on which scenarios are played, also several at once. */
export type Stage = {
  readonly mode: AddressMode
  readonly client: Client
  readonly location: string
  /** With the network present: nothing of the scenario has happened yet. `say` gets its steps. */
  open(scenario: Pick<Scenario, 'name'>, say?: (sentence: string) => void): Promise<OpenWorld>
  /** Opens a world, plays the scenario in it, and ends the world. A world in which it does not hold is left as it is. */
  play(scenario: Scenario, say?: (sentence: string) => void): Promise<void>
  close(): Promise<void>
}

const defaultPatienceMs = 120_000
const callMs = 30_000
const lookMs = 100

/** Connects; the location is the cluster's first one, which is made where there is none. */
export async function openStage(options: StageOptions): Promise<Stage> {
  const own = connect(options.kubeconfig)
  const asNso = connect(options.kubeconfig, `system:serviceaccount:${nsoAccount.namespace}:${nsoAccount.name}`)
  const other = options.serviceKubeconfig === undefined ? undefined : connect(options.serviceKubeconfig)
  const close = async () => void (await Promise.all([own.close(), asNso.close(), other?.close()]))
  const { client } = own
  try {
    const location = await requireLocation(client, options.signal)
    const parts = { ...options, client, nso: asNso.client, service: other?.client ?? client, location }
    const open: Stage['open'] = ({ name }, say = () => {}) => openWorld(parts, name, say)
    return {
      ...{ mode: options.mode, client, location, open, close },
      async play(scenario, say) {
        const world = await open(scenario, say)
        await scenario.run(world)
        await world.end()
      },
    }
  } catch (error) {
    await close()
    throw error
  }
}

type Parts = StageOptions & { client: Client; nso: Client; service: Client; location: string }

async function openWorld(parts: Parts, name: string, step: (sentence: string) => void): Promise<OpenWorld> {
  const { client, nso, service, mode, location, calm = true, patienceMs: timeoutMs = defaultPatienceMs, signal } = parts
  const suffix = crypto.randomUUID().slice(0, 8)
  const namespace = `${name}-${suffix}`
  const call = () => AbortSignal.any([signal, AbortSignal.timeout(callMs)])
  const places = createPlaces(parts, call)
  const acts = createActs(client, namespace, call)
  const serviceNamespace = (of = namespace) => places.at(of).serviceNamespace
  const until: ScenarioWorld['until'] = async (what, check) => {
    const probe = async () => ({ answer: await check() })
    return (await eventually(what, probe, { timeoutMs, everyMs: lookMs, signal })).answer
  }
  const world: ScenarioWorld = {
    ...{
      mode,
      client,
      nso,
      service,
      namespace,
      location,
      network: `net-${suffix}`,
      calm,
      step,
      until,
      serviceNamespace,
      ...acts,
    },
    async another({ labelled = true } = {}) {
      const other = `${namespace}-${places.all().length + 1}`
      await places.make(other, labelled)
      return other
    },
    async present(network, families, where = namespace) {
      await acts.create(Network, network, networkSpec(families), where)
      for (const subnet of subnetsByHand(mode, network, location, families))
        await acts.create(Subnet, subnet.name, subnet.spec, where)
      const wanted = { client, network, namespace: where, location, families }
      await until(`network ${network} is present`, () => requirePresent(wanted, call()))
    },
    allocations: (of = namespace) => allocationsIn(mode === 'ipam' ? service : client, mode, serviceNamespace(of), call()),
  }
  await places.make(namespace, true)
  await world.present(world.network, ['IPv6', 'IPv4'])
  return { ...world, end: () => endWorld(places, until, call) }
}

type Places = {
  /** Both of a name: here, and at the address service. */
  make(namespace: string, labelled: boolean): Promise<void>
  at(namespace: string): Place
  /** Those that were made, the last one first. */
  all(): readonly Place[]
  remove(place: Place): Promise<void>
}

function createPlaces({ client, service, mode }: Parts, call: () => AbortSignal): Places {
  const made: Place[] = []
  const at = (namespace: string): Place => {
    const serviceNamespace = mode === 'ipam' ? serviceNamespaceOf(namespace) : namespace
    return { client, service, mode, namespace, serviceNamespace }
  }
  return {
    at,
    all: () => made.toReversed(),
    async make(namespace, labelled) {
      const place = at(namespace)
      made.push(place)
      if (mode === 'ipam') {
        await service.create(namespaceKind, namespaceObject(place.serviceNamespace), by, call())
      }
      await client.create(namespaceKind, namespaceObject(namespace, labelled && mode === 'ipam'), by, call())
    },
    async remove({ namespace, serviceNamespace }) {
      await client.remove(namespaceKind, { name: namespace }, {}, call()).catch(unlessGone)
      if (mode === 'ipam') await service.remove(namespaceKind, { name: serviceNamespace }, {}, call()).catch(unlessGone)
    },
  }
}

/** The deletion of the namespaces is asked for and not waited for: by then there is nothing in them. */
async function endWorld(places: Places, until: ScenarioWorld['until'], call: () => AbortSignal): Promise<void> {
  const none = (left: readonly string[]) => {
    if (left.length > 0) throw new Error(`there is ${left.join(', ')}`)
  }
  for (const place of places.all())
    await until(`everything in ${place.namespace} was given back`, async () => none(await leftoversIn(place, call())))
  for (const place of places.all()) {
    await removeNetworks(place, call())
    await until(`the networks of ${place.namespace} are gone`, async () => none(await networksIn(place, call())))
    await places.remove(place)
  }
}
