/** Lost races at the address service: they end the pass as those at home do, and are counted with them. */
import {
  type Kind,
  type KubeObject,
  keyOf,
  type RaceCause,
  type WriteMetrics,
  WriteRaced,
  type WriteVerb,
} from 'kube-control-loop'

export type RaceCounts = Pick<WriteMetrics, 'raceRequeue'>

type Lost = {
  readonly verb: WriteVerb
  readonly kind: Pick<Kind, 'plural'>
  readonly object: Pick<KubeObject, 'metadata'>
  readonly cause: RaceCause
}

/** Counts it, and answers what is to be thrown. */
export function raced({ counts }: { counts: RaceCounts }, { verb, kind, object, cause }: Lost): WriteRaced {
  const target = { controller: 'ipam', resource: kind.plural, verb } as const
  counts.raceRequeue({ ...target, cause })
  return new WriteRaced({ ...target, key: keyOf(object) }, cause)
}
