/** Plain requests to an API server, for setting up and looking: no retries, no cache, no types. */

import { request as httpRequest } from 'node:http'
import { Agent, request as httpsRequest, type RequestOptions } from 'node:https'
import { LocalplaneError } from './errors.ts'
import { type Access, readKubeconfig } from './kubeconfig.ts'

export type ApiRequest = {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With its query. */
  path: string
  /** Sent as JSON. */
  body?: unknown
  /** `application/json` unless said; `applyPatch` for server-side apply. */
  contentType?: string
  userAgent?: string
  signal?: AbortSignal
}

/** `body` is the parsed JSON, or undefined when the answer is not JSON; `text` is what was sent. */
export type ApiAnswer = { status: number; text: string; body: unknown }

export const applyPatch = 'application/apply-patch+yaml'
export const mergePatch = 'application/merge-patch+json'
export const jsonPatch = 'application/json-patch+json'

export type ApiConnection = {
  url: string
  /** Resolves with any answer, errors of the server included; rejects when there is none. */
  request(request: ApiRequest): Promise<ApiAnswer>
  /** Like `request`, but an answer of 300 or more rejects with `REQUEST_REFUSED` and the server's message. Resolves with the body. */
  must(request: ApiRequest): Promise<Record<string, unknown>>
  close(): void
}

export async function connect(kubeconfigPath: string): Promise<ApiConnection> {
  return connectTo(await readKubeconfig(kubeconfigPath))
}

/** Opens nothing until the first request; idle connections do not keep the process alive. */
export function connectTo(access: Access): ApiConnection {
  const { credential } = access
  const agent = new Agent({
    keepAlive: true,
    maxSockets: 32,
    ...(access.ca ? { ca: access.ca } : {}),
    ...(access.insecure ? { rejectUnauthorized: false } : {}),
    ...(credential.certificate && credential.key ? { cert: credential.certificate, key: credential.key } : {}),
  })
  const authorization = credential.token ? { authorization: `Bearer ${credential.token}` } : {}
  const connection: ApiConnection = {
    url: access.url,
    request: (request) => send(new URL(access.url + request.path), request, { agent, headers: authorization }),
    async must(request) {
      const answer = await connection.request(request)
      if (answer.status < 300) return (answer.body ?? {}) as Record<string, unknown>
      throw refused(request, answer)
    },
    close: () => agent.destroy(),
  }
  return connection
}

/** The server's own words, with what was asked. */
export function refused({ method = 'GET', path }: ApiRequest, { status, text, body }: ApiAnswer): LocalplaneError {
  const message = typeof body === 'object' && body !== null && 'message' in body ? String(body.message) : text.trim()
  return new LocalplaneError('REQUEST_REFUSED', `${method} ${path} was answered ${status}: ${message}`)
}

function send(url: URL, request: ApiRequest, options: RequestOptions): Promise<ApiAnswer> {
  const payload = request.body === undefined ? undefined : JSON.stringify(request.body)
  const headers = {
    ...options.headers,
    accept: 'application/json',
    'user-agent': request.userAgent ?? 'kube-localplane',
    ...(payload === undefined
      ? {}
      : { 'content-type': request.contentType ?? 'application/json', 'content-length': Buffer.byteLength(payload) }),
  }
  const secure = url.protocol === 'https:'
  const open = secure ? httpsRequest : httpRequest
  return new Promise((resolve, reject) => {
    const outgoing = open(
      url,
      {
        method: request.method ?? 'GET',
        headers,
        ...(secure ? { agent: options.agent } : {}),
        ...(request.signal ? { signal: request.signal } : {}),
      },
      (incoming) => {
        const chunks: Buffer[] = []
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
        incoming.on('error', reject)
        incoming.on('end', () => resolve(answerOf(incoming.statusCode ?? 0, Buffer.concat(chunks).toString())))
      },
    )
    outgoing.on('error', reject)
    outgoing.end(payload)
  })
}

function answerOf(status: number, text: string): ApiAnswer {
  try {
    return { status, text, body: JSON.parse(text) }
  } catch {
    return { status, text, body: undefined }
  }
}
