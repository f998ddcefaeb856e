/**
 * The claim controller: gives each claim its interface, says how far it is, and takes everything back when it goes.
 * Promises: a bound claim never moves to another interface; nothing is allocated before the finalizer is stored.
 * Relies on: nobody else writing spec.claimRef, its uid annotation, or a claim's status.
 */
import { finalizers, type NetworkInterfaceClaim } from '@nso/api'
import { again, type Controller, type Key, type Outcome, type Pass, settled, waiting } from 'kube-control-loop'
import { isDeleting } from '../interface/holder.ts'
import { act, putBackAddresses } from './act.ts'
import { type Decision, decide } from './decide.ts'
import { createTeller } from './events.ts'
import { observe } from './observe.ts'
import type { ClaimParts } from './parts.ts'
import { release, releaseAfterGone } from './release.ts'
import { claimStatus, type Verdict } from './status.ts'
import { giveBackStrays } from './strays.ts'
import { claimWatches } from './wake.ts'

export type { ClaimParts } from './parts.ts'

type OwnParts = ClaimParts & { readonly teller: ReturnType<typeof createTeller> }

export function createClaimController(given: ClaimParts): Controller {
  const parts: OwnParts = { ...given, teller: createTeller(given.tell) }
  const { caches } = parts
  return {
    name: 'networkinterfaceclaim',
    primary: caches.claims,
    watches: claimWatches(parts),
    needs: [
      { cache: caches.claims },
      { cache: caches.interfaces },
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
      parts.teller.forget(key)
      parts.statusWriter.forget(key)
    },
  }
}

async function reconcile(parts: OwnParts, { key, signal }: Pass): Promise<Outcome> {
  const found = parts.caches.claims.get(key)
  if (!found) return releaseAfterGone(parts, key, signal)
  if (isDeleting(found)) return release(parts, found, signal)
  const claim = await parts.claimWriter.addFinalizer(found, finalizers.claim, signal)
  await giveBackStrays(parts, key, claim.metadata.uid, signal)
  await putBackAddresses(parts, claim, signal)
  const seen = observe(parts, claim)
  const decision = decide(seen)
  const verdict = await act(parts, seen, decision, signal)
  const later = heldBack(parts, key, verdict)
  if (later) return later
  await say(parts, { claim, verdict, did: decision.do }, signal)
  return outcomeOf(parts, decision, verdict)
}

/** A first status that the data plane's report would overwrite within milliseconds is not written yet. */
function heldBack(parts: ClaimParts, key: Key, verdict: Verdict): Outcome | undefined {
  if (verdict.kind !== 'held' || verdict.held.report.prepared.status === 'True') {
    parts.early.end(key)
    return undefined
  }
  const leftMs = parts.early.leftMs(key)
  return leftMs > 0 ? again(leftMs, 'early status') : undefined
}

type Judged = { claim: NetworkInterfaceClaim; verdict: Verdict; did: Decision['do'] }

async function say(parts: OwnParts, { claim, verdict, did }: Judged, signal: AbortSignal): Promise<void> {
  const tell = parts.teller.of(claim, verdict, did)
  const stands = await parts.statusWriter.status(claim, claimStatus(claim, verdict), signal)
  tell()
  parts.times.said(claim, stands)
}

function outcomeOf(parts: ClaimParts, decision: Decision, verdict: Verdict): Outcome {
  if (verdict.kind === 'rejected') return again(parts.retryRejectedMs, verdict.rejection.reason)
  if (verdict.kind === 'waiting') return waiting(decision.do === 'wait' ? decision.on : verdict.message)
  const { allocation, report } = verdict.held
  if (allocation.kind === 'missing' && allocation.untold) return again(parts.retryRejectedMs, 'AddressAllocationMissing')
  const { prepared, programmed } = report
  return prepared.status === 'True' && programmed.status === 'True' ? settled : waiting('report of the data plane')
}
