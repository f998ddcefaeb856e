/** What the deletion of an object of the chain waits for. Pure. */
import { BGPAdvertisement } from 'galactic/api'
import type { KubeObject } from 'kube-control-loop'
import type { Link } from './chain.ts'
import { absent, ageOf, type Facts, nameOf, refOf } from './facts.ts'
import type { FinalizerView, Verdict } from './model.ts'
import { finalizersOf } from './nodes.ts'

const isDeleting = (object: KubeObject | undefined): object is KubeObject => object?.metadata.deletionTimestamp !== undefined

/** The chain from the top: each is deleted when the next is gone. */
function chainDown({ chain }: Facts): Link[] {
  const { claim, interface: nic, attachment, made } = chain
  return [chain.target.kind === 'claim' ? claim : undefined, chain.heldBy ? undefined : nic, attachment, ...made].flatMap(
    (link) => (link ? [link] : []),
  )
}

const list = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`

function holding(facts: Facts, { name, removedBy, component, addedBy }: FinalizerView): string {
  if (removedBy === undefined) {
    const by = addedBy.length > 0 ? `, put there by ${addedBy.join(', ')}` : ''
    return `finalizer ${name}, which is nobody’s that the tables name${by}: whoever put it there has to remove it`
  }
  return `finalizer ${name}, which ${component ? `${component} (${removedBy})` : removedBy} removes${absent(facts, component)}`
}

/** `it is being deleted for 45 s, held by finalizer …`: what an object waits for to be gone. */
export function going(facts: Facts, object: KubeObject): string {
  const since = ageOf(facts, object.metadata.deletionTimestamp)
  const finalizers = finalizersOf(object)
  const by =
    finalizers.length > 0 ? `held by ${list(finalizers.map((each) => holding(facts, each)))}` : 'and nothing holds it any more'
  return `it is being deleted${since === undefined ? '' : ` for ${since}`}, ${by}`
}

/** What has to go before the object can, where nothing better is known to hold it. */
function nextStep(facts: Facts, { object: lowest, next }: { object: KubeObject; next: KubeObject | undefined }): string {
  const finalizers = finalizersOf(lowest)
  const component = finalizers.find((each) => each.component)?.component
  const isKnown = finalizers.some(({ removedBy }) => removedBy === undefined) || absent(facts, component) !== ''
  if (!next || isKnown) return ''
  // The node withdraws it when the definition is gone; Galactic has no say in it.
  if (next.kind === BGPAdvertisement.kind) return `; its node has not withdrawn ${nameOf(refOf(next))} yet`
  return `; first ${nameOf(refOf(next))} has to go, whose deletion ${component ?? 'somebody'} has not asked for yet`
}

/** The lowest object of the chain that holds up the deletion of the object that was asked for; undefined when that is not being deleted. */
export function deletionVerdict(facts: Facts): Verdict | undefined {
  const [first, ...below] = chainDown(facts)
  const top = first?.object
  if (!first || !isDeleting(top)) return undefined
  const standing = [top, ...below.flatMap(({ object }) => object ?? [])]
  // What the data plane made for an attachment goes with it, and holds it up only while it is there.
  const deleting = standing.filter(isDeleting)
  const lowest = deleting.at(-1) ?? top
  const above = deleting.filter((object) => object !== lowest).map((object) => nameOf(refOf(object)))
  const waiting = above.length > 0 ? `; ${list(above)} wait${above.length === 1 ? 's' : ''} for it` : ''
  const next = nextStep(facts, { object: lowest, next: standing[standing.indexOf(lowest) + 1] })
  const sentence = `Deletion waits at ${nameOf(refOf(lowest))}: ${going(facts, lowest)}${waiting}${next}.`
  return { state: 'deleting', at: refOf(lowest), sentence }
}
