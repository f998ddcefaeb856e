/** What all cases of one run share: the server, the data plane, and how long anything may take. */
import type { DataPlane } from '@nso/api'
import { type ContractView, contractView, discover, type KindRef } from '@nso/operator'
import type { Client, Clock, Kind } from 'kube-control-loop'
import type { PlaneUnderTest } from './plane-under-test.ts'
import { servedKinds } from './served-kinds.ts'
import { CaseSkipped, type Evidence, NothingTried } from './verdict.ts'

export type Limits = {
  /** Longest time in ms for what a data plane does at once: a report, a repair, one step of tear-down. */
  readonly patienceMs: number
  /** So long nothing changes, in ms, where all that can be waited for is that everything stays as it is. */
  readonly settledMs: number
  /** How many attachments the burst makes. */
  readonly burst: number
  /** How many the restart makes. */
  readonly crowd: number
  /** How often an attachment is made again under its name. */
  readonly rounds: number
  /** How long nothing may be written, in ms. */
  readonly idleMs: number
}

export const ordinaryLimits: Limits = {
  patienceMs: 60_000,
  settledMs: 1000,
  burst: 200,
  crowd: 30,
  rounds: 20,
  idleMs: 10_000,
}

/** A status that is not as it should be. */
export type Malformed = { readonly problem: string; readonly evidence: Evidence }

export type Bench = {
  readonly plane: PlaneUnderTest
  readonly dataPlane: DataPlane
  readonly view: ContractView
  /** As the administrator. */
  readonly client: Client
  readonly clock: Clock
  readonly limits: Limits
  /** A number from 0 to 1, the next one of a repeatable row. */
  readonly chance: () => number
  /** Undefined while the kind is not served, or where the data plane has none. */
  readonly attachmentKind: Kind | undefined
  readonly networkKind: Kind | undefined
  /** All that the server serves, as it was when first asked. */
  servedKinds(signal: AbortSignal): Promise<readonly Kind[]>
  /** What was learnt on the way, by whatever case. */
  readonly seen: { readonly finalizers: Set<string>; readonly malformed: Malformed[]; holdsOn: boolean }
  /** What the present case waits for, or waited for last; for people. */
  readonly waitsFor: { what: string }
  /** The namespaces of cases that are over stay, empty of what was asked for: on a cluster that is thrown away it saves time. */
  readonly keepsNamespaces: boolean
  /** By whom requests are made, as field manager. */
  readonly by: { readonly fieldManager: 'conformance' }
}

export type BenchParts = Pick<Bench, 'plane' | 'client' | 'clock' | 'limits' | 'keepsNamespaces'> & { seed: number }

/** Asks the server for the kinds. Rejects when it cannot be asked, and with `NothingTried` when the DataPlane is none. */
export async function setUp(parts: BenchParts, signal: AbortSignal): Promise<Bench> {
  const { plane, client, seed, ...rest } = parts
  const dataPlane = plane.dataPlane as unknown as DataPlane
  const view = viewOf(dataPlane)
  const served = async (ref: KindRef | undefined): Promise<Kind | undefined> => {
    const found = ref && (await discover(client, ref, signal))
    return found?.state === 'served' ? found.kind : undefined
  }
  let all: readonly Kind[] | undefined
  return {
    ...rest,
    async servedKinds(within) {
      all ??= await servedKinds(client, within)
      return all
    },
    ...{ plane, client, dataPlane, view },
    chance: rowOf(seed),
    attachmentKind: await served(view.attachmentKind),
    networkKind: await served(view.networkKind),
    seen: { finalizers: new Set(), malformed: [], holdsOn: false },
    waitsFor: { what: 'the API server' },
    by: { fieldManager: 'conformance' },
  }
}

const required = ['spec.attachment.apiVersion', 'spec.attachment.kind', 'spec.report.prepared.condition']

/** What comes from a file has passed no schema. */
function viewOf(dataPlane: DataPlane): ContractView {
  const textAt = (path: string) =>
    path
      .split('.')
      .reduce<unknown>((value, key) => (value as Readonly<Record<string, unknown>> | null | undefined)?.[key], dataPlane)
  const missing = required.filter((path) => typeof textAt(path) !== 'string')
  if (missing.length > 0) throw new NothingTried(`The DataPlane lacks ${missing.join(', ')}.`)
  try {
    return contractView(dataPlane)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new NothingTried(`The DataPlane cannot be read: ${why}.`, { cause })
  }
}

/** For cases that need `kinds`: tried alone on a server without them there is nothing to do. */
export function attachmentKindOf({ attachmentKind, view }: Bench): Kind {
  if (!attachmentKind) throw new CaseSkipped(`kind ${view.attachmentKind.kind} is not served`)
  return attachmentKind
}

/** Source: mulberry32, a 32-bit generator in the public domain. */
function rowOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
