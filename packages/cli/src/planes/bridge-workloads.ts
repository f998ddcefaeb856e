/** Pods that use claims on the bridge data plane, and what goes over the wire between them. */
import { isIPv4 } from 'node:net'
import {
  answerProbes,
  ask,
  type Question,
  type Reach,
  type StandInKubelet,
  standInNodeName,
  type Workload,
} from 'kube-bridge/testing/node'
import { ApiError, type Client, type Kind, type KubeObject, keyOf, systemClock } from 'kube-control-loop'
import { podAnnotations } from 'kube-multus'
import { sampleLabels } from '../samples.ts'
import type { Prepared, Proof, Trial, Workloads } from './data-plane.ts'

const Pod: Kind = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', scope: 'Namespaced' }

/** Long enough for a neighbour to be found, and short where nobody is. */
const reachWithinMs = 3000
const silentForMs = 1000

export function bridgeWorkloads(kubelet: StandInKubelet): Workloads {
  return {
    async start(client, prepared, signal) {
      await createPod(client, podOf(prepared), signal)
    },
    prove: (all) => prove(kubelet, all),
  }
}

type AttachmentView = {
  spec: { interface: { name: string; mtu?: number; addresses?: string[] } }
  status?: { networkAttachmentDefinition?: string }
}

const viewOf = ({ attachment }: Prepared) => attachment as unknown as AttachmentView

/** As an author of a workload writes it: the definition and the device by annotation. No container runs where no kubelet is. */
function podOf(prepared: Prepared): KubeObject {
  const { name, namespace } = prepared.claim.metadata
  const { spec, status } = viewOf(prepared)
  const networks = [{ name: status?.networkAttachmentDefinition, namespace, interface: spec.interface.name }]
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      labels: sampleLabels,
      annotations: { [podAnnotations.networks]: JSON.stringify(networks) },
    },
    spec: {
      nodeName: standInNodeName,
      automountServiceAccountToken: false,
      containers: [{ name: 'none', image: 'example.com/none' }],
    },
  }
}

/** The namespace's service account is made a moment after the namespace, and no Pod is admitted without it. */
async function createPod(client: Client, pod: KubeObject, signal: AbortSignal): Promise<void> {
  const limit = systemClock.monotonic() + 20_000
  for (;;) {
    try {
      await client.create(Pod, pod, { fieldManager: 'nso-cli' }, signal)
      return
    } catch (error) {
      const isEarly = error instanceof ApiError && error.status === 403 && /serviceaccount/i.test(error.text)
      if (!isEarly || systemClock.monotonic() > limit) throw error
      await systemClock.sleep(200, signal)
    }
  }
}

type Place = { prepared: Prepared; workload: Workload; network: string; name: string }

async function prove(kubelet: StandInKubelet, all: readonly Prepared[]): Promise<Proof> {
  const places = all.flatMap((prepared): Place[] => {
    const workload = kubelet.workloadOf(keyOf(prepared.claim))
    const { network } = prepared.claim.spec as { network: { name: string } }
    return workload ? [{ prepared, workload, network: network.name, name: prepared.claim.metadata.name }] : []
  })
  const workloads = await Promise.all(places.map(seen))
  const [first] = places
  const others = first ? places.filter((place) => place !== first) : []
  const nearest = others.find(({ network }) => network === first?.network)
  const foreign = others.find(({ network }) => network !== first?.network)
  await Promise.all([nearest, foreign].flatMap((to) => (to ? [answerProbes(to.workload)] : [])))
  const pairs = [nearest, foreign].flatMap((to) => (first && to ? [{ from: first, to }] : []))
  const trials = await Promise.all(pairs.flatMap((pair) => addressesOf(pair.to).map((address) => tried(pair, address))))
  return { workloads, trials }
}

async function seen({ prepared, workload, network, name }: Place): Promise<Proof['workloads'][number]> {
  const { spec } = viewOf(prepared)
  const device = (await workload.devices()).find((one) => one.name === spec.interface.name)
  const [addresses, claimed] = [device?.addresses ?? [], addressesIn(prepared)]
  const same = (one: string) => addresses.some((other) => sameAddress(one, other))
  const asClaimed = addresses.length === claimed.length && claimed.every(same) && (device?.mtu ?? 0) === spec.interface.mtu
  return { name, network, device: spec.interface.name, mtu: device?.mtu ?? 0, addresses, asClaimed }
}

function addressesIn({ claim }: Prepared): string[] {
  const { addresses = [] } = (claim.status ?? {}) as { addresses?: { address: string }[] }
  return addresses.map(({ address }) => address)
}

const bare = (address: string) => address.replace(/\/.*/, '')
const addressesOf = ({ prepared }: Place) => addressesIn(prepared).map(bare)

/** Written in two ways it is the same; compared by what a URL makes of it (RFC 5952). */
function sameAddress(one: string, other: string): boolean {
  const canonical = (text: string) => (text.includes(':') ? new URL(`http://[${bare(text)}]`).hostname : bare(text))
  return canonical(one) === canonical(other)
}

async function tried(pair: { from: Place; to: Place }, address: string): Promise<Trial> {
  const { from, to } = pair
  const wanted = from.network === to.network
  const packetBytes = viewOf(to.prepared).spec.interface.mtu ?? 1280
  const question = { address, packet: packetBytes, withinMs: wanted ? reachWithinMs : silentForMs }
  const reach = wanted ? await ask(from.workload, question) : await askWithRoute(from, question)
  const [tcp, udp] = wordsOf(reach)
  const isReached = tcp.startsWith('reached') && udp === 'reached'
  const isSilent = !tcp.startsWith('reached') && udp !== 'reached' && udp !== changed
  return {
    ...{ from: from.name, to: to.name, family: isIPv4(address) ? 'IPv4' : 'IPv6', address },
    ...{ wanted, packetBytes, tcp, udp, asWanted: wanted ? isReached : isSilent },
  }
}

/** As somebody in the workload would who wants to get out: without a route the kernel gives up before a packet is sent. */
async function askWithRoute({ workload, prepared }: Place, question: Question): Promise<Reach> {
  const route = (verb: string) =>
    workload.must('ip', ['route', verb, question.address, 'dev', viewOf(prepared).spec.interface.name])
  await route('add')
  try {
    return await ask(workload, question)
  } finally {
    await route('delete')
  }
}

const changed = 'came back changed'

function wordsOf({ tcp, udp }: Reach): [tcp: string, udp: string] {
  const echoed = 'error' in udp ? udp.error : udp.echoed ? 'reached' : changed
  return ['error' in tcp ? tcp.error : `reached, seen as ${tcp.seenAs}`, echoed]
}
