/**
 * A data plane in one file. It makes a Port for each Wire, reports on the Wire, and takes the Port away before it lets go.
 * Who else writes: whoever asks for a Wire, its spec; the driver of the device, status.carrier of the Port.
 * Crash: a Port is named by its Wire's uid, so the next run finds what this one has made and says the same of it.
 */
import {
  type Condition,
  createAccessSource,
  createHttpTransport,
  createManager,
  createStatusWriter,
  createWriter,
  type Kind,
  type KubeObject,
  keyFor,
  settled,
  systemClock,
  waiting,
  watch,
} from 'kube-control-loop'

type Wire = KubeObject<object, { id?: string; conditions?: Condition[] }>
type Port = KubeObject<{ wire: string }, { carrier?: 'Up' | 'Down' }>
const group = { group: 'wires.example.dev', version: 'v1', scope: 'Namespaced' } as const
const Wire: Kind<Wire['spec'], Wire['status'] & object> = { ...group, kind: 'Wire', plural: 'wires' }
const Port: Kind<Port['spec'], Port['status'] & object> = { ...group, kind: 'Port', plural: 'ports' }
const finalizer = 'wires.example.dev/unplug'
const owner = {
  writer: 'wires',
  identity: 'wires',
  owns: ['id', 'conditions/Ready', 'conditions/Programmed'],
  when: 'the wire or its port changes',
} as const

const portName = ({ metadata: { uid } }: Wire) => `wire-${uid}`

function portOf(wire: Wire): Port {
  const { name, namespace = '', uid = '' } = wire.metadata
  const ownerReferences = [{ apiVersion: wire.apiVersion, kind: wire.kind, name, uid, controller: true }]
  const metadata = { name: portName(wire), namespace, ownerReferences }
  return { apiVersion: wire.apiVersion, kind: 'Port', metadata, spec: { wire: name } }
}

/** All that is said of a wire. The time at which a condition flipped is the status writer's business. */
function reportOf({ metadata }: Wire, port: Port) {
  const about = { observedGeneration: metadata.generation ?? 0 }
  const isUp = port.status?.carrier === 'Up'
  const message = `Port ${port.metadata.name} ${isUp ? 'has' : 'has no'} carrier`
  return {
    id: port.metadata.name.slice('wire-'.length, 'wire-'.length + 8),
    conditions: [
      { ...about, type: 'Ready', status: 'True', reason: 'PortMade', message: `Port ${port.metadata.name} stands` },
      { ...about, type: 'Programmed', status: isUp ? 'True' : 'False', reason: isUp ? 'CarrierUp' : 'CarrierDown', message },
    ] as const,
  }
}

const access = createAccessSource({ clock: systemClock })
const transport = createHttpTransport({ access, clock: systemClock, userAgent: 'wires' })
const about = { name: 'wires', metricPrefix: 'wires_', eventController: 'wires.example.dev/wires', identity: crypto.randomUUID() }
const manager = createManager({ ...about, transport })
const wires = manager.cache(Wire)
const ports = manager.cache(Port)
const common = { ...manager.writers, controller: 'wires', manager: 'wires-objects' }
const wireWriter = createWriter({ ...common, kind: Wire, cache: wires, writes: ['addFinalizer', 'removeFinalizer'] })
const portWriter = createWriter({ ...common, kind: Port, cache: ports, writes: ['create', 'remove'] })
const reports = createStatusWriter({ ...common, kind: Wire, cache: wires, owner })

manager.add({
  name: 'wires',
  needs: [{ cache: wires }, { cache: ports }],
  watches: [
    watch(wires, ({ key }) => [key]),
    watch(ports, ({ before, after = before }) => (after ? [keyFor(after.spec.wire, after.metadata.namespace)] : [])),
  ],
  async reconcile({ key, signal }) {
    const wire = wires.get(key)
    if (!wire) return settled
    const port = ports.get(keyFor(portName(wire), wire.metadata.namespace))
    if (wire.metadata.deletionTimestamp) {
      if (port) {
        await portWriter.remove(port, signal)
        return waiting('the port being gone')
      }
      await wireWriter.removeFinalizer(wire, finalizer, signal)
      return settled
    }
    const held = await wireWriter.addFinalizer(wire, finalizer, signal)
    await reports.status(held, reportOf(held, port ?? (await portWriter.create(portOf(held), signal))), signal)
    return settled
  },
  forget: reports.forget,
})

const stop = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort(new Error(name)))
await manager.run(stop.signal)
