/** Two documented writers of one status, each with its field manager and its identity, on a real API server. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  group,
  type InterfaceStatusIntent,
  interfaceConditions,
  NetworkInterface,
  nsoManifests,
  ownership,
  statusOwners,
} from '@nso/api'
import fc from 'fast-check'
import {
  apiVersionOf,
  createAccessSource,
  createClient,
  createHttpTransport,
  createStatusWriter,
  createWriteRegistry,
  noWriteMetrics,
  pathOf,
  type StatusIntent,
  type StatusOf,
  systemClock,
  type Transport,
} from 'kube-control-loop'
import { createRecorder, showViolation } from 'kube-control-loop/testing'
import { applyPatch, followAudit, installManifests } from 'kube-localplane'
import { sharedPlane, testNamespace } from 'kube-localplane/testing'

const plane = await sharedPlane({ auditBodies: [{ group }] })
before(async () => {
  await installManifests(plane, nsoManifests().crds)
})

const identity = { apiVersion: apiVersionOf(NetworkInterface), kind: NetworkInterface.kind, metadata: { name: 'shared' } }
type Stored = { status: { phase?: string; conditions: { type: string; status: string }[] } }

const alice = {
  manager: statusOwners.interface.writer,
  status: { phase: 'Bound', conditions: ['Allocated', 'Prepared', 'Programmed'].map((type) => condition(type, 'True')) },
}
const bob = { manager: statusOwners.interfaceHolder.writer, status: { conditions: [condition('HolderAvailable', 'False')] } }

function condition(type: string, status: string) {
  return { type, status, reason: 'Said', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' }
}

async function storedAfter(namespace: string, writers: readonly (typeof alice | typeof bob)[]): Promise<Stored['status']> {
  const body = { ...identity, spec: { network: { name: 'default' } } }
  await plane.connection.must({ method: 'POST', path: pathOf(NetworkInterface, { namespace }), body })
  const path = pathOf(NetworkInterface, { namespace, name: 'shared' })
  for (const { manager, status } of writers) {
    const request = { method: 'PATCH', contentType: applyPatch, body: { ...identity, status } } as const
    await plane.connection.must({ ...request, path: `${path}/status?fieldManager=${manager}` })
  }
  return ((await plane.connection.must({ path })) as Stored).status
}

for (const [says, writers] of [
  ['the holder after the interface controller', [alice, bob]],
  ['the interface controller after the holder', [bob, alice]],
  ['both again and again', [alice, bob, alice, bob]],
] as const)
  test(`B04: ${says}: neither takes anything from the other, without force`, async () => {
    await using space = await testNamespace(plane, 'two-writers')
    const { phase, conditions } = await storedAfter(space.name, writers)
    assert.equal(phase, 'Bound')
    assert.deepEqual(conditions.map(({ type, status }) => `${type} ${status}`).sort(), [
      'Allocated True',
      'HolderAvailable False',
      'Prepared True',
      'Programmed True',
    ])
  })

type HolderIntent = StatusIntent<StatusOf<typeof NetworkInterface>, typeof statusOwners.interfaceHolder>
type Step = { by: 'alice'; says: InterfaceStatusIntent } | { by: 'bob'; says: HolderIntent }

const signal = AbortSignal.timeout(120_000)
const transports: Transport[] = []
after(() => Promise.all(transports.map((transport) => transport.close())))

function clientOf(kubeconfig: string) {
  const access = createAccessSource({ clock: systemClock, kubeconfig })
  const transport = createHttpTransport({ access, clock: systemClock, userAgent: 'two-writers' })
  transports.push(transport)
  return createClient(transport, { clock: systemClock, jitter: Math.random })
}

/** Both writers as their processes have them, and the recorder over what they write in one namespace. */
async function openDesk(namespace: string) {
  const clients = { alice: await clientFor('alice'), bob: await clientFor('bob') }
  const common = { kind: NetworkInterface, metrics: noWriteMetrics, registry: createWriteRegistry(), clock: systemClock }
  const interfaceWriter = createStatusWriter({ ...common, client: clients.alice, controller: 'a', owner: statusOwners.interface })
  const holder = createStatusWriter({ ...common, client: clients.bob, controller: 'b', owner: statusOwners.interfaceHolder })
  const row = ownership.find(({ kind }) => kind.kind === NetworkInterface.kind)
  assert.ok(row)
  const admin = clientOf(plane.kubeconfigPath)
  const recorder = createRecorder({
    ...{ client: admin, clock: systemClock, jitter: Math.random, inNamespace: (name: string) => name === namespace },
    // The objects of these tests are the administrator's.
    kinds: [
      {
        kind: NetworkInterface,
        ownership: row,
        conditions: interfaceConditions,
        also: [{ path: 'spec', identity: 'administrator' }],
      },
    ],
    identities: { nso: ['alice'], holder: ['bob'] },
    writes: await followAudit(plane, (entry) => entry.group === group),
  })
  await recorder.started
  const at = (name: string) => ({ name, namespace })
  const read = async (name: string) => {
    const found = await admin.find(NetworkInterface, at(name), signal)
    assert.ok(found)
    return found
  }
  return {
    recorder,
    read,
    async make(name: string) {
      const spec = { network: { name: 'default' } }
      await admin.create(NetworkInterface, { ...identity, metadata: at(name), spec } as never, { fieldManager: 'test' }, signal)
    },
    /** From what stands, or from a copy that the other has overtaken. */
    async say(step: Step, name: string, copy?: NetworkInterface) {
      const object = copy ?? (await read(name))
      if (step.by === 'alice') await interfaceWriter.status(object, step.says, signal)
      else await holder.status(object, step.says, signal)
    },
  }
}

