/** The typed client over a transport: requests in Kubernetes' shapes, answers checked, refusals thrown as ApiError. */
import { ApiError } from './api-error.ts'
import type { Jitter } from './backoff.ts'
import { type Call, createRetrier } from './call-retry.ts'
import type { At, Client, WatchEvent } from './client.ts'
import type { Clock } from './clock.ts'
import { apiVersionOf, type Kind, type KubeObject, pathOf } from './kind.ts'
import { classify, type RequestVerb } from './races.ts'
import type { ApiRequest, ApiResponse, Transport } from './transport.ts'

export type ClientMetrics = {
  /** One per request on the wire, retries too. `code` is the status, or `<error>` where no answer came. */
  request(labels: { method: string; code: string; host: string }): void
}

export type ClientOptions = {
  clock: Clock
  jitter: Jitter
  metrics?: ClientMetrics
  /** Label of the metric. */
  host?: string
  /** How long one call keeps trying while the server starts, stops or is busy (default 10 s). */
  retryForMs?: number
}

const applyPatch = 'application/apply-patch+yaml'
const jsonPatch = 'application/json-patch+json'

function fail(request: ApiRequest, response: ApiResponse): never {
  throw new ApiError(request, response)
}

function expectObject<S, T>(request: ApiRequest, response: ApiResponse): KubeObject<S, T> {
  const { body } = response
  if (typeof body !== 'object' || body === null || !('metadata' in body) || ('kind' in body && body.kind === 'Status'))
    fail(request, response)
  return body as KubeObject<S, T>
}

/** The answer to the deletion of an object that nothing holds. Any other that is no object tells nothing. */
function isSuccess(body: unknown): boolean {
  const { kind, status } = (body ?? {}) as { kind?: unknown; status?: unknown }
  return kind === 'Status' && status === 'Success'
}

type RawEvent = {
  type: string
  object: Record<string, unknown> & { metadata?: { resourceVersion?: string; annotations?: Record<string, string> } }
}

function eventOf<S, T>(request: ApiRequest, line: string): WatchEvent<KubeObject<S, T>> {
  const { type, object } = JSON.parse(line) as RawEvent
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return { type, object: object as unknown as KubeObject<S, T> }
    case 'BOOKMARK': {
      const { resourceVersion = '', annotations } = object.metadata ?? {}
      return { type, resourceVersion, initialEventsEnd: annotations?.['k8s.io/initial-events-end'] === 'true' }
    }
    default:
      return fail(request, { status: typeof object?.code === 'number' ? object.code : 500, headers: {}, body: object })
  }
}

async function* eventsOf<S, T>(
  request: ApiRequest,
  lines: AsyncIterable<string>,
): AsyncGenerator<WatchEvent<KubeObject<S, T>>, void, undefined> {
  for await (const line of lines) yield eventOf<S, T>(request, line)
}

