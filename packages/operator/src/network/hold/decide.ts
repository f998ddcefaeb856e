/** Whether interfaces hold a context. Pure. */
import { finalizers, type NetworkContext, type NetworkInterface } from '@nso/api'
import { keyOf } from 'kube-control-loop'
import { contextKeyOf } from '../../addresses/lease.ts'
import { isDeleting } from '../objects.ts'

export type Decision = 'hold' | 'let-go' | 'keep'

/** Whether an interface is in the context. One that tells neither context nor location may be in any of its network. */
export function isIn(context: NetworkContext, nic: NetworkInterface): boolean {
  if (nic.spec.network.name !== context.spec.network.name || nic.metadata.namespace !== context.metadata.namespace) return false
  const key = contextKeyOf(nic)
  return key === undefined || key === keyOf(context)
}

/**
 * The hold begins with the first interface that is not being deleted, and ends with the last one of any kind: one that is
 * going still has its addresses and its attachment. `nics`: all that may be in the context.
 */
export function decide(context: NetworkContext, nics: Iterable<NetworkInterface>): Decision {
  const held = context.metadata.finalizers?.includes(finalizers.contextInUse) ?? false
  let any = false
  for (const nic of nics) {
    if (!isIn(context, nic)) continue
    any = true
    if (held) return 'keep'
    if (!isDeleting(nic)) return isDeleting(context) ? 'keep' : 'hold'
  }
  return held && !any ? 'let-go' : 'keep'
}
