/** The address service as this process reaches it, and the one way in which claims are made there. */
import { ApiError, type Cache, type Client, keyOf, type SpecOf, type StatusOf } from 'kube-control-loop'
import { IPClaim } from 'kube-ipam'
import { advice } from '../../messages.ts'
import { type Project, type ProjectAnswer, projectOf } from './project.ts'
import { type RaceCounts, raced } from './raced.ts'
import { isAway, refusalOf, type ServiceRefusal, typeOf } from './refusals.ts'

export type AddressService = {
  /** Of the service's API server. Its writes stop with the lease, as all writes of the process. */
  readonly client: Client
  /** Claims as the service has them; whoever needs an answer for certain asks the client. */
  readonly claims: Cache<SpecOf<typeof IPClaim>, StatusOf<typeof IPClaim>>
  /** Namespaces of our own cluster. */
  readonly namespaces: Cache
  readonly counts: RaceCounts
}

export function projectIn({ namespaces }: Pick<AddressService, 'namespaces'>, namespace: string): ProjectAnswer {
  return projectOf(namespace, namespaces.get(namespace))
}

export type Away = { readonly kind: 'away'; readonly message: string }

export type Posted =
  /** Under that name, made now (`made`) or earlier: the caller compares it with what it wants. */
  | { readonly kind: 'stands'; readonly claim: IPClaim; readonly made: boolean }
  | ({ readonly kind: 'refused' } & ServiceRefusal)
  /** The claim may have been made: its name tells, later. */
  | Away

/**
 * Makes a claim, whose answer holds the block. A name that is taken is read: after a lost answer, a crash or beside another
 * leader the claim is found, not made twice. Throws what is no answer of the service (a lost lease, an abort), and WriteRaced
 * when what had the name is gone.
 */
export async function postClaim(
  service: Pick<AddressService, 'client' | 'claims' | 'counts'>,
  { claim, project, fieldManager }: { claim: IPClaim; project: Project; fieldManager: string },
  signal: AbortSignal,
): Promise<Posted> {
  const { client, claims } = service
  const done = claims.writing(keyOf(claim))
  try {
    const stands = await client.create(IPClaim, claim, { fieldManager }, signal)
    claims.absorb(stands)
    return { kind: 'stands', claim: stands, made: true }
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof ApiError && error.status === 409) {
      const stands = await unlessAway(() => client.find(IPClaim, claim.metadata, signal), signal)
      if (stands && 'message' in stands) return stands
      if (stands) claims.absorb(stands)
      if (stands) return { kind: 'stands', claim: stands, made: false }
      // It ended between the two answers, and nothing may be left that tells of it.
      if (error.reason === 'AlreadyExists' && typeOf(error) === undefined)
        throw raced(service, { verb: 'create', kind: IPClaim, object: claim, cause: 'already-exists' })
    }
    const refusal = refusalOf(error, project)
    if (refusal) return { kind: 'refused', ...refusal }
    if (isAway(error)) return awayFor(error)
    throw error
  } finally {
    done()
  }
}

/** Runs a question to the service; not being answered is a value. */
export async function unlessAway<T>(question: () => Promise<T>, signal: AbortSignal): Promise<T | Away> {
  try {
    return await question()
  } catch (error) {
    signal.throwIfAborted()
    if (isAway(error)) return awayFor(error)
    throw error
  }
}

/** The text names no request: it is the same for each, so that a status says it once. */
function awayFor(error: unknown): Away {
  const why = error instanceof ApiError ? `HTTP ${error.status}` : 'no connection'
  return {
    kind: 'away',
    message: advice(
      `The address service does not answer (${why})`,
      'nothing to do if it comes back, it is asked again within seconds',
    ),
  }
}
