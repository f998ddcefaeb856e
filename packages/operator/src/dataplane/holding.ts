/** What keeps a DataPlane that is being deleted: whom it still serves, and what of it still stands. Pure. */
import { annotations, group, type NetworkContext, type NetworkInterface, parseDataPlaneChoice } from '@nso/api'
import { type Key, type KubeObject, keyOf } from 'kube-control-loop'
import { isProjection } from '../interface/holder.ts'
import { isControlledBy } from './plane.ts'
import { isRecorded } from './serving.ts'
import type { CompiledPlane, PlaneRef } from './types.ts'

/** One interface that is served, with its attachment where that stands. */
export type Served = { readonly nic: NetworkInterface; readonly attachment: KubeObject | undefined }

export type Standing = {
  /** At least those that were given the plane. */
  readonly nics: Iterable<NetworkInterface>
  /** Any interface. */
  nicAt(key: Key): NetworkInterface | undefined
  /** Of the plane's attachment kind, by key; those of other planes too. */
  readonly attachments: Attachments
}

export type Attachments = { get(key: Key): KubeObject | undefined; values(): Iterable<KubeObject> }

type Plane = Pick<CompiledPlane, 'ref' | 'attachmentKind'>

/**
 * Interfaces that were given this plane and have an attachment, or are held by a claim and had one: it may have to be made
 * again. A retained interface that nobody holds, and one that was never attached, may be given another plane later.
 */
export function servedBy(plane: Plane, { nics, attachments }: Standing): readonly Served[] {
  return [...nics].flatMap((nic) => {
    if (isProjection(nic) || !isChosenBy(nic, plane.ref)) return []
    const stored = attachments.get(keyOf(nic))
    const attachment = stored && isControlledBy(stored, nic) ? stored : undefined
    return attachment || (nic.spec.claimRef && isRecorded(plane, nic)) ? [{ nic, attachment }] : []
  })
}

function isChosenBy(nic: NetworkInterface, { name, uid }: PlaneRef): boolean {
  const choice = choiceOf(nic)
  return choice?.name === name && choice.uid === uid
}

const choiceOf = (nic: NetworkInterface) => parseDataPlaneChoice(nic.metadata.annotations?.[annotations.dataPlane])

/** Attachments made for interfaces that no plane answers for any more: gone, or their choice taken away by hand. */
export function leftAttachments(
  { nicAt, attachments }: Pick<Standing, 'nicAt' | 'attachments'>,
  isAnswering: (ref: PlaneRef) => boolean,
): readonly KubeObject[] {
  return [...attachments.values()].filter((each) => {
    const owner = ownerOf(each, 'NetworkInterface')
    if (!owner) return false
    // It is named after the interface.
    const nic = nicAt(keyOf(each))
    const choice = nic?.metadata.uid === owner.uid ? choiceOf(nic) : undefined
    return !choice || !isAnswering(choice)
  })
}

function ownerOf({ metadata }: KubeObject, kind: string) {
  const owner = metadata.ownerReferences?.find((reference) => reference.controller)
  return owner?.kind === kind && owner.apiVersion.startsWith(`${group}/`) ? owner : undefined
}

export type NetworkObjects = {
  /** Stand without anybody who needs them. */
  readonly unneeded: readonly KubeObject[]
  /** On their way out, and waited for. */
  readonly going: readonly KubeObject[]
}

/**
 * Network objects that were made for contexts, less those that another plane of the same kind needs. `isNeeded` tells that of
 * a context that stands; `isShared`: some other plane has the kind, so that what its owner reference collects may be that one's.
 */
export function networkObjectsOf(
  objects: Iterable<KubeObject>,
  contextAt: (key: Key) => NetworkContext | undefined,
  { isNeeded, isShared }: { isNeeded: (context: NetworkContext) => boolean; isShared: boolean },
): NetworkObjects {
  const unneeded: KubeObject[] = []
  const going: KubeObject[] = []
  for (const object of objects) {
    const owner = ownerOf(object, 'NetworkContext')
    if (!owner) continue
    const context = contextAt(keyOf(object))
    const stands = context !== undefined && context.metadata.uid === owner.uid
    if (stands ? isNeeded(context) : isShared) continue
    if (stands && !object.metadata.deletionTimestamp) unneeded.push(object)
    else going.push(object)
  }
  return { unneeded, going }
}

/** Named at once; the rest are counted. */
const shown = 3

/** What the status of the DataPlane says, with what to do about it; undefined when nothing keeps it. */
export function waitsFor(served: readonly Served[], left: readonly KubeObject[], networks: NetworkObjects): string | undefined {
  if (served.length > 0) {
    const which = listed(served, ({ nic }) => nic, saysOf)
    return `Waits for ${counted('interface', served)}: ${which}: wait for them to go, or delete their claims`
  }
  const [what, objects] = left.length > 0 ? ['attachment', left] : ['network object', [...networks.unneeded, ...networks.going]]
  if (objects.length === 0) return undefined
  return `Waits for ${counted(what, objects)}: ${listed(objects, itself, objectSays)}: its data plane must run to let go of them`
}

const itself = (object: KubeObject): KubeObject => object

const counted = (what: string, { length }: readonly unknown[]): string => `${length} ${what}${length === 1 ? '' : 's'}`

/** The first by name, so that the same ones are named whatever order a cache or a new process has them in. */
function listed<T>(all: readonly T[], objectOf: (one: T) => KubeObject, says: (one: T) => string): string {
  let first: { key: Key; one: T }[] = []
  for (const one of all) {
    const key = keyOf(objectOf(one))
    const last = first[shown - 1]
    if (!last || key < last.key) first = [...first, { key, one }].sort((a, b) => (a.key < b.key ? -1 : 1)).slice(0, shown)
  }
  const more = all.length > shown ? [`and ${all.length - shown} more`] : []
  return [...first.map(({ one }) => says(one)), ...more].join(', ')
}

function saysOf({ nic, attachment }: Served): string {
  const claim = nic.spec.claimRef ? ` of claim ${nic.spec.claimRef.name}` : ''
  const held = attachment?.metadata.deletionTimestamp ? ` (${objectSays(attachment)})` : ''
  return `${keyOf(nic)}${claim}${held}`
}

/** Whose finalizer keeps it is what an administrator needs when its data plane is not there to take it away. */
function objectSays(object: KubeObject): string {
  const { finalizers = [], deletionTimestamp } = object.metadata
  const held = finalizers.length > 0 ? `held by finalizer ${finalizers.join(', ')}` : 'about to go'
  return `${object.kind} ${keyOf(object)}${deletionTimestamp ? ` being deleted, ${held}` : ''}`
}
