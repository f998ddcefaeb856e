/**
 * The interface controller: asks the data plane for each bound interface's attachment, says how far it is, and takes attachment
 * and addresses back when the interface is released or deleted.
 * Promises: one attachment per interface, made by one data plane; addresses are free only after the attachment is gone.
 * Relies on: nobody else writing an interface's status (save the holder's own condition) or removing its finalizer.
 */
import { finalizers } from '@nso/api'
import { again, type Controller, type Outcome, type Pass, settled, waiting } from 'kube-control-loop'
import { act, type Done } from './act.ts'
import { decide } from './decide.ts'
import { eventFor } from './events.ts'
import { isDeleting, isProjection } from './holder.ts'
import { observe } from './observe.ts'
import type { InterfaceParts } from './parts.ts'
import { tearDown } from './release.ts'
import { interfaceStatus } from './status.ts'
import { interfaceWatches } from './wake.ts'

export type { InterfaceParts } from './parts.ts'

export function createInterfaceController(parts: InterfaceParts): Controller {
  const { caches } = parts
  return {
    name: 'networkinterface',
    primary: caches.interfaces,
    watches: interfaceWatches(parts),
    needs: [
      { cache: caches.interfaces },
      { cache: caches.claims },
      { cache: caches.contexts },
      { cache: caches.subnets },
      { cache: caches.networks },
      { cache: caches.servingLocations },
      { cache: caches.leases },
      { cache: caches.dataPlanes },
    ],
    reconcile: (pass) => reconcile(parts, pass),
    forget(key) {
      parts.early.end(key)
      parts.statusWriter.forget(key)
    },
  }
}

async function reconcile(parts: InterfaceParts, { key, signal }: Pass): Promise<Outcome> {
  const found = parts.caches.interfaces.get(key)
  if (!found || isProjection(found)) return settled
  if (isDeleting(found)) return tearDown(parts, found, signal)
  const nic = await parts.writer.addFinalizer(found, finalizers.interface, signal)
  const seen = observe(parts, nic)
  const done = await act(parts, seen, decide(seen), signal)
  if (!done.early) parts.early.end(key)
  const leftMs = done.early ? parts.early.leftMs(key) : 0
  if (leftMs > 0) return again(leftMs, 'early status')
  return say(parts, done, signal)
}

async function say(parts: InterfaceParts, { seen, standing, wait, fault }: Done, signal: AbortSignal): Promise<Outcome> {
  const event = eventFor(seen.nic, standing)
  await parts.statusWriter.status(seen.nic, interfaceStatus(seen.nic, standing), signal)
  if (event) parts.tell(seen.nic, event)
  if (fault) throw fault
  const { allocation } = standing
  if (allocation.kind === 'missing' && allocation.untold) return again(parts.retryRefusedMs, 'AddressAllocationMissing')
  return wait === undefined ? settled : waiting(wait)
}
