/**
 * Makes, keeps right and removes the attachment of one interface, for the interface controller.
 * Promises: at most one request per `ensureAttachment`, none when nothing differs; an object that is not controlled by this
 * very interface is never changed, adopted or deleted.
 * Crash: name and owner come from the interface, so the next pass finds what this one made.
 */
import { managers, type NetworkInterface } from '@nso/api'
import {
  ApiError,
  type ChildWriter,
  createWriter,
  type FollowedCache,
  type Kind,
  KindUnserved,
  type KubeObject,
  keyOf,
  type WriterEnvironment,
} from 'kube-control-loop'
import type { Definitions } from './definitions.ts'
import { preferred } from './discovery.ts'
import type { DynamicKinds } from './kinds.ts'
import { locate } from './locate.ts'
import { ownerOfNetworkObject } from './network-owner.ts'
import { difference, type Rendered, valueAt } from './patch.ts'
import { isControlledBy } from './plane.ts'
import { refusalOf } from './refusal.ts'
import type { DataPlaneRegistry } from './registry.ts'
import { isGoing, isRecorded } from './serving.ts'
import { TemplateError } from './template.ts'
import type { CompiledPlane, KindRef, TemplateScope } from './types.ts'

export type EnsuredAttachment =
  | { result: 'created' | 'patched' | 'unchanged'; attachment: KubeObject }
  /** An object of someone else has the name: reported, and left alone. Its change or end wakes the interface. */
  | { result: 'foreign'; attachment: KubeObject; message: string }
  /** Nothing can be written now; what `on` names wakes the interface through `DataPlanes`. */
  | { result: 'waiting'; on: string }
  /** The API server takes it in no form: its own schema or a policy is against it. A fault, which statuses tell of too. */
  | { result: 'refused'; error: ApiError }

export type AttachmentRef = { apiGroup: string; kind: string }

export type AttachmentWriter = {
  /** Throws the writers' signals and faults. */
  ensureAttachment(
    given: { plane: CompiledPlane; interface: NetworkInterface; scope: TemplateScope },
    signal: AbortSignal,
  ): Promise<EnsuredAttachment>
  /**
   * `gone`: a live read says that this interface has no attachment, or discovery lacks the kind. `going`: it is being deleted,
   * and its end wakes the interface. Throws when the kind cannot be asked: then nothing is known. Needs no DataPlane: without
   * one, `attachmentRef` (of the interface's status) and every kind still followed are looked through.
   */
  removeAttachment(
    given: { interface: NetworkInterface; plane?: CompiledPlane | undefined; attachmentRef?: AttachmentRef | undefined },
    signal: AbortSignal,
  ): Promise<'gone' | 'going'>
  /** Whether a live read finds this very interface's attachment, which is then in the cache too. Throws when the kind cannot be asked. */
  stands(given: { interface: NetworkInterface; plane: CompiledPlane }, signal: AbortSignal): Promise<boolean>
}

export type AttachmentWriterParts = {
  readonly environment: WriterEnvironment
  readonly definitions: Pick<Definitions, 'stands'>
  readonly kinds: DynamicKinds
  readonly planes: Pick<DataPlaneRegistry, 'suspectDenied' | 'setRefused' | 'attachmentKinds' | 'find' | 'making'>
  /** Label of the controller that writes. */
  readonly controller: string
}

type Writer = Pick<ChildWriter<unknown, unknown>, 'create' | 'patch' | 'remove'>