async function clientFor(user: string) {
  return clientOf(await plane.kubeconfigFor({ user, groups: ['system:masters'] }))
}

const said = (type: string, is: 'True' | 'False') =>
  is === 'True'
    ? { Allocated: 'Allocated', Prepared: 'AttachmentReady', Programmed: 'Advertised', HolderAvailable: 'Available' }[type]
    : {
        Allocated: 'AddressAllocationMissing',
        Prepared: 'NoDataPlane',
        Programmed: 'NoDataPlane',
        HolderAvailable: 'HolderUnavailable',
      }[type]

const about = <Type extends string>(type: Type, is: 'True' | 'False') => ({
  ...{ type, status: is, reason: said(type, is) ?? '', message: `${type} is ${is}`, observedGeneration: 1 },
})

/** Whatever alice may say: her conditions always, each other field or not. */
const aliceSteps = fc
  .record(
    {
      phase: fc.constantFrom('Bound' as const, 'Available' as const),
      vpc: fc.constantFrom('v1', 'v2'),
      networkContextRef: fc.constant({ name: 'net-here' }),
      is: fc.constantFrom('True' as const, 'False' as const),
    },
    { requiredKeys: ['is'] },
  )
  .map(({ is, ...fields }): Step => {
    const conditions = [about('Allocated', is), about('Prepared', is), about('Programmed', is)]
    return { by: 'alice', says: { ...fields, conditions } as InterfaceStatusIntent }
  })
const bobSteps = fc
  .constantFrom('True' as const, 'False' as const)
  .map((is): Step => ({ by: 'bob', says: { conditions: [about('HolderAvailable', is)] } }))

const plain = (status: object | undefined) => {
  const { conditions = [], ...fields } = (status ?? {}) as { conditions?: { type: string; status: string; reason: string }[] }
  return {
    ...fields,
    conditions: Object.fromEntries(conditions.map(({ type, status: is, reason }) => [type, `${is} ${reason}`])),
  }
}

test('B04: whatever both say, in any order, of what stands or of an old copy: each has exactly what it said last', async (context) => {
  await using space = await testNamespace(plane, 'two-writers')
  const desk = await openDesk(space.name)
  context.after(() => desk.recorder[Symbol.asyncDispose]().catch(() => {}))
  let count = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.oneof(aliceSteps, bobSteps), fc.boolean()), { minLength: 2, maxLength: 6 }),
      async (steps) => {
        const name = `web-${count++}`
        await desk.make(name)
        const seeds = plain((await desk.read(name)).status).conditions
        const last = new Map<string, ReturnType<typeof plain>>()
        let copy = (await desk.read(name)) as NetworkInterface
        for (const [step, isOld] of steps) {
          const stands = (await desk.read(name)) as NetworkInterface
          // An own write is never missed (read-your-writes): only the other's may be.
          const isOthers = isOld && !ownDiffers(step, copy, stands)
          await desk.say(step, name, isOthers ? copy : stands)
          copy = stands
          last.set(step.by, plain(step.says))
          const now = plain((await desk.read(name)).status)
          const [hers, his] = [last.get('alice'), last.get('bob')]
          const conditions = { ...seeds, ...hers?.conditions, ...his?.conditions }
          assert.deepEqual(now, { ...hers, ...his, conditions })
        }
      },
    ),
    { numRuns: 12, endOnFailure: true },
  )
  assert.deepEqual((await desk.recorder.violations()).map(showViolation), [])
})

/** Whether the writer's own part differs between the two copies. */
function ownDiffers({ by }: Step, a: NetworkInterface, b: NetworkInterface): boolean {
  const { owns } = by === 'alice' ? statusOwners.interface : statusOwners.interfaceHolder
  const own = ({ status }: NetworkInterface) => {
    const { conditions, ...fields } = plain(status)
    return owns.map((path) =>
      path.startsWith('conditions/') ? conditions[path.slice(11)] : (fields as Record<string, unknown>)[path],
    )
  }
  return JSON.stringify(own(a)) !== JSON.stringify(own(b))
}
