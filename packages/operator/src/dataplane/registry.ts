/** All DataPlanes as the cache holds them, compiled, and what wakes those who use them. */
import { isDeepStrictEqual } from 'node:util'
import { type DataPlane, finalizers } from '@nso/api'
import type { Key } from 'kube-control-loop'
import type { Caches } from '../caches.ts'
import { isKnownContract } from './capabilities.ts'
import { chooseFor } from './choose.ts'
import type { DynamicKinds, FollowedKind } from './kinds.ts'
import { type CompiledSpec, compileSpec, createPlane, isAllowed } from './plane.ts'
import type { CompiledPlane, DataPlanes, KindRef, PlaneNews, PlaneRef } from './types.ts'

export type KnownPlane = {
  readonly object: DataPlane
  readonly compiled: CompiledSpec
  readonly plane: CompiledPlane
}

export type DataPlaneRegistry = DataPlanes & {
  /** The plane under a name, accepted or not. */
  get(name: string): KnownPlane | undefined
  /** Planes that may be chosen once they hold the finalizer: sound templates, a known contract, not being deleted. */
  sound(): readonly KnownPlane[]
  /** All planes, of any state. */
  all(): readonly KnownPlane[]
  /** Makes an object for a plane: until that ended, `isMaking` says so, and the plane is not let go of. */
  making<R>(ref: PlaneRef, make: () => Promise<R>): Promise<R>
  isMaking(ref: PlaneRef): boolean
  /** Records what a review of permissions found missing; undefined: nothing. Tells `onPlane` when that changes. */
  setDenied(name: string, denied: string | undefined): void
  /**
   * Records why the API server refuses the attachment under a key, whatever is tried; undefined: it does not, or no longer.
   * Tells `onAttachment` when that changes.
   */
  setRefused(kind: KindRef, key: Key, why: string | undefined): void
  /** A write was refused for lack of permission: whoever reviews permissions should look again. */
  suspectDenied(kind: KindRef): void
  /** Calls back with the name of a plane whose permissions should be looked at again. */
  onSuspicion(handler: (name: string) => void): () => void
  /** Attachment kinds of all planes that are, or were since the process started. */
  attachmentKinds(): readonly KindRef[]
  /** Calls back with the key of each network object that changes. */
  onNetworkObject(handler: (key: Key) => void): () => void
}

type Entry = { known: KnownPlane; generation: number | undefined; denied: string | undefined }