export function createAttachmentWriter(parts: AttachmentWriterParts): AttachmentWriter {
  const { environment, kinds, planes, controller } = parts
  const { client } = environment
  const where = { client, definitions: parts.definitions }
  const writers = new WeakMap<FollowedCache, Writer>()
  const defaults = createDefaults()

  const writerOf = (kind: Kind, cache: FollowedCache | undefined): Writer => {
    const known = cache && writers.get(cache)
    if (known) return known
    const writes = ['create', 'patch', 'remove'] as const
    const writer = createWriter({
      ...environment,
      kind,
      cache,
      controller,
      manager: managers.dataPlane,
      mayBeUnserved: true,
      // Dropped without a word, a field would be missing at the data plane, and every pass would find it so.
      strict: true,
      writes,
    })
    if (cache) writers.set(cache, writer)
    return writer
  }

  /** A refusal for lack of permission is a fault of this pass, and makes the DataPlane's status say what is missing. */
  const watched = async <R>(ref: KindRef, call: Promise<R>): Promise<R> => {
    try {
      return await call
    } catch (error) {
      if (error instanceof ApiError && error.status === 403 && !refusalOf(error)) planes.suspectDenied(ref)
      throw error
    }
  }

  const write = async (writer: Writer, stored: KubeObject | undefined, rendered: Rendered, signal: AbortSignal) => {
    if (!stored) {
      const attachment = await writer.create(rendered.body, signal)
      defaults.learn(rendered, attachment)
      return { result: 'created', attachment } as const
    }
    const operations = difference(rendered, stored, defaults.isDefault(stored))
    if (operations.length === 0) return { result: 'unchanged', attachment: stored } as const
    const attachment = await writer.patch(stored, operations, signal)
    defaults.learn(rendered, attachment)
    return { result: 'patched', attachment } as const
  }

  const removeOf = async (nic: NetworkInterface, ref: KindRef, signal: AbortSignal): Promise<'gone' | 'going'> => {
    const followed = kinds.follow(ref)
    const kind = followed.state === 'served' ? followed.kind : await locate(where, ref, signal)
    if (!kind) return 'gone'
    const cache = followed.kind === kind ? followed.cache : undefined
    const at = { name: nic.metadata.name, namespace: nic.metadata.namespace }
    try {
      const stored = cache?.get(keyOf(nic)) ?? (await client.find(kind, at, signal))
      if (stored && isControlledBy(stored, nic) && !stored.metadata.deletionTimestamp) {
        await writerOf(kind, cache).remove(stored, signal)
      }
      const live = await client.find(kind, at, signal)
      return live && isControlledBy(live, nic) ? 'going' : 'gone'
    } catch (error) {
      const isUnserved = error instanceof KindUnserved || (error instanceof ApiError && error.status === 404)
      if (!isUnserved) throw error
      const other = await locate(where, ref, signal)
      if (!other) return 'gone'
      throw error
    }
  }

  return {
    async ensureAttachment({ plane, interface: nic, scope }, signal) {
      const lacking = lackingFor(plane, scope)
      if (lacking) return { result: 'waiting', on: lacking }
      const { kind, cache } = kinds.follow(plane.attachmentKind)
      if (!kind || !cache || cache.state === 'starting' || cache.state === 'unserved') {
        return { result: 'waiting', on: `${plane.attachmentKind.kind} objects being listed` }
      }
      const stored = cache.get(keyOf(nic))
      const obstacle = stored ? obstacleIn(stored, nic) : obstacleToFirst(planes.find(plane.ref), nic, scope)
      if (obstacle) return obstacle
      const rendered = render(plane, { ...scope, interface: nic })
      if ('result' in rendered) return rendered
      try {
        const made = await planes.making(plane.ref, () =>
          watched(plane.attachmentKind, write(writerOf(kind, cache), stored, rendered, signal)),
        )
        planes.setRefused(plane.attachmentKind, keyOf(nic), undefined)
        return made
      } catch (error) {
        const why = refusalOf(error)
        if (why === undefined || !(error instanceof ApiError)) throw error
        planes.setRefused(plane.attachmentKind, keyOf(nic), `the API server refuses it: ${why}`)
        return { result: 'refused', error }
      }
    },

    async removeAttachment({ interface: nic, plane, attachmentRef }, signal) {
      const known = plane ? [plane.attachmentKind] : []
      const named =
        attachmentRef && !known.some((ref) => isNamed(ref, attachmentRef))
          ? await preferred(client, attachmentRef, signal)
          : undefined
      const refs = plane || named ? [...known, ...(named ? [named] : [])] : planes.attachmentKinds()
      let result: 'gone' | 'going' = 'gone'
      for (const ref of refs) {
        planes.setRefused(ref, keyOf(nic), undefined)
        if ((await watched(ref, removeOf(nic, ref, signal))) === 'going') result = 'going'
      }
      return result
    },

    async stands({ interface: nic, plane: { attachmentKind } }, signal) {
      const { cache } = kinds.follow(attachmentKind)
      const kind = await locate(where, attachmentKind, signal)
      if (!kind) return false
      const at = { name: nic.metadata.name, namespace: nic.metadata.namespace }
      // Whatever is told of its end meanwhile is remembered: an answer that is older by then revives nothing.
      const done = cache?.writing(keyOf(nic))
      try {
        const live = await watched(attachmentKind, client.find(kind, at, signal))
        if (!live || !isControlledBy(live, nic)) return false
        if (cache?.kind.version === kind.version) cache.absorb(live)
        return true
      } finally {
        done?.()
      }
    },
  }
}

