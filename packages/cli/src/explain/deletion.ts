/** What the deletion of an object of the chain waits for. Pure. */
import type { KubeObject } from 'kube-control-loop'
import type { Link } from './chain.ts'
import { absent, ageOf, type Facts, nameOf, refOf } from './facts.ts'
import type { FinalizerView, ObjectName, Verdict } from './model.ts'
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

function sentenceAt(facts: Facts, object: KubeObject, above: readonly KubeObject[]): string {
  const since = ageOf(facts, object.metadata.deletionTimestamp)
  const finalizers = finalizersOf(object)
  const by =
    finalizers.length > 0 ? `held by ${list(finalizers.map((each) => holding(facts, each)))}` : 'and nothing holds it any more'
  const waiting = above.length > 0 ? `; ${list(above.map(refOf).map(nameOf))} wait${above.length === 1 ? 's' : ''} for it` : ''
  return `Deletion waits at ${nameOf(refOf(object))}: it is being deleted${since === undefined ? '' : ` for ${since}`}, ${by}${waiting}.`
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
  const next = standing[standing.indexOf(lowest) + 1]
  const above = deleting.filter((object) => object !== lowest)
  const verdict = (at: ObjectName, sentence: string): Verdict => ({ state: 'deleting', at, sentence })
  const foreign = finalizersOf(lowest).some(({ removedBy }) => removedBy === undefined)
  if (!next || foreign) return verdict(refOf(lowest), sentenceAt(facts, lowest, above))
  const component = finalizersOf(lowest).find((each) => each.component)?.component
  const sentence = `${sentenceAt(facts, lowest, above).slice(0, -1)}; first ${nameOf(refOf(next))} has to go, whose deletion ${component ?? 'somebody'} has not asked for yet.`
  return verdict(refOf(lowest), sentence)
}
