/** Answers that are this service's own, in the form of an API server's. Source: metav1.Status. */
import { IPClaim, type Refusal, refusalTypes } from '../src/index.ts'
import type { Answer } from './behind.ts'

export function jsonAnswer(status: number, body: unknown): Answer {
  return { status, headers: { 'content-type': 'application/json' }, body: Buffer.from(`${JSON.stringify(body)}\n`) }
}

const reasons: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  409: 'Conflict',
  415: 'UnsupportedMediaType',
  500: 'InternalError',
  507: 'InsufficientStorage',
}

type Details = { name?: string | undefined; causes?: readonly { reason: string; message: string; field?: string }[] }

export function failure(status: number, message: string, { name, causes }: Details = {}): Answer {
  const about = { group: IPClaim.group, kind: IPClaim.plural }
  const details = { ...(name === undefined ? {} : { name }), ...about, ...(causes ? { causes } : {}) }
  return jsonAnswer(status, {
    ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' },
    ...{ message, reason: reasons[status] ?? '', details, code: status },
  })
}

/** On the wire a cause's type is its `reason`. */
export function refusal(refusals: readonly Refusal[], claim: string | undefined): Answer {
  const [first] = refusals
  const causes = refusals.map(({ type, message, field }) => ({ reason: type, message, ...(field ? { field } : {}) }))
  const status = first ? refusalTypes[first.type] : 400
  const message = `IPClaim is refused: ${refusals.map((each) => each.message).join('; ')}`
  return failure(status, message, { name: first?.pool ?? claim, causes })
}
