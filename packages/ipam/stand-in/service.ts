/**
 * What this service does itself: it answers the creation of a claim with its block, and puts away what a deleted one held. All of
 * it one after the other, and from what stands on the real API server: a restart loses nothing.
 * Authorization stays the real server's: the claim is created and deleted there in the caller's name.
 */
import { IPClaim, type ScopeReference } from '../src/index.ts'
import type { Answer, Asked, Behind } from './behind.ts'
import { type Draft, type Plan, planFor, type Standing } from './plan.ts'
import { Refused } from './refused.ts'
import { failure, jsonAnswer, refusal } from './statuses.ts'
import { draftOf, type Store, statusOf } from './store.ts'
import { isOccupied } from './tidy.ts'

export type Service = {
  create(namespace: string, asked: Asked): Promise<Answer>
  remove(namespace: string, name: string, asked: Asked): Promise<Answer>
  /** Puts right what was left; rejects where it cannot be. */
  settle(): Promise<void>
  /** Somebody else has written an object of these kinds. */
  changed(): void
}

/** A caller was answered otherwise than the real server said, or said nothing since it was not asked. */
export type Overruled = (request: { method: string; said: number | undefined; answered: number }) => void

export type ServiceParts = {
  behind: Behind
  store: Store
  signal: AbortSignal
  log: (line: string) => void
  overruled: Overruled
}

export function createService({ behind, store, signal, log, overruled }: ServiceParts): Service {
  const serially = createTurns()

  async function create(namespace: string, asked: Asked): Promise<Answer> {
    const body = objectIn(asked.body)
    const isJson = /\bjson\b/.test(String(asked.headers['content-type'] ?? 'application/json'))
    if (!isJson) return instead(asked.method, undefined, failure(415, 'this stand-in takes claims as JSON only'))
    const [known, isThere] = await Promise.all([store.settled(signal), store.hasNamespace(namespace, signal)])
    if (!body || !isThere) return await behind.ask(asked)
    const draft = draftIn(namespace, body)
    const { plan, standing } = await planned(draft, known)
    if (plan instanceof Refused) return await unlessTheServerSays(asked, refusal(plan.refusals, draft.name))
    const answer = await behind.ask(asked)
    const claim = answer.status === 201 ? (objectIn(answer.body) as IPClaim | undefined) : undefined
    if (!claim) return answer
    if (isDryRun(asked)) return jsonAnswer(201, { ...claim, status: statusOf(plan, undefined) })
    return await answered(claim, standing)
  }

  /** What others may have just given back, or made, is looked for before anything is refused. */
  async function planned(draft: Draft, known: Standing): Promise<{ plan: Plan | Refused; standing: Standing }> {
    const plan = planOrRefusal(draft, known)
    if (!(plan instanceof Refused)) return { plan, standing: known }
    store.forget()
    const standing = await store.settled(signal)
    return { plan: planOrRefusal(draft, standing), standing }
  }

  /** Nothing may stay of a claim that was not answered: its next creation would find it. */
  async function answered(claim: IPClaim, standing: Standing): Promise<Answer> {
    try {
      return jsonAnswer(201, await store.carryOut(claim, planFor(draftOf(claim), standing), signal))
    } catch (error) {
      log(`IPClaim ${claim.metadata.namespace}/${claim.metadata.name} is taken back: ${String(error)}`)
      await store.removeClaim(claim, signal).catch((failed: unknown) => log(`and could not be: ${String(failed)}`))
      const answer = failure(500, `the block could not be stored: ${String(error)}`, { name: claim.metadata.name })
      return instead('POST', 201, answer)
    }
  }

  async function remove(namespace: string, name: string, asked: Asked): Promise<Answer> {
    const claim = await store.findClaim(namespace, name, signal)
    const pool = claim?.spec.target === 'ScopeRange' ? claim.status?.poolRef?.name : undefined
    store.forget()
    if (pool !== undefined && isOccupied(pool, await store.settled(signal))) {
      const message = `pool ${pool} is occupied: blocks of it are held`
      return await unlessTheServerSays(asked, failure(409, message, { name }))
    }
    const answer = await behind.ask(asked)
    store.forget()
    if (answer.status < 300 && !isDryRun(asked))
      await store.settled(signal).catch((error: unknown) => log(`what ${namespace}/${name} held goes later: ${String(error)}`))
    return answer
  }

  /** Who may not do it at all, or does it wrongly, is told so first. */
  async function unlessTheServerSays(asked: Asked, answer: Answer): Promise<Answer> {
    const said = await behind.ask(dryRunOf(asked))
    return said.status < 300 ? instead(asked.method, said.status, answer) : said
  }

  function instead(method: string, said: number | undefined, answer: Answer): Answer {
    overruled({ method, said, answered: answer.status })
    return answer
  }

  return {
    create: (namespace, asked) => serially(() => create(namespace, asked)),
    remove: (namespace, name, asked) => serially(() => remove(namespace, name, asked)),
    settle: () =>
      serially(async () => {
        store.forget()
        await store.settled(signal)
      }),
    changed: () => store.forget(),
  }
}

