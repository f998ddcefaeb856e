/**
 * Whether a kind of others can be read. A cache that was never filled tells nothing about why; where the API server refuses, people
 * must be told, and that takes a question of its own.
 */
import type { Cache, Client, Clock, Kind } from 'kube-control-loop'

export type Readable =
  | { readonly is: 'yes' }
  /** Listed soon: nothing is known yet. */
  | { readonly is: 'soon' }
  | { readonly is: 'forbidden'; readonly message: string }

/** An answer is good for so long: passes over many objects ask once. */
const freshMs = 2_000

/** Asks as `SelfSubjectAccessReview`; source: Kubernetes authorization API. Rejects when the question cannot be asked. */
export function readableCheck(
  cache: Cache,
  { client, clock }: { client: Client; clock: Clock },
): (signal: AbortSignal) => Promise<Readable> {
  let asked: { atMs: number; answer: Promise<string | undefined> } | undefined
  const ask = (signal: AbortSignal) => {
    const atMs = clock.monotonic()
    if (!asked || atMs - asked.atMs > freshMs) {
      const answer = missingVerb(client, cache.kind, signal)
      asked = { atMs, answer }
      // A question that failed is no answer: the next pass asks again.
      answer.catch(() => {
        asked = undefined
      })
    }
    return asked.answer
  }
  return async (signal) => {
    if (cache.state === 'synced' || cache.state === 'unserved') return { is: 'yes' }
    const verb = await ask(signal)
    if (verb !== undefined) return { is: 'forbidden', message: `not allowed to ${verb} ${resourceOf(cache.kind)}` }
    // What was last known stands until the watch is open again.
    return { is: cache.state === 'stale' ? 'yes' : 'soon' }
  }
}

const resourceOf = ({ group, plural }: Kind) => (group === '' ? plural : `${plural}.${group}`)

async function missingVerb(client: Client, { group, plural }: Kind, signal: AbortSignal): Promise<string | undefined> {
  const apiVersion = 'authorization.k8s.io/v1'
  for (const verb of ['list', 'watch']) {
    const spec = { resourceAttributes: { group, resource: plural, verb } }
    const body = { apiVersion, kind: 'SelfSubjectAccessReview', spec }
    const path = `/apis/${apiVersion}/selfsubjectaccessreviews`
    const review = (await client.raw({ method: 'POST', path, body }, signal)) as { status?: { allowed?: boolean } }
    if (review.status?.allowed === false) return verb
  }
  return undefined
}
