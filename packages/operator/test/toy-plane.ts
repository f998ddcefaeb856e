/**
 * A data plane small enough to see through, as a process of its own on the real API server: it reports on ToyAttachments, holds
 * them by a finalizer, and does each thing only while told to.
 */
import {
  condition,
  conditions,
  crdOf,
  createAccessSource,
  createHttpTransport,
  createManager,
  createStatusWriter,
  createWriter,
  defineKind,
  freeObject,
  type Manifest,
  type ObjectOf,
  type Outcome,
  optional,
  type Pass,
  type ResourceOwnership,
  record,
  seeded,
  settled,
  silentLogger,
  systemClock,
  watch,
} from 'kube-control-loop'

const group = 'toy.example.dev'
export const toyFinalizer = 'toy.example.dev/detach'

export const ToyAttachment = defineKind({
  group,
  version: 'v1',
  kind: 'ToyAttachment',
  plural: 'toyattachments',
  description: 'What the toy plane makes of an interface.',
  spec: freeObject(),
  status: record({ conditions: optional(conditions('What the toy plane says.')) }, { default: seeded('Ready', 'Programmed') }),
})
export type ToyAttachment = ObjectOf<typeof ToyAttachment>

const owner = {
  writer: 'toy-plane',
  identity: 'toy',
  owns: ['conditions/Ready', 'conditions/Programmed'],
  when: 'always',
} as const

/** The toy plane runs as this user. */
export const toyUser = 'toy-plane'

export const toyConditions = {
  Ready: condition('Ready', { True: ['ToyReady'], False: ['ToyNotReady'], Unknown: ['Pending'] }),
  Programmed: condition('Programmed', { True: ['ToyProgrammed'], False: ['ToyNotProgrammed'], Unknown: ['Pending'] }),
}

/** As a data plane documents it: NSO asks, the toy plane reports and lets go. */
export const toyOwnership: ResourceOwnership = {
  kind: ToyAttachment,
  status: [owner],
  metadata: [
    { path: 'spec', writer: 'requester', identity: 'requester', when: 'at any time' },
    {
      path: `metadata.finalizers/${toyFinalizer}`,
      writer: 'toy-plane-objects',
      identity: 'toy',
      when: 'in the body at creation',
    },
  ],
}

/** An expression of a template. */
const cel = (expression: string) => `$\{${expression}}`

/** CRD, NSO's permission on it, and the DataPlane. */
export function toyManifests(): { crds: Manifest[]; joint: Manifest[]; plane: Manifest } {
  const permission = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'nso-data-plane-toy', labels: { 'networking.datumapis.com/aggregate-to-nso': 'true' } },
    rules: [{ apiGroups: [group], resources: ['toyattachments'], verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'] }],
  }
  const plane = {
    apiVersion: 'networking.datumapis.com/v1alpha',
    kind: 'DataPlane',
    metadata: { name: 'toy' },
    spec: {
      locations: ['*'],
      attachment: {
        apiVersion: `${group}/v1`,
        kind: 'ToyAttachment',
        metadata: { finalizers: [toyFinalizer] },
        spec: {
          interface: cel('interface.metadata.name'),
          mtu: cel('interface.spec.mtu'),
          addresses: cel('interface.spec.addresses.map(a, a.address)'),
        },
      },
      report: { prepared: { condition: 'Ready' }, programmed: { condition: 'Programmed' } },
    },
  }
  return { crds: [crdOf(ToyAttachment)], joint: [permission], plane }
}

/** What the plane does, for every attachment. */
export type ToyBehaviour = { prepares: boolean; programs: boolean; letsGo: boolean }

export type ToyPlane = {
  /** Changes what it does from now on, also for the attachments that stand. */
  behave(change: Partial<ToyBehaviour>): void
  stop(): Promise<void>
}

export function startToyPlane(kubeconfig: string): ToyPlane {
  const behaviour: ToyBehaviour = { prepares: true, programs: true, letsGo: true }
  const access = createAccessSource({ clock: systemClock, kubeconfig })
  const manager = createManager({
    name: 'toy-plane',
    transport: createHttpTransport({ access, clock: systemClock, userAgent: 'toy-plane/1' }),
    metricPrefix: 'toy_',
    eventController: 'toy.example.dev/plane',
    identity: 'toy',
    log: silentLogger,
  })
  const attachments = manager.cache(ToyAttachment)
  const common = { ...manager.writers, kind: ToyAttachment, cache: attachments, controller: 'toy' }
  const writer = createWriter({ ...common, manager: 'toy-plane-objects', writes: ['removeFinalizer'] })
  const status = createStatusWriter({ ...common, owner })
  let wakeAll = () => {}
  manager.add({
    name: 'toy',
    needs: [{ cache: attachments }],
    watches: [
      watch(attachments, ({ key }) => [key]),
      {
        subscribe(enqueue) {
          wakeAll = () => {
            for (const { metadata } of attachments.values()) enqueue(`${metadata.namespace}/${metadata.name}`)
          }
          return () => {}
        },
      },
    ],
    reconcile: (pass) => reconcile(pass),
  })

  async function reconcile({ key, signal }: Pass): Promise<Outcome> {
    const attachment = attachments.get(key)
    if (!attachment) return settled
    if (attachment.metadata.deletionTimestamp) {
      if (behaviour.letsGo) await writer.removeFinalizer(attachment, toyFinalizer, signal)
      return settled
    }
    const prepared = await status.status(attachment, intent(attachment, { ...behaviour, programs: false }), signal)
    if (!behaviour.prepares || !behaviour.programs) return settled
    await status.status(prepared, intent(attachment, behaviour), signal)
    return settled
  }

  function intent(attachment: ToyAttachment, does: ToyBehaviour) {
    const generation = attachment.metadata.generation ?? 0
    const said = (type: 'Ready' | 'Programmed', yes: boolean) => ({
      type,
      status: yes ? ('True' as const) : ('False' as const),
      reason: yes ? `Toy${type}` : `ToyNot${type}`,
      message: yes ? 'as told' : 'not told to',
      observedGeneration: generation,
    })
    const stands = attachment.status?.conditions?.some(({ type, status: is }) => type === 'Programmed' && is === 'True') ?? false
    const programmed = does.programs || (behaviour.programs && stands)
    return { conditions: [said('Ready', does.prepares), said('Programmed', does.prepares && programmed)] }
  }

  const stop = new AbortController()
  const running = manager.run(stop.signal)
  return {
    behave(change) {
      Object.assign(behaviour, change)
      wakeAll()
    },
    async stop() {
      stop.abort(new Error('the test is over'))
      await running
    },
  }
}
