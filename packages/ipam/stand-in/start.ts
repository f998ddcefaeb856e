/** The stand-in as a server on loopback: what is its own it answers, everything else goes through to the real API server. */
import { writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { isIP } from 'node:net'
import { createAccessSource, createClient, createHttpTransport, systemClock } from 'kube-control-loop'
import { type Answer, type Asked, type Behind, serverBehind } from './behind.ts'
import { createFaults, type FaultScript } from './faults.ts'
import { createOverruledPage } from './overruled-page.ts'
import { claimsAt, createService, isOfTheirs, type Service } from './service.ts'
import { createStore } from './store.ts'

export type StandInOptions = {
  /** Of its own identity, on the real API server. */
  kubeconfig: string
  /** Ends it. */
  signal: AbortSignal
  log?: (line: string) => void
  /** Of this machine alone: credentials come here in clear text. Default 127.0.0.1. */
  host?: string
  /** Default: any free one. */
  port?: number
}

export type StandIn = {
  readonly url: string
  /** What is to go wrong, for tests. */
  readonly on: FaultScript['on']
  /** Writes a kubeconfig with which the caller of the given one comes here, beside it; resolves with its path. */
  kubeconfigFor(callerKubeconfig: string): Promise<string>
  /** How often callers were answered otherwise than the server behind it said. */
  metricsPage(): string
  /** Ends it; can be repeated. */
  stop(): Promise<void>
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))

/** Resolves when it serves and has put right what an earlier one left. */
export async function startStandIn(options: StandInOptions): Promise<StandIn> {
  const { kubeconfig, log = () => {}, host = '127.0.0.1', port = 0 } = options
  if (!isLoopback(host)) throw new Error(`${host} is no address of this machine alone, and credentials come in clear text`)
  const ending = new AbortController()
  const signal = AbortSignal.any([options.signal, ending.signal])
  const access = createAccessSource({ clock: systemClock, kubeconfig })
  const transport = createHttpTransport({ access, clock: systemClock, userAgent: 'ipam-stand-in/0.1.0' })
  const behind = serverBehind(await access.current())
  const store = createStore(createClient(transport, { clock: systemClock, jitter: Math.random }))
  const page = createOverruledPage()
  const service = createService({ behind, store, signal, log, overruled: page.overruled })
  const faults = createFaults()
  const server = createServer((incoming, response) => {
    serve({ service, behind, faults }, incoming, response).catch((error: unknown) => {
      if (!signal.aborted) log(`${incoming.method} ${incoming.url}: ${String(error)}`)
      response.destroy()
    })
  })
  const stop = async () => {
    ending.abort(new Error('the stand-in was stopped'))
    await close(server)
    behind.close()
    await transport.close()
  }
  try {
    await service.settle()
    const url = await listen(server, host, port)
    signal.addEventListener('abort', () => void stop(), { once: true })
    signal.throwIfAborted()
    return { url, on: faults.on, stop, metricsPage: page.text, kubeconfigFor: (caller) => kubeconfigFor(url, caller) }
  } catch (error) {
    await stop()
    throw error
  }
}

type Parts = { service: Service; behind: Behind; faults: FaultScript }

async function serve({ service, behind, faults }: Parts, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = 'GET', url = '/', headers } = incoming
  const { pathname: path, searchParams: query } = new URL(url, 'http://any')
  const fault = faults.take({ method, path, query })
  const at = claimsAt(path)
  const isOwn =
    at !== undefined && ((method === 'POST' && at.name === undefined) || (method === 'DELETE' && at.name !== undefined))
  if (!isOwn && !fault) {
    await behind.pass(incoming, response)
    if (method !== 'GET' && isOfTheirs(path)) service.changed()
    // Claims that came by another way than their creation here are answered as well.
    if (at && method !== 'GET') await service.settle()
    return
  }
  const asked: Asked = { method, url, headers, body: await bodyOf(incoming) }
  const handle = async (): Promise<Answer> => {
    if (!isOwn) return await behind.ask(asked)
    return await (at.name === undefined ? service.create(at.namespace, asked) : service.remove(at.namespace, at.name, asked))
  }
  const answer = await (fault ? fault(handle) : handle())
  if (!answer) return void response.destroy()
  response.writeHead(answer.status, { ...answer.headers, 'content-length': answer.body.length }).end(answer.body)
}

const longestBody = 3 * 1024 * 1024

async function bodyOf(incoming: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > longestBody) throw new Error(`a body of more than ${longestBody} bytes`)
    chunks.push(chunk)
  }
  return chunks.length === 0 ? undefined : Buffer.concat(chunks)
}

function listen(server: Server, host: string, port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      const address = server.address()
      const bound = typeof address === 'object' && address ? address.port : port
      resolve(`http://${host.includes(':') ? `[${host}]` : host}:${bound}`)
    })
  })
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

/** The caller's token goes along; a client certificate ends with the connection it is shown on, which is this one. */
async function kubeconfigFor(url: string, callerKubeconfig: string): Promise<string> {
  const { headers } = await createAccessSource({ clock: systemClock, kubeconfig: callerKubeconfig }).current()
  const token = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1]
  if (token === undefined)
    throw new Error(`${callerKubeconfig} has no token: a client certificate cannot be passed on, use a service account's`)
  const named = { name: 'ipam-stand-in' }
  const text = JSON.stringify({
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': named.name },
    // Without TLS there is nothing to verify, and some clients want to be told so.
    clusters: [{ ...named, cluster: { server: url, 'insecure-skip-tls-verify': true } }],
    users: [{ ...named, user: { token } }],
    contexts: [{ ...named, context: { cluster: named.name, user: named.name } }],
  })
  const path = `${callerKubeconfig}.ipam`
  await writeFile(path, text, { mode: 0o600 })
  return path
}