export function createDataPlaneRegistry({
  planes,
  kinds,
}: {
  planes: Caches['dataPlanes']
  kinds: DynamicKinds
}): DataPlaneRegistry {
  const entries = new Map<string, Entry>()
  const attachment = handlers<Key>()
  const network = handlers<Key>()
  const plane = handlers<PlaneNews>()
  const suspicion = handlers<string>()
  const attachmentKinds = new Map<string, KindRef>()
  const refusals = new Map<string, string>()
  const inHand = new Map<string, number>()
  const refusalId = ({ apiVersion, kind }: KindRef, key: Key) => `${apiVersion} ${kind} ${key}`

  const take = (object: DataPlane): boolean => {
    const entry = entries.get(object.metadata.name)
    const same = entry?.known.object.metadata.uid === object.metadata.uid && entry?.generation === object.metadata.generation
    const compiled = same && entry ? entry.known.compiled : compileSpec(object.spec)
    const denied = () => entries.get(object.metadata.name)?.denied
    const refused = (key: Key) => refusals.get(refusalId(compiled.attachment, key))
    const known = { object, compiled, plane: createPlane({ object, compiled, kinds, denied, refused }) }
    entries.set(object.metadata.name, { known, generation: object.metadata.generation, denied: same ? entry?.denied : undefined })
    for (const ref of kindsOf(known.plane)) kinds.follow(ref)
    const { attachmentKind } = known.plane
    if (isAllowed(attachmentKind)) attachmentKinds.set(`${attachmentKind.apiVersion} ${attachmentKind.kind}`, attachmentKind)
    return !same || !entry || lifeOf(entry.known.object) !== lifeOf(object)
  }

  planes.subscribe(({ key, after, before }) => {
    if (after && take(after)) {
      for (const ref of kindsOf(entries.get(key)?.known.plane)) kinds.poke(ref)
      const isNew = before?.metadata.uid !== after.metadata.uid
      if (before && isNew) plane.tell({ ...refOf(before), servedToo: true })
      plane.tell({ ...refOf(after), servedToo: isNew || !isDeepStrictEqual(usedBy(before), usedBy(after)) })
    }
    if (!after && before) {
      entries.delete(key)
      plane.tell({ ...refOf(before), servedToo: true })
    }
  })
  for (const object of planes.values()) take(object)

  kinds.onObject((kind, key) => {
    const roles = rolesOf(kind, entries.values())
    if (roles.network) network.tell(key)
    // A kind that no plane names any more may still hold attachments whose removal is waited for.
    if (roles.attachment || !roles.network) attachment.tell(key)
  })
  kinds.onKind((kind) => {
    for (const { known } of entries.values()) {
      if (!kindsOf(known.plane).some((ref) => isSame(ref, kind.ref))) continue
      plane.tell({ ...known.plane.ref, servedToo: true })
      // A watch that fails may be one that is no longer permitted.
      if (kind.cache?.state === 'stale') suspicion.tell(known.plane.ref.name)
    }
  })

  const all = () => [...entries.values()].map(({ known }) => known)
  const sound = () => all().filter(isSound)
  const prospect = (location: string) => chooseFor(sound().map(choosable), location)?.plane
  return {
    choose(location) {
      const plane = prospect(location)
      return plane && isHeld(plane.object) ? plane : undefined
    },
    prospect,
    contender: (location) => (prospect(location) ? undefined : chooseFor(all().map(choosable), location)?.plane),
    find({ name, uid }) {
      const known = entries.get(name)?.known
      return known?.plane.ref.uid === uid ? known.plane : undefined
    },
    get: (name) => entries.get(name)?.known,
    sound,
    all,
    async making({ uid }, make) {
      inHand.set(uid, (inHand.get(uid) ?? 0) + 1)
      try {
        return await make()
      } finally {
        const left = (inHand.get(uid) ?? 1) - 1
        if (left > 0) inHand.set(uid, left)
        else inHand.delete(uid)
      }
    },
    isMaking: ({ uid }) => inHand.has(uid),
    setDenied(name, denied) {
      const entry = entries.get(name)
      if (!entry || entry.denied === denied) return
      entry.denied = denied
      if (denied === undefined) for (const ref of kindsOf(entry.known.plane)) kinds.poke(ref)
      plane.tell({ ...entry.known.plane.ref, servedToo: true })
    },
    setRefused(kind, key, why) {
      const id = refusalId(kind, key)
      if (refusals.get(id) === why) return
      if (why === undefined) refusals.delete(id)
      else refusals.set(id, why)
      attachment.tell(key)
    },
    suspectDenied(ref) {
      for (const { known } of entries.values()) {
        if (kindsOf(known.plane).some((each) => isSame(each, ref))) suspicion.tell(known.plane.ref.name)
      }
    },
    attachmentKinds: () => [...attachmentKinds.values()],
    onAttachment: attachment.add,
    onNetworkObject: network.add,
    onPlane: plane.add,
    onSuspicion: suspicion.add,
  }
}

function handlers<T>(): { add(handler: (value: T) => void): () => void; tell(value: T): void } {
  const all = new Set<(value: T) => void>()
  return {
    add(handler) {
      const own = (value: T) => handler(value)
      all.add(own)
      return () => all.delete(own)
    },
    tell(value) {
      for (const handler of [...all]) handler(value)
    },
  }
}

const isSound = ({ object, compiled, plane }: KnownPlane): boolean =>
  compiled.errors.length === 0 &&
  plane.unknownFields.length === 0 &&
  plane.standingRefusal === undefined &&
  compiled.refusedKinds.length === 0 &&
  isKnownContract(object) &&
  object.metadata.deletionTimestamp === undefined

/** The finalizer keeps the DataPlane readable for as long as it serves somebody, so nobody is given to one without. */
export const isHeld = ({ metadata }: DataPlane): boolean => metadata.finalizers?.includes(finalizers.dataPlane) ?? false

/** What of its metadata concerns those whom it serves. */
const lifeOf = (object: DataPlane): string => `${object.metadata.deletionTimestamp ?? ''} ${isHeld(object)}`

/** What attachments are made and read by. */
const usedBy = (object: DataPlane | undefined) => [object?.spec?.attachment, object?.spec?.network, object?.spec?.report]

const choosable = ({ object, plane }: KnownPlane) => ({ metadata: object.metadata, spec: object.spec, plane })

const refOf = ({ metadata }: DataPlane) => ({ name: metadata.name, uid: metadata.uid ?? '' })

const kindsOf = (plane: CompiledPlane | undefined): readonly KindRef[] =>
  plane ? [plane.attachmentKind, ...(plane.networkKind ? [plane.networkKind] : [])].filter(isAllowed) : []

const isSame = (a: KindRef, b: KindRef): boolean => a.apiVersion === b.apiVersion && a.kind === b.kind

function rolesOf(kind: FollowedKind, entries: Iterable<Entry>): { attachment: boolean; network: boolean } {
  const roles = { attachment: false, network: false }
  for (const { known } of entries) {
    if (isSame(known.plane.attachmentKind, kind.ref)) roles.attachment = true
    if (known.plane.networkKind && isSame(known.plane.networkKind, kind.ref)) roles.network = true
  }
  return roles
}