function planOrRefusal(draft: Draft, standing: Standing): Plan | Refused {
  try {
    return planFor(draft, standing)
  } catch (error) {
    if (error instanceof Refused) return error
    throw error
  }
}

function createTurns(): <T>(turn: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (turn) => {
    const mine = last.then(turn, turn)
    last = mine.catch(() => {})
    return mine
  }
}

type Fields = Record<string, unknown>

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value)

function objectIn(body: Buffer | undefined): Fields | undefined {
  if (!body || body.length === 0) return undefined
  try {
    const value: unknown = JSON.parse(body.toString())
    return isFields(value) ? value : undefined
  } catch {
    return undefined
  }
}

const textIn = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

/** As much of what somebody sent as has the right form; the real server refuses the rest. */
function draftIn(namespace: string, { metadata, spec }: Fields): Draft {
  const from = isFields(spec) ? spec : {}
  const { ipFamily, target, prefixLength, scope } = from
  const [className, address] = [textIn(from.className), textIn(from.address)]
  const family: Pick<Draft['spec'], 'ipFamily'> = ipFamily === 'IPv4' || ipFamily === 'IPv6' ? { ipFamily } : {}
  return {
    namespace,
    name: isFields(metadata) ? textIn(metadata.name) : undefined,
    spec: {
      ...family,
      ...(className === undefined ? {} : { className }),
      ...(address === undefined ? {} : { address }),
      ...(typeof prefixLength === 'number' ? { prefixLength } : {}),
      ...(isFields(scope) ? { scope: scope as Record<string, ScopeReference> } : {}),
      ...(target === 'ScopeRange' ? { target } : {}),
    },
  }
}

const isDryRun = ({ url, body }: Asked): boolean =>
  new URL(url, 'http://any').searchParams.has('dryRun') || objectIn(body)?.dryRun !== undefined

/** Options of a deletion stand in its body where it has one, and are looked for nowhere else then. */
function dryRunOf(asked: Asked): Asked {
  const options = asked.method === 'DELETE' ? objectIn(asked.body) : undefined
  if (options) return { ...asked, body: Buffer.from(JSON.stringify({ ...options, dryRun: ['All'] })) }
  const url = new URL(asked.url, 'http://any')
  url.searchParams.set('dryRun', 'All')
  return { ...asked, url: `${url.pathname}${url.search}` }
}

const claims = new RegExp(
  `^/apis/${IPClaim.group.replaceAll('.', '\\.')}/${IPClaim.version}/namespaces/([^/]+)/${IPClaim.plural}(?:/([^/]+))?$`,
)

const any = `/apis/${IPClaim.group}/`

/** Whether a path is of any of the kinds. */
export const isOfTheirs = (path: string): boolean => path.startsWith(any)

/** Namespace and name where a path is that of claims, or of one. */
export function claimsAt(path: string): { namespace: string; name: string | undefined } | undefined {
  const [, namespace, name] = claims.exec(path) ?? []
  if (namespace === undefined) return undefined
  return { namespace: decodeURIComponent(namespace), name: name === undefined ? undefined : decodeURIComponent(name) }
}
