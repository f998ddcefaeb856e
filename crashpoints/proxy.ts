/**
 * Stands on loopback between one process and one API server. Passes everything through unchanged, the caller's credentials and
 * watches too, except for the write that the interception has picked.
 */
import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { Agent, request as httpsRequest } from 'node:https'
import type { Fate, Interception } from './interception.ts'
import { isRead, writeOf } from './writes.ts'

export type ProxyOptions = {
  /** URL of the API server. */
  upstream: string
  /** Of its certificate, PEM. */
  ca?: string
  interception: Interception
  /** Until it resolves requests are kept waiting: the process behind has been started early. */
  opened: Promise<void>
}

export type Crossing = {
  readonly url: string
  /** Nothing reaches the server any more, but for writes that are on their way already. */
  cut(): void
  /** Resolves when the writes that were on their way have been answered. */
  settled(): Promise<void>
  close(): Promise<void>
}

type Answer = { status: number; headers: IncomingMessage['headers']; body: Buffer }

const hopByHop: readonly string[] = ['host', 'connection', 'keep-alive', 'transfer-encoding', 'content-length', 'expect']

function passedOn(headers: IncomingMessage['headers']): IncomingMessage['headers'] {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !hopByHop.includes(name)))
}

async function wholeOf(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

const created = 201

function uidOf(body: Buffer): string | undefined {
  try {
    const { metadata } = JSON.parse(body.toString()) as { metadata?: { uid?: string } }
    return metadata?.uid
  } catch {
    return undefined
  }
}

/** Listens when it resolves. */
export async function startProxy({ upstream, ca, interception, opened }: ProxyOptions): Promise<Crossing> {
  const { origin, protocol } = new URL(upstream)
  const isSecure = protocol === 'https:'
  const agent = isSecure ? new Agent({ keepAlive: true, ...(ca === undefined ? {} : { ca }) }) : undefined
  const underWay = new Set<Promise<unknown>>()
  let isCut = false

  const ask = (incoming: IncomingMessage, body: Buffer | undefined) => {
    const open = isSecure ? httpsRequest : httpRequest
    const headers = { ...passedOn(incoming.headers), ...(body?.length ? { 'content-length': String(body.length) } : {}) }
    return open(origin + (incoming.url ?? ''), { method: incoming.method ?? 'GET', headers, ...(agent ? { agent } : {}) })
  }

  async function write(incoming: IncomingMessage, body: Buffer): Promise<Answer> {
    const outgoing = ask(incoming, body)
    outgoing.end(body)
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
    const whole = { status: answer.statusCode ?? 502, headers: answer.headers, body: await wholeOf(answer) }
    if (incoming.method === 'POST' && whole.status === created) interception.made(uidOf(whole.body))
    return whole
  }

  /** So that a successor can be told when all that its predecessor had sent is stored. */
  function followed<T>(work: Promise<T>): Promise<T> {
    const kept = work.catch(() => {}).finally(() => underWay.delete(kept))
    underWay.add(kept)
    return work
  }

  async function read(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const asked = ask(incoming, undefined)
    outgoing.once('close', () => asked.destroy())
    asked.end()
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    outgoing.writeHead(answer.statusCode ?? 502, passedOn(answer.headers))
    outgoing.flushHeaders()
    answer.on('error', () => outgoing.destroy())
    answer.pipe(outgoing)
  }

  function reply(outgoing: ServerResponse, { status, headers, body }: Answer): void {
    outgoing.writeHead(status, { ...passedOn(headers), 'content-length': String(body.length) })
    outgoing.end(body)
  }

  async function meet(fate: Fate, incoming: IncomingMessage, body: Buffer, outgoing: ServerResponse): Promise<void> {
    const { rule } = interception
    if (fate === 'before') return rule?.crash()
    if (fate === 'late') {
      rule?.crash()
      return rule?.whenLate(() => followed(write(incoming, body)))
    }
    const answer = await followed(write(incoming, body))
    if (fate === 'after') return rule?.crash()
    if (fate === 'lost') outgoing.socket?.resetAndDestroy()
    else if (!isCut) reply(outgoing, answer)
    interception.answered()
  }

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    await opened
    const { method = 'GET', url = '/' } = incoming
    if (isRead(method)) return isCut ? void outgoing.destroy() : await read(incoming, outgoing)
    const body = await wholeOf(incoming)
    if (isCut) return void outgoing.destroy()
    const known = writeOf(method, url, body.toString())
    await meet(known ? interception.fateOf(known) : 'pass', incoming, body, outgoing)
  }

  const server = createServer({ keepAliveTimeout: 600_000, requestTimeout: 0 }, (incoming, outgoing) => {
    outgoing.on('error', () => {})
    handle(incoming, outgoing).catch(() => outgoing.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const cut = () => {
    isCut = true
  }
  return {
    url: `http://127.0.0.1:${port}`,
    cut,
    async settled() {
      await Promise.all(underWay)
    },
    async close() {
      cut()
      server.closeAllConnections()
      await Promise.all([...underWay, new Promise((resolve) => server.close(resolve))])
      agent?.destroy()
    },
  }
}