const isNamed = (ref: KindRef, { apiGroup, kind }: AttachmentRef): boolean =>
  ref.kind === kind && ref.apiVersion.startsWith(`${apiGroup}/`)

function lackingFor(plane: CompiledPlane, scope: TemplateScope): string | undefined {
  if (plane.hindrance) return `DataPlane ${plane.ref.name}: ${plane.hindrance}`
  // Without it a template would seem to have lost values, and a patch would remove them.
  return scope.context ? undefined : 'network context'
}

/**
 * Why no first attachment is made now. The plane as it is at this moment: one that was deleted during the pass serves on
 * whom it serves already. An attachment beside somebody else's network object would be attached to that.
 */
function obstacleToFirst(
  plane: CompiledPlane | undefined,
  nic: NetworkInterface,
  { context, networkObject }: TemplateScope,
): EnsuredAttachment | undefined {
  if (!plane || (isGoing(plane) && !isRecorded(plane, nic))) return { result: 'waiting', on: 'a DataPlane that stays' }
  const owner = context && networkObject && ownerOfNetworkObject(networkObject, context)
  if (owner?.is === 'foreign') return { result: 'waiting', on: owner.message }
  return owner?.is === 'going' ? { result: 'waiting', on: `${owner.says} being gone` } : undefined
}

/** Why the object under the interface's name cannot be used now. */
function obstacleIn(stored: KubeObject, nic: NetworkInterface): EnsuredAttachment | undefined {
  const says = `${stored.kind} ${keyOf(stored)}`
  if (stored.metadata.deletionTimestamp) return { result: 'waiting', on: `${says} being gone` }
  if (isControlledBy(stored, nic)) return undefined
  const owner = stored.metadata.ownerReferences?.find((reference) => reference.controller)
  if (owner?.kind === nic.kind && owner.name === nic.metadata.name) {
    return { result: 'waiting', on: `${says} of an earlier interface being collected` }
  }
  const whose = owner ? `belongs to ${owner.kind} ${owner.name}` : 'has no controlling owner'
  return { result: 'foreign', attachment: stored, message: `${says} exists and ${whose}: it is not taken over` }
}

function render(plane: CompiledPlane, scope: TemplateScope & { interface: NetworkInterface }): Rendered | EnsuredAttachment {
  try {
    return plane.attachmentRendering(scope)
  } catch (error) {
    if (error instanceof TemplateError) return { result: 'waiting', on: `DataPlane ${plane.ref.name}: ${error.message}` }
    throw error
  }
}

/** Values that the schema puts where a template has none, learnt from the server's answers. */
function createDefaults() {
  const known = new Set<string>()
  const id = (object: KubeObject, pointer: string, value: unknown) =>
    `${object.apiVersion} ${object.kind} ${pointer} ${JSON.stringify(value)}`
  return {
    learn({ leftOut }: Rendered, answered: KubeObject): void {
      for (const pointer of leftOut) {
        const value = valueAt(answered, pointer)
        if (value !== undefined) known.add(id(answered, pointer, value))
      }
    },
    isDefault: (stored: KubeObject) => (pointer: string, value: unknown) => known.has(id(stored, pointer, value)),
  }
}
