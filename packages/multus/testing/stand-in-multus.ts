/**
 * Stands in for the kubelet and Multus, on the API alone: the Pods that name network definitions get the annotation that Multus
 * would write once it had attached them. No kernel is touched, and no plugin runs.
 */
import { randomUUID } from 'node:crypto'
import {
  type Cache,
  createAccessSource,
  createHttpTransport,
  createLogger,
  createManager,
  createWriter,
  type Key,
  keyOf,
  type Logger,
  type Outcome,
  settled,
  splitKey,
  systemClock,
  type Transport,
  waiting,
  watch,
} from 'kube-control-loop'
import { livePods, NetworkAttachmentDefinition, Pod, podAnnotations, requestedDefinitions } from '../src/index.ts'

export type StandInMultusOptions = {
  transport?: Transport
  kubeconfig?: string
  log?: Logger
  /** Addresses (without prefix length) of a definition; absent: those of its `static` address plugin. */
  addressesOf?: (config: string) => readonly string[]
}

export type StandInMultus = {
  /** Follows until stopped; rejects when it could not. */
  readonly running: Promise<void>
  stop(): Promise<void>
}

/** One entry of the network-status annotation, as Multus writes it. */
export const attachedEntry = (definition: Key, device: string, ips: readonly string[]) => ({
  name: definition,
  interface: device,
  ips,
  mac: '02:00:00:00:00:01',
  dns: {},
})

/** Addresses that the `static` plugin of a configuration list gives; none where there is no such plugin. */
export function staticAddresses(config: string): string[] {
  const { plugins = [] } = JSON.parse(config) as { plugins?: { ipam?: { addresses?: { address: string }[] } }[] }
  return plugins.flatMap(({ ipam }) => ipam?.addresses?.map(({ address }) => address.split('/')[0] ?? '') ?? [])
}

/** Starts it at once. Its identity may patch Pods and read definitions. */
export function startStandInMultus(options: StandInMultusOptions): StandInMultus {
  const { kubeconfig, addressesOf = staticAddresses } = options
  const clock = systemClock
  const access = () => createAccessSource({ clock, ...(kubeconfig === undefined ? {} : { kubeconfig }) })
  const manager = createManager({
    name: 'stand-in-multus',
    transport: options.transport ?? createHttpTransport({ access: access(), clock, userAgent: 'stand-in-multus/0.1.0' }),
    metricPrefix: 'stand_in_multus_',
    eventController: 'example.com/stand-in-multus',
    identity: `stand-in-multus_${randomUUID()}`,
    clock,
    log: options.log ?? createLogger({ name: 'stand-in-multus', level: 'warn' }),
  })
  const pods = manager.cache(Pod, livePods)
  const definitions = manager.cache(NetworkAttachmentDefinition)
  const env = { ...manager.writers, controller: 'stand-in-multus', manager: 'stand-in-multus', kind: Pod, cache: pods }
  const writer = createWriter({ ...env, writes: ['patch'] })
  manager.add({
    name: 'stand-in-multus',
    watches: [watch(pods, ({ key }) => [key]), watch(definitions, ({ key }) => pods.by('definition', key).map(keyOf))],
    needs: [{ cache: pods }, { cache: definitions, optional: true }],
    async reconcile({ key, signal }): Promise<Outcome> {
      const pod = pods.get(key)
      const wanted = pod ? requestedDefinitions(pod) : []
      // Multus attaches once, when the sandbox is made: a Pod that was told keeps what it has.
      if (!pod || wanted.length === 0 || pod.metadata.annotations?.[podAnnotations.networkStatus] !== undefined) return settled
      const entries = attach(wanted, definitions, addressesOf)
      if (!entries) return waiting('its network definitions')
      const path = `/metadata/annotations/${podAnnotations.networkStatus.replaceAll('/', '~1')}`
      await writer.patch(pod, [{ op: 'add', path, value: JSON.stringify(entries) }], signal)
      return settled
    },
  })
  const over = new AbortController()
  const running = manager.run(over.signal)
  return {
    running,
    async stop() {
      over.abort(new Error('the stand-in for Multus was stopped'))
      await running
    },
  }
}

/** Undefined while a definition is missing: Multus fails the sandbox then, and the kubelet tries again. */
function attach(
  wanted: readonly Key[],
  definitions: Pick<Cache<{ config?: string | undefined }>, 'get'>,
  addressesOf: (config: string) => readonly string[],
): object[] | undefined {
  const cluster = { name: 'cluster', interface: 'eth0', ips: ['192.0.2.1'], default: true, dns: {} }
  const entries = wanted.map((key, index) => {
    const config = definitions.get(key)?.spec?.config
    return config === undefined ? undefined : attachedEntry(key, `net${index + 1}`, addressesOf(config))
  })
  return entries.every((entry) => entry !== undefined) ? [cluster, ...entries] : undefined
}

/** A Pod that asks for definitions of its namespace, as a workload would. */
export function podNaming(namespace: string, name: string, ...definitions: readonly string[]) {
  const networks = definitions.map((definition) => {
    const { namespace: space = namespace, name: of } = splitKey(definition)
    return { namespace: space, name: of }
  })
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace, name, annotations: { [podAnnotations.networks]: JSON.stringify(networks) } },
    spec: { containers: [{ name: 'workload', image: 'registry.example/workload' }], terminationGracePeriodSeconds: 0 },
  }
}
