/**
 * The real API server behind this service, asked in a caller's name: with the caller's own headers and credentials, and
 * nothing of this service's. What is streamed stays a stream, byte by byte.
 */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { Access } from 'kube-control-loop'

export type Headers = Readonly<Record<string, string | string[] | undefined>>
export type Asked = { method: string /** With its query. */; url: string; headers: Headers; body?: Buffer | undefined }
export type Answer = { status: number; headers: Headers; body: Buffer }

export type Behind = {
  /** One whole answer, uncompressed JSON. Rejects where there is none. */
  ask(asked: Asked): Promise<Answer>
  /** Hands the request on as it comes, and the answer back as it comes. Resolves when both are over. */
  pass(incoming: IncomingMessage, response: ServerResponse): Promise<void>
  close(): void
}

/** About one connection, not about the request (RFC 9110, 7.6.1). */
const hopByHop = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'host']

function without(headers: Headers, names: readonly string[]): Record<string, string | string[]> {
  const kept = Object.entries(headers).filter(([name, value]) => value !== undefined && !names.includes(name))
  return Object.fromEntries(kept) as Record<string, string | string[]>
}

/** `access`: where the server is and whom it is signed by; its credentials are not used. */
export function serverBehind({ server, tls: { ca, rejectUnauthorized, servername } }: Access): Behind {
  const origin = new URL(server)
  const isSecure = origin.protocol === 'https:'
  const trust = { ...(ca === undefined ? {} : { ca }), ...(servername === undefined ? {} : { servername }) }
  const agent = isSecure
    ? new HttpsAgent({ keepAlive: true, ...trust, ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }) })
    : new HttpAgent({ keepAlive: true })
  const begin = (method: string, url: string, headers: Record<string, string | string[]>) =>
    (isSecure ? httpsRequest : httpRequest)(new URL(`${origin.pathname.replace(/\/$/, '')}${url}`, origin.origin), {
      method,
      agent,
      headers,
    })
  return {
    ask: ({ method, url, headers, body }) =>
      new Promise((resolve, reject) => {
        const kept = without(headers, [...hopByHop, 'accept', 'accept-encoding', 'content-length'])
        const length = body === undefined ? {} : { 'content-length': String(body.length) }
        const outgoing = begin(method, url, { ...kept, ...length, accept: 'application/json' })
        outgoing.on('error', reject)
        outgoing.on('response', (answer) => whole(answer).then(resolve, reject))
        outgoing.end(body)
      }),
    pass: (incoming, response) =>
      new Promise((resolve, reject) => {
        const outgoing = begin(incoming.method ?? 'GET', incoming.url ?? '/', without(incoming.headers, hopByHop))
        outgoing.on('error', reject)
        outgoing.on('response', (answer) => {
          answer.on('error', reject)
          response.writeHead(answer.statusCode ?? 502, without(answer.headers, hopByHop))
          // A watch has nothing to say yet: its head goes first.
          response.flushHeaders()
          answer.pipe(response)
        })
        response.on('close', () => {
          outgoing.destroy()
          resolve()
        })
        incoming.pipe(outgoing)
      }),
    close: () => agent.destroy(),
  }
}

function whole(answer: IncomingMessage): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    answer.on('data', (chunk: Buffer) => chunks.push(chunk))
    answer.on('error', reject)
    answer.on('end', () =>
      resolve({ status: answer.statusCode ?? 502, headers: without(answer.headers, hopByHop), body: Buffer.concat(chunks) }),
    )
  })
}
