/** A burst's writes sent again by one client without waiting for anybody: as many, of the same kinds and sizes. */
import type { Client, KubeObject } from 'kube-control-loop'
import { floorKind, type Role, realKind, roles } from './floor-kinds.ts'
import { share } from './stats.ts'
import { bodyAt, type Place, statusAt, type Templates } from './templates.ts'

export type Step = { role: Role; do: 'create' | 'apply' | 'patch' }

/** In the order of owners, so that each object's owner stands. */
const order: readonly Role[] = ['claim', 'lease', 'interface', 'attachment', 'definition', 'advertisement']

/**
 * The steps of one claim out of `claims`: the counted writes dealt out evenly. Writes of kinds that are not the chain's
 * (none, when all goes well) are replayed as leases, so that the number stays the same. Pure.
 */
export function stepsOf(counts: ReadonlyMap<string, number>, claims: number, index: number): Step[] {
  const dealt: Record<Step['do'], Step[]> = { create: [], apply: [], patch: [] }
  for (const [write, total] of counts) {
    const [verb = '', resource = ''] = write.split(' ')
    const [plural, subresource] = resource.split('/')
    const role = roles.find((each) => realKind(each).plural === plural)
    const does = !role || verb === 'create' ? 'create' : subresource === 'status' ? 'apply' : 'patch'
    for (let n = share(total, claims, index); n > 0; n--) dealt[does].push({ role: role ?? 'lease', do: does })
  }
  const byOwner = (a: Step, b: Step) => order.indexOf(a.role) - order.indexOf(b.role)
  return [...dealt.create.sort(byOwner), ...dealt.patch, ...dealt.apply.sort(byOwner)]
}

export type ReplayParts = { client: Client; templates: Templates; from: string; namespace: string }
export type Burst = { counts: ReadonlyMap<string, number>; claims: number; atOnce: number }

let runs = 0

/** Milliseconds until the last answer. */
export async function replay(parts: ReplayParts, burst: Burst, signal: AbortSignal): Promise<number> {
  runs += 1
  const prefix = `burst-${runs}`
  let next = 0
  const started = performance.now()
  const work = async () => {
    for (let index = next++; index < burst.claims; index = next++) {
      await replayOne(parts, `${prefix}-${index}`, stepsOf(burst.counts, burst.claims, index), signal)
    }
  }
  await Promise.all(Array.from({ length: burst.atOnce }, work))
  return performance.now() - started
}

const ownerOf: Partial<Record<Role, Role>> = { attachment: 'interface', definition: 'attachment' }

async function replayOne(parts: ReplayParts, name: string, steps: readonly Step[], signal: AbortSignal): Promise<void> {
  const { client, templates, from, namespace } = parts
  const stored = new Map<Role, KubeObject>()
  const times = new Map<Role, number>()
  for (const { role, do: does } of steps) {
    const template = templates[role]
    const kind = floorKind(role)
    const round = times.get(role) ?? 0
    times.set(role, round + 1)
    const object = stored.get(role)
    if (does === 'create') {
      const place: Place = {
        from,
        to: round === 0 || !object ? name : `${name}-${round}`,
        namespace,
        owner: stored.get(ownerOf[role] ?? role),
      }
      stored.set(role, await client.create(kind, bodyAt(template, place), { fieldManager: template.createdBy }, signal))
      continue
    }
    if (!object) continue
    const at = { name: object.metadata.name, namespace }
    if (does === 'patch') {
      const operations = [{ op: 'add', path: '/metadata/annotations', value: { round: String(round) } } as const]
      await client.jsonPatch(kind, at, operations, { fieldManager: template.createdBy }, signal)
    } else {
      const body = statusAt(template, object, { from, to: name, namespace }, round)
      await client.apply(kind, { ...at, subresource: 'status' }, body, { fieldManager: template.appliedBy, force: false }, signal)
    }
  }
}
