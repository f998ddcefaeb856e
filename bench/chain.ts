/** The writes from a claim's POST to the status that shows it Prepared, as the audit log tells them. Pure. */
import type { AuditEntry } from 'kube-localplane'
import { median } from './stats.ts'

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
  /** `post`: the claim's own; `chain`: the last write may depend on it; `beside`: it cannot. */
  role: 'post' | 'chain' | 'beside'
}

/**
 * `writes` are those of one claim's objects, in any order. `shownBy` tells which write of the claim itself showed Prepared:
 * 1 is the first after the POST. That write may depend on all that `actors` (user names) sent before it: of others' writes it
 * may know from a watch before they are answered, of writes of its own process only when they are. Others' writes, those of a
 * node say, are beside: Prepared does not wait for them. Undefined when the log lacks the POST or that write.
 */
export function chainOf(
  writes: readonly Write[],
  claim: { resource: string; name: string; shownBy: number },
  actors: readonly string[],
): Link[] | undefined {
  const ofClaim = writes.filter(({ resource, name }) => resource === claim.resource && name === claim.name)
  const post = ofClaim.find(({ verb }) => verb === 'create')
  const last = ofClaim.filter(({ verb }) => verb !== 'create').sort(byAnswer)[claim.shownBy - 1]
  if (!post || !last) return undefined
  const start = timeOf(post.requestReceived)
  const sent = timeOf(last.requestReceived)
  const mayMatter = ({ user, requestReceived, stageTimestamp }: Write) =>
    actors.includes(user) && timeOf(user === last.user ? stageTimestamp : requestReceived) <= sent
  return writes
    .filter(({ requestReceived }) => timeOf(requestReceived) <= timeOf(last.stageTimestamp))
    .sort((a, b) => timeOf(a.requestReceived) - timeOf(b.requestReceived))
    .map((write) => ({
      who: whoOf(write),
      verb: write.verb,
      what: write.subresource ? `${write.resource}/${write.subresource}` : write.resource,
      fromMs: timeOf(write.requestReceived) - start,
      toMs: timeOf(write.stageTimestamp) - start,
      role: write === post ? 'post' : write === last || mayMatter(write) ? 'chain' : 'beside',
    }))
}

export const dependentWrites = (chain: readonly Link[]): number => chain.filter(({ role }) => role === 'chain').length

export function renderChain(chain: readonly Link[]): string[] {
  return chain.map(({ who, verb, what, fromMs, toMs, role }) => {
    const times = `${fromMs.toFixed(1).padStart(7)} – ${toMs.toFixed(1).padStart(6)} ms`
    return `  ${times}  ${role.padEnd(6)}  ${verb.padEnd(6)} ${what.padEnd(34)} ${who}`
  })
}

/** The writes of claims that came one after the other, a list for each: it begins with the claim's POST. */
export function oneByOne<W extends Write>(writes: readonly W[], resource: string): W[][] {
  const lists: W[][] = []
  for (const write of [...writes].sort((a, b) => timeOf(a.requestReceived) - timeOf(b.requestReceived))) {
    if (write.verb === 'create' && write.resource === resource) lists.push([])
    lists.at(-1)?.push(write)
  }
  return lists
}

/** Each hop of the usual chain: medians of the time before it (since the answer of the write before) and of the write itself. */
export function renderHops(chains: readonly (readonly Link[])[]): string {
  const steps = chains.map((chain) => chain.filter(({ role }) => role !== 'beside'))
  const usual = median(steps.map((chain) => chain.length))
  const alike = steps.filter((chain) => chain.length === usual)
  const hops = (alike[0] ?? []).map(({ verb, what }, index) => {
    const before = median(alike.map((chain) => (chain[index]?.fromMs ?? 0) - (chain[index - 1]?.toMs ?? 0)))
    const itself = median(alike.map((chain) => (chain[index]?.toMs ?? 0) - (chain[index]?.fromMs ?? 0)))
    return `${verb} ${what} ${before.toFixed(1)}+${itself.toFixed(1)}`
  })
  return hops.join(', ')
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
