/**
 * Waiting until the API server enforces ownership. It takes about a second after a binding appears, and writes pass meanwhile:
 * only a write that must be refused can tell. Source: KEP-3488; measured.
 */
import { ApiError } from '../api-error.ts'
import type { Client } from '../client.ts'
import type { Clock } from '../clock.ts'
import type { Kind, KubeObject } from '../kind.ts'
import type { OwnershipTable } from '../ownership.ts'
import { enforcedKinds, reservedManagers } from './enforced.ts'
import { type OwnershipEnforcement, policyName } from './policy.ts'

/** A valid object of one enforced kind; it is never stored. */
export type OwnershipProbe = { readonly kind: Kind; readonly object: KubeObject }

export class NotInForce extends Error {
  override readonly name = 'NotInForce'
  readonly code = 'OWNERSHIP_NOT_IN_FORCE'
}

export type InForceOptions = {
  /** Of somebody who may create these objects, and is none of the documented writers. */
  readonly client: Pick<Client, 'create'>
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>
  readonly enforcement: OwnershipEnforcement
  readonly probes: readonly OwnershipProbe[]
  /** 30 s unless said otherwise. */
  readonly timeoutMs?: number
  readonly signal: AbortSignal
}

const pauseMs = 100

/** A manager name that an outsider is refused to use. */
function reservedName(table: OwnershipTable, closed: readonly string[]): string {
  const [name] = [...reservedManagers(table, closed).values()].flat()
  if (name === undefined) throw new TypeError('the table has no closed identity')
  return name
}

function requireProbes({ enforcement, probes }: InForceOptions): void {
  const closed = Object.keys(enforcement.identities)
  const missing = enforcedKinds(enforcement.table, closed).filter(
    ({ kind }) => !probes.some((probe) => probe.kind.plural === kind.plural),
  )
  if (missing.length > 0) throw new TypeError(`no probe for ${missing.map(({ kind }) => kind.plural).join(', ')}`)
}

/** What the server says to a dry run of a create under a reserved name: refused by the policy, or how it answered instead. */
async function tryOnce(options: InForceOptions, { kind, object }: OwnershipProbe, name: string): Promise<'refused' | string> {
  try {
    await options.client.create(kind, object, { fieldManager: name, dryRun: true }, options.signal)
    return 'the write would have passed'
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const policy = policyName(options.enforcement, kind.plural)
    return error.status === 403 && error.message.includes(`ValidatingAdmissionPolicy '${policy}'`) ? 'refused' : error.message
  }
}

/**
 * Resolves when every policy of the table refuses, with their number. Writes nothing: each probe is a dry run. Rejects with
 * `NotInForce`, which names the policy and the last answer, when the time is over.
 */
export async function ownershipInForce(options: InForceOptions): Promise<number> {
  requireProbes(options)
  const { clock, enforcement, probes, timeoutMs = 30_000, signal } = options
  const name = reservedName(enforcement.table, Object.keys(enforcement.identities))
  const deadline = clock.monotonic() + timeoutMs
  for (const probe of probes) {
    for (;;) {
      const answer = await tryOnce(options, probe, name)
      if (answer === 'refused') break
      if (clock.monotonic() >= deadline)
        throw new NotInForce(
          `ValidatingAdmissionPolicy ${policyName(enforcement, probe.kind.plural)} is not in force after ${timeoutMs / 1000} s; to a write that it must refuse the server answered: ${answer}`,
        )
      await clock.sleep(pauseMs, signal)
    }
  }
  return probes.length
}
