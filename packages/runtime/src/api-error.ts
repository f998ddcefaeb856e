/** A refusal by the API server, as it was answered. Source: metav1.Status. */
import type { ApiRequest, ApiResponse } from './transport.ts'

export type StatusCause = { reason?: string; message?: string; field?: string }

export type StatusDetails = {
  name?: string
  group?: string
  /** The plural for most answers, the kind for some. */
  kind?: string
  uid?: string
  causes?: StatusCause[]
  retryAfterSeconds?: number
}

/** What a refusal says, taken apart. `isStatus` false: the body was no Status (plain text). */
export type Refusal = {
  readonly status: number
  readonly reason: string
  readonly text: string
  readonly details: StatusDetails
  readonly causes: readonly StatusCause[]
  readonly isStatus: boolean
  /** What the server asks to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function retryAfterMs(response: ApiResponse, details: StatusDetails): number | undefined {
  const header = response.headers['retry-after']
  const seconds = Number(typeof header === 'string' ? header : details.retryAfterSeconds)
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined
}

function causeOf(value: Record<string, unknown>): StatusCause {
  const cause: StatusCause = {}
  for (const key of ['reason', 'message', 'field'] as const) {
    const text = value[key]
    if (typeof text === 'string') cause[key] = text
  }
  return cause
}

/** Takes an answer apart. Never throws, whatever the body is. */
export function refusalOf(response: ApiResponse): Refusal {
  const { status, body } = response
  if (!isRecord(body) || body.kind !== 'Status') {
    const text = typeof body === 'string' ? body.trim().slice(0, 500) : 'the answer is no Status'
    return { status, reason: '', text, details: {}, causes: [], isStatus: false, retryAfterMs: retryAfterMs(response, {}) }
  }
  const details: StatusDetails = isRecord(body.details) ? body.details : {}
  return {
    status,
    reason: typeof body.reason === 'string' ? body.reason : '',
    text: typeof body.message === 'string' ? body.message : '',
    details,
    causes: Array.isArray(details.causes) ? details.causes.filter(isRecord).map(causeOf) : [],
    isStatus: true,
    retryAfterMs: retryAfterMs(response, details),
  }
}

/** The API server refused a request. `reason` is the Status's (`Conflict`, `NotFound`, …), empty for a plain-text answer. */
export class ApiError extends Error implements Refusal {
  override readonly name = 'ApiError'
  readonly code = 'API_ERROR'
  readonly method: string
  readonly path: string
  readonly status: number
  readonly reason: string
  readonly text: string
  readonly details: StatusDetails
  readonly causes: readonly StatusCause[]
  readonly isStatus: boolean
  readonly retryAfterMs: number | undefined

  constructor(request: Pick<ApiRequest, 'method' | 'path'>, response: ApiResponse) {
    const refusal = refusalOf(response)
    super(`${request.method} ${request.path}: ${refusal.status} ${refusal.reason}: ${refusal.text}`)
    this.method = request.method
    this.path = request.path
    this.status = refusal.status
    this.reason = refusal.reason
    this.text = refusal.text
    this.details = refusal.details
    this.causes = refusal.causes
    this.isStatus = refusal.isStatus
    this.retryAfterMs = refusal.retryAfterMs
  }
}

/** No answer: refused, reset, timed out. Whether a write took place is unknown. */
export class ConnectionBroken extends Error {
  override readonly name = 'ConnectionBroken'
  readonly code = 'CONNECTION_BROKEN'
  /** The request certainly never reached the server. */
  readonly refused: boolean
  constructor(request: Pick<ApiRequest, 'method' | 'path'>, cause: unknown) {
    super(`${request.method} ${request.path}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
    this.refused = isRecord(cause) && (cause.code === 'ECONNREFUSED' || cause.code === 'UND_ERR_CONNECT_TIMEOUT')
  }
}
