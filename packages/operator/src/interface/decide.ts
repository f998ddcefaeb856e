/** What to do for a live interface: a pure function of what was seen. */
import { annotations, parseDataPlaneChoice } from '@nso/api'
import { needsOf, shortfall } from '../dataplane/capabilities.ts'
import { areNetworksUnlisted } from '../dataplane/plane.ts'
import { isGoing, isRecorded } from '../dataplane/serving.ts'
import type { CompiledPlane } from '../dataplane/types.ts'
import type { Seen } from './observe.ts'

export type Decision =
  /** No claim holds it: its attachment goes, then it may be taken. */
  | { do: 'set-free' }
  /** `choose`: the plane is written down first, since an attachment must be found again by it. */
  | { do: 'attach'; plane: CompiledPlane; choose: boolean }
  /** Nothing to make; status says what is missing, and a watch on planes and contexts continues. */
  | { do: 'say'; lacking: string }

export function decide(seen: Seen): Decision {
  const { nic, plane, context, location, edited } = seen
  if (!nic.spec.claimRef) return { do: 'set-free' }
  if (edited) return { do: 'say', lacking: 'its addresses being put back' }
  const stays = plane && (seen.served || !isGoing(plane)) ? plane : undefined
  const chosen = stays ?? replacement(seen)
  if (!chosen) return { do: 'say', lacking: `data plane for location ${location ?? 'unknown'}` }
  if (!context) return { do: 'say', lacking: 'network context' }
  if (isUnlisted(chosen)) return { do: 'say', lacking: `${chosen.networkKind?.kind} objects being listed` }
  return { do: 'attach', plane: chosen, choose: stays === undefined }
}

/** Templates may read the network object: before the kind is listed, its absence means nothing and must take no value away. */
function isUnlisted(plane: CompiledPlane): boolean {
  return plane.hindrance === undefined && areNetworksUnlisted(plane)
}

/**
 * A plane for an interface that has none, or whose DataPlane is gone (perhaps made again under the same name) or going before
 * it made anything. The choice never moves while an attachment of another kind may exist; whoever is chosen anew must be
 * able to do what the interface needs.
 */
function replacement({ nic, offer }: Seen): CompiledPlane | undefined {
  if (!offer) return undefined
  const chosen = parseDataPlaneChoice(nic.metadata.annotations?.[annotations.dataPlane])
  if (chosen && nic.status?.attachmentRef) return isRecorded(offer, nic) ? offer : undefined
  return shortfall(offer, needsOf(nic)) ? undefined : offer
}
