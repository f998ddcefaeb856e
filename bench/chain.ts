/** The writes from a claim's POST to the status that shows it Prepared, as the audit log tells them. Pure. */
import type { AuditEntry } from 'kube-localplane'

export type Write = Pick<
  AuditEntry,
  | 'verb'
  | 'user'
  | 'group'
  | 'resource'
  | 'subresource'
  | 'namespace'
  | 'name'
  | 'code'
  | 'fieldManager'
  | 'requestReceived'
  | 'stageTimestamp'
>

export type Link = {
  who: string
  verb: string
  what: string
  /** Since the claim's POST arrived, in ms: this request's arrival and its answer. */
  fromMs: number
  toMs: number
  /** `post`: the claim's own; `chain`: the last write may depend on it; `beside`: it was under way when the last one was sent. */
  role: 'post' | 'chain' | 'beside'
}

/**
 * `writes` are those of one claim's objects, in any order. `shownBy` tells which write of the claim itself showed Prepared:
 * 1 is the first after the POST. A write that was answered before the last one arrived counts as one that it depends on;
 * one that overlaps it, or came later, cannot be. Undefined when the log lacks the POST or that write.
 */
export function chainOf(
  writes: readonly Write[],
  claim: { resource: string; name: string },
  shownBy: number,
): Link[] | undefined {
  const ofClaim = writes.filter(({ resource, name }) => resource === claim.resource && name === claim.name)
  const post = ofClaim.find(({ verb }) => verb === 'create')
  const last = ofClaim.filter(({ verb }) => verb !== 'create').sort(byAnswer)[shownBy - 1]
  if (!post || !last) return undefined
  const start = timeOf(post.requestReceived)
  const sent = timeOf(last.requestReceived)
  return writes
    .filter(({ requestReceived }) => timeOf(requestReceived) <= timeOf(last.stageTimestamp))
    .sort((a, b) => timeOf(a.requestReceived) - timeOf(b.requestReceived))
    .map((write) => ({
      who: whoOf(write),
      verb: write.verb,
      what: write.subresource ? `${write.resource}/${write.subresource}` : write.resource,
      fromMs: timeOf(write.requestReceived) - start,
      toMs: timeOf(write.stageTimestamp) - start,
      role: write === post ? 'post' : write === last || timeOf(write.stageTimestamp) <= sent ? 'chain' : 'beside',
    }))
}

export const dependentWrites = (chain: readonly Link[]): number => chain.filter(({ role }) => role === 'chain').length

export function renderChain(chain: readonly Link[]): string[] {
  return chain.map(({ who, verb, what, fromMs, toMs, role }) => {
    const times = `${fromMs.toFixed(1).padStart(7)} – ${toMs.toFixed(1).padStart(6)} ms`
    return `  ${times}  ${role.padEnd(6)}  ${verb.padEnd(6)} ${what.padEnd(34)} ${who}`
  })
}

/** Milliseconds of an RFC 3339 time, microseconds kept. */
export function timeOf(text: string): number {
  const micros = /\.\d{3}(\d{1,3})/.exec(text)?.[1] ?? ''
  return Date.parse(text) + Number(`0.${micros.padEnd(3, '0')}`)
}

const byAnswer = (a: Write, b: Write) => timeOf(a.stageTimestamp) - timeOf(b.stageTimestamp)

function whoOf({ user, fieldManager }: Write): string {
  const account = user.startsWith('system:serviceaccount:') ? (user.split(':').at(-1) ?? user) : user
  return fieldManager && fieldManager !== account ? `${account} as ${fieldManager}` : account
}