function watchQuery(options: Parameters<Client['watch']>[1], jitter: Jitter): Record<string, string | undefined> {
  const { labelSelector, fieldSelector, resourceVersion, sendInitialEvents } = options
  return {
    watch: 'true',
    allowWatchBookmarks: 'true',
    // Spread over five to ten minutes, so that the watches of many processes do not end together.
    timeoutSeconds: String(300 + Math.floor(300 * jitter())),
    labelSelector,
    fieldSelector,
    // A streaming list from "now" must leave the version out.
    resourceVersion: sendInitialEvents && resourceVersion === '' ? undefined : resourceVersion,
    ...(sendInitialEvents ? { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' } : {}),
  }
}

/** `next`: the token of the page that follows; the version is in it. */
function listQuery(options: Parameters<Client['list']>[1], next: string | undefined): Record<string, string | undefined> {
  const { labelSelector, fieldSelector, resourceVersion, pageSize } = options
  return {
    labelSelector,
    fieldSelector,
    ...(resourceVersion && !next ? { resourceVersion, resourceVersionMatch: 'NotOlderThan' } : {}),
    ...(pageSize === undefined ? {} : { limit: String(pageSize) }),
    ...(next ? { continue: next } : {}),
  }
}

function pageOf<S, T>(kind: Kind<S, T>, request: ApiRequest, response: ApiResponse) {
  const body = response.body as { items?: KubeObject<S, T>[]; metadata?: { resourceVersion?: string; continue?: string } }
  if (!Array.isArray(body?.items)) fail(request, response)
  // Items of built-in kinds come without their kind.
  const named = { apiVersion: apiVersionOf(kind), kind: kind.kind }
  const items = body.items.map((item) => (item.kind ? item : { ...named, ...item }))
  return { items, resourceVersion: body.metadata?.resourceVersion ?? '', next: body.metadata?.continue }
}

const validation = (strict: boolean | undefined) => (strict ? { fieldValidation: 'Strict' } : {})

/** Makes a client. Makes no request by itself. */
export function createClient(transport: Transport, options: ClientOptions): Client {
  const { jitter, metrics, host = '' } = options
  const counted: Transport = {
    async send(request, signal) {
      let code = '<error>'
      try {
        const response = await transport.send(request, signal)
        code = String(response.status)
        return response
      } finally {
        metrics?.request({ method: request.method, code, host })
      }
    },
    async stream(request, signal) {
      let code = '<error>'
      try {
        const answer = await transport.stream(request, signal)
        code = String(answer.opened.status)
        return answer
      } finally {
        metrics?.request({ method: request.method, code, host })
      }
    },
    close: () => transport.close(),
  }
  const retry = createRetrier(counted, options)

  function send(call: Call, signal: AbortSignal): Promise<ApiResponse> {
    const attempt = async () => {
      const response = await counted.send(call.request, signal)
      return response.status >= 200 && response.status < 300 ? response : fail(call.request, response)
    }
    return retry(call, attempt, signal)
  }
  const callOn = (kind: Kind, at: Partial<At>, verb: RequestVerb, request: ApiRequest): Call => ({
    request,
    verb,
    at: { plural: kind.plural, kind: kind.kind, name: at.name, namespace: at.namespace },
  })

  return {
    async find<S, T>(kind: Kind<S, T>, at: At, signal: AbortSignal) {
      const request: ApiRequest = { method: 'GET', path: pathOf(kind, at) }
      const call = callOn(kind, at, 'get', request)
      try {
        return expectObject<S, T>(request, await send(call, signal))
      } catch (error) {
        if (error instanceof ApiError && classify(error, 'get', call.at).is === 'gone') return undefined
        throw error
      }
    },
    async list<S, T>(kind: Kind<S, T>, options: Parameters<Client['list']>[1], signal: AbortSignal) {
      const { namespace } = options
      const items: KubeObject<S, T>[] = []
      let next: string | undefined
      for (;;) {
        const request: ApiRequest = { method: 'GET', path: pathOf(kind, { namespace }), query: listQuery(options, next) }
        const page = pageOf<S, T>(kind, request, await send(callOn(kind, { namespace }, 'list', request), signal))
        for (const item of page.items) items.push(item)
        next = page.next
        if (!next) return { items, resourceVersion: page.resourceVersion }
      }
    },
    async watch<S, T>(kind: Kind<S, T>, query: Parameters<Client['watch']>[1], signal: AbortSignal) {
      const { namespace } = query
      const request: ApiRequest = { method: 'GET', path: pathOf(kind, { namespace }), query: watchQuery(query, jitter) }
      const attempt = async () => {
        const { opened, lines } = await counted.stream(request, signal)
        return opened.status === 200 ? lines : fail(request, opened)
      }
      return eventsOf<S, T>(request, await retry(callOn(kind, { namespace }, 'watch', request), attempt, signal))
    },
    async create<S, T>(
      kind: Kind<S, T>,
      object: KubeObject<S, T>,
      { fieldManager, dryRun, strict }: Parameters<Client['create']>[2],
      signal: AbortSignal,
    ) {
      const { name, namespace } = object.metadata
      const query = { fieldManager, dryRun: dryRun ? 'All' : undefined, ...validation(strict) }
      const request: ApiRequest = { method: 'POST', path: pathOf(kind, { namespace }), query, body: object }
      return expectObject<S, T>(request, await send(callOn(kind, { name, namespace }, 'create', request), signal))
    },
    async jsonPatch<S, T>(
      kind: Kind<S, T>,
      at: At & { subresource?: string },
      operations: Parameters<Client['jsonPatch']>[2],
      { fieldManager, strict }: Parameters<Client['jsonPatch']>[3],
      signal: AbortSignal,
    ) {
      const request: ApiRequest = {
        method: 'PATCH',
        path: pathOf(kind, at),
        query: { fieldManager, ...validation(strict) },
        contentType: jsonPatch,
        body: operations,
      }
      return expectObject<S, T>(request, await send(callOn(kind, at, 'patch', request), signal))
    },
    async apply<S, T>(
      kind: Kind<S, T>,
      at: At & { subresource?: string },
      body: unknown,
      { fieldManager, force }: { fieldManager: string; force: boolean },
      signal: AbortSignal,
    ) {
      const query = { fieldManager, force: String(force) }
      const request: ApiRequest = { method: 'PATCH', path: pathOf(kind, at), query, contentType: applyPatch, body }
      return expectObject<S, T>(request, await send(callOn(kind, at, 'apply', request), signal))
    },
    async remove<S, T>(kind: Kind<S, T>, at: At, preconditions: { uid?: string; resourceVersion?: string }, signal: AbortSignal) {
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions, propagationPolicy: 'Background' }
      const request: ApiRequest = { method: 'DELETE', path: pathOf(kind, at), body }
      const response = await send(callOn(kind, at, 'delete', request), signal)
      return isSuccess(response.body) ? undefined : expectObject<S, T>(request, response)
    },
    async raw(request, signal) {
      return (await send({ request, verb: 'other', at: { plural: '', kind: '' } }, signal)).body
    },
  }
}
