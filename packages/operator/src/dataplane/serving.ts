/** Which interfaces a data plane serves, so that they stay with it whatever becomes of its DataPlane. Pure given the caches. */
import type { NetworkInterface } from '@nso/api'
import { type KubeObject, keyOf } from 'kube-control-loop'
import { isDeleting } from '../interface/holder.ts'
import { isControlledBy } from './plane.ts'
import type { CompiledPlane, KindRef } from './types.ts'

/** It takes no new interfaces; those that it serves it serves to their end. */
export const isGoing = ({ object }: Pick<CompiledPlane, 'object'>): boolean => isDeleting(object)

export const isSameKind = (a: KindRef, b: KindRef): boolean => a.kind === b.kind && groupOf(a) === groupOf(b)

const groupOf = ({ apiVersion }: KindRef): string => apiVersion.slice(0, Math.max(0, apiVersion.lastIndexOf('/')))

/** The interface's status tells of an attachment of this kind, in whatever version. */
export function isRecorded({ attachmentKind }: Pick<CompiledPlane, 'attachmentKind'>, { status }: NetworkInterface): boolean {
  const recorded = status?.attachmentRef
  return recorded !== undefined && recorded.kind === attachmentKind.kind && recorded.apiGroup === groupOf(attachmentKind)
}

/** The interface's own attachment as the cache shows it. */
export function attachmentOf(plane: Pick<CompiledPlane, 'attachments'>, nic: NetworkInterface): KubeObject | undefined {
  const stored = plane.attachments?.get(keyOf(nic))
  return stored && isControlledBy(stored, nic) ? stored : undefined
}

/**
 * Whether the interface has an attachment of this plane, or its status tells of one that may have to be made again. Also
 * true while attachments are not listed: an absence that nobody has seen moves nothing.
 */
export function isServing(plane: CompiledPlane, nic: NetworkInterface): boolean {
  if (isRecorded(plane, nic)) return true
  const { attachments } = plane
  if (!attachments) return plane.hindrance === undefined
  return attachments.state === 'starting' || attachmentOf(plane, nic) !== undefined
}
