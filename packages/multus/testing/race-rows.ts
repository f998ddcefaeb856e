/** The writes of a data plane that renders one network definition for each of its attachments, as rows of a race table. */
import assert from 'node:assert/strict'
import type { Kind } from 'kube-control-loop'
import type { RaceRow } from 'kube-control-loop/testing'
import { eventually } from 'kube-localplane/testing'
import { NetworkAttachmentDefinition } from '../src/index.ts'
import {
  absent,
  change,
  endNamespace,
  holds,
  letGo,
  makeStranger,
  namespaceIsGone,
  type RacePlace,
  read,
  remove,
  setConfig,
  setFinalizers,
  strangerStands,
  strip,
  wasMade,
} from './race-steps.ts'
import type { RaceWorld } from './race-world.ts'
import { conditionOf } from './world.ts'

type Meta = { finalizers?: string[] }

export type RaceSubject = {
  readonly kind: Kind
  readonly name: string
  readonly controller: string
  /** Field manager of all its writes. */
  readonly manager: string
  make(world: RacePlace, meta?: Meta): Promise<unknown>
  /** Waits until its status says that it is as asked for. */
  isReady(world: RacePlace): Promise<unknown>
}

export type RaceSubjects = {
  readonly network: RaceSubject
  readonly attachment: RaceSubject
  readonly finalizer: string
  /** What an attachment says whose definition is somebody else's: `False Reason`. */
  readonly conflict: string
}

const other = 'example.dev/other'

/** An attachment on its network, both as asked for. */
export async function bring({ network, attachment }: RaceSubjects, world: RacePlace, meta?: Meta): Promise<void> {
  await network.make(world)
  await network.isReady(world)
  await attachment.make(world, meta)
  await isAttached(attachment, world)
}

async function isAttached(attachment: RaceSubject, world: RacePlace): Promise<void> {
  await attachment.isReady(world)
  const definition = await read(world, NetworkAttachmentDefinition, attachment.name)
  assert.equal(definition?.metadata.deletionTimestamp, undefined)
}

/** Attachment and definition are gone. */
export async function isDetached({ kind, name }: RaceSubject, world: RacePlace): Promise<void> {
  await absent(world, kind, name)
  await absent(world, NetworkAttachmentDefinition, name)
}

/** Finalizer and status of one of the two kinds. */
function ownRows(
  { kind, name, controller, manager, make, isReady }: RaceSubject,
  finalizer: string,
  steps: {
    before?: (world: RaceWorld) => Promise<unknown>
    ready: (world: RaceWorld, meta: Meta) => Promise<unknown>
    gone: (world: RaceWorld) => Promise<unknown>
  },
): RaceRow<RaceWorld>[] {
  const common = {
    ...{ controller, manager, kind, name },
    vanish: (world: RaceWorld) => strip(world, kind, name, finalizer),
    afterVanish: steps.gone,
  }
  const before = steps.before ? { bring: steps.before } : {}
  const act = (world: RaceWorld) => make(world)
  return [
    {
      ...{ ...common, ...before, act, verb: 'add-finalizer' },
      async settled(world) {
        await isReady(world)
        await holds(world, kind, name, finalizer)
      },
      move: (world) => setFinalizers(world, kind, name, [other], finalizer),
    },
    {
      ...{ ...common, verb: 'remove-finalizer' },
      bring: (world) => steps.ready(world, { finalizers: [other, finalizer] }),
      act: (world) => remove(world, kind, name),
      settled: (world) => letGo(world, kind, name, finalizer),
      move: (world) => setFinalizers(world, kind, name, [finalizer], finalizer),
    },
    {
      ...{ ...common, ...before, act, verb: 'apply' },
      settled: (world) => isReady(world),
      async remake(world) {
        await strip(world, kind, name, finalizer)
        await make(world)
      },
    },
  ]
}

function definitionRows(subjects: RaceSubjects, readyNetwork: (world: RaceWorld) => Promise<unknown>): RaceRow<RaceWorld>[] {
  const { attachment, finalizer, conflict } = subjects
  const { kind, name, controller, manager } = attachment
  const common = { controller, manager, name, kind: NetworkAttachmentDefinition }
  const stripDefinition = (world: RaceWorld) => strip(world, NetworkAttachmentDefinition, name, finalizer)
  const ready = (world: RaceWorld) => bring(subjects, world)
  const settled = (world: RaceWorld) => isAttached(attachment, world)
  const detached = (world: RaceWorld) => isDetached(attachment, world)
  return [
    {
      ...{ ...common, settled, bring: readyNetwork, verb: 'create', vanish: endNamespace, afterVanish: namespaceIsGone },
      act: (world) => attachment.make(world),
      orphan: (world) => strip(world, kind, name, finalizer),
      async afterOrphan(world) {
        await wasMade(world, NetworkAttachmentDefinition)
        await detached(world)
      },
      foreign: (world) => makeStranger(world, name),
      async afterForeign(world) {
        await eventually('the attachment says what is in its way', async () => {
          return conditionOf((await read(world, kind, name)) as never, 'Ready') === conflict
        })
        await strangerStands(world, name)
      },
      wake: (world) => change(world, kind, name, { metadata: { labels: { 'example.dev/nudge': 'yes' } } }),
    },
    {
      ...{ ...common, bring: ready, verb: 'patch', vanish: stripDefinition },
      act: (world) => change(world, kind, name, { spec: { interface: { mtu: 1500 } } }),
      async settled(world) {
        await eventually('the definition has the MTU', async () => {
          const config = (await read(world, NetworkAttachmentDefinition, name))?.spec.config ?? ''
          assert.match(config, /"mtu":\s*1500/)
          return true
        })
        await settled(world)
      },
      move: (world) => setConfig(world, name, '{}'),
    },
    {
      ...{ ...common, bring: ready, verb: 'delete', settled: detached, vanish: stripDefinition },
      act: (world) => remove(world, kind, name),
      async replace(world) {
        await stripDefinition(world)
        await makeStranger(world, name)
      },
      async afterReplace(world) {
        await absent(world, kind, name)
        await strangerStands(world, name)
      },
    },
  ]
}

/** Every write of both kinds and of their definitions. */
export function raceRows(subjects: RaceSubjects): readonly RaceRow<RaceWorld>[] {
  const { network, attachment, finalizer } = subjects
  const readyNetwork = async (world: RaceWorld, meta?: Meta) => {
    await network.make(world, meta)
    await network.isReady(world)
  }
  return [
    ...ownRows(network, finalizer, { ready: readyNetwork, gone: (world) => absent(world, network.kind, network.name) }),
    ...ownRows(attachment, finalizer, {
      before: (world) => readyNetwork(world),
      ready: (world, meta) => bring(subjects, world, meta),
      // The definition was made before the status was sent: the collector takes it.
      gone: (world) => isDetached(attachment, world),
    }),
    ...definitionRows(subjects, (world) => readyNetwork(world)),
  ]
}
