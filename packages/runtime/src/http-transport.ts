/**
 * The wire over HTTP/1.1: a bounded pool for calls, and connections of their own for watches, so that no call waits
 * behind a stream. Credentials are asked for with each request (they rotate); a 401 is tried once more with fresh ones.
 */
import { type Dispatcher, Pool } from 'undici'
import { ConnectionBroken } from './api-error.ts'
import type { Clock } from './clock.ts'
import type { Access, AccessSource } from './config.ts'
import { createLineSplitter } from './line-splitter.ts'
import { linkedSignal } from './linked-signal.ts'
import type { ApiRequest, ApiResponse, Transport } from './transport.ts'

export type HttpTransportOptions = {
  access: AccessSource
  clock: Clock
  /** `name/version (…)`: shows in audit logs, and names writers that give no field manager. */
  userAgent: string
  /** Connections for calls (default 16; 8 to 32 make no measurable difference, 64 is slower). */
  connections?: number
  /** A call without an answer for this long is broken (default 30 s). */
  callMs?: number
  /** A watch without a single byte for this long is broken (default 100 s: bookmarks come each minute). */
  idleMs?: number
}

/** Nothing came on a watch for the idle limit. */
export class StreamIdle extends Error {
  override readonly name = 'StreamIdle'
  readonly code = 'STREAM_IDLE'
  constructor(idleMs: number) {
    super(`no byte for ${idleMs} ms`)
  }
}

type Pools = { fingerprint: string; prefix: string; calls: Pool; streams: Pool }

function openPools(access: Access, connections: number, callMs: number): Pools {
  const url = new URL(access.server)
  const common = {
    allowH2: false,
    pipelining: 1,
    keepAliveTimeout: 30_000,
    headersTimeout: callMs,
    connect: { ...access.tls, timeout: 10_000 },
  }
  return {
    fingerprint: access.fingerprint,
    prefix: url.pathname.replace(/\/$/, ''),
    calls: new Pool(url.origin, { ...common, connections, bodyTimeout: callMs }),
    streams: new Pool(url.origin, { ...common, bodyTimeout: 0 }),
  }
}

function pathAndQuery(prefix: string, request: ApiRequest): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(request.query ?? {})) if (value !== undefined) query.set(name, value)
  const text = query.toString()
  return `${prefix}${request.path}${text ? `?${text}` : ''}`
}

function bodyOf(text: string, contentType: unknown): unknown {
  if (typeof contentType !== 'string' || !contentType.includes('json')) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Calls back when `touch` was not called for `idleMs`. One timer, re-armed when it fires: a touch costs a clock reading. */
function watchIdle(clock: Clock, idleMs: number, onIdle: () => void): { touch(): void; stop(): void } {
  let last = clock.monotonic()
  let cancel: () => void = () => {}
  const check = () => {
    const left = last + idleMs - clock.monotonic()
    if (left <= 0) onIdle()
    else cancel = clock.after(left, check)
  }
  cancel = clock.after(idleMs, check)
  return {
    touch() {
      last = clock.monotonic()
    },
    stop: () => cancel(),
  }
}

/** Opens nothing until the first request. */
export function createHttpTransport(options: HttpTransportOptions): Transport {
  const { access, clock, userAgent, connections = 16, callMs = 30_000, idleMs = 100_000 } = options
  const open = new Set<Pools>()
  const endStreams = new Set<() => void>()
  let present: Pools | undefined
  let closed = false

  function poolsFor(found: Access): Pools {
    if (closed) throw new Error('the transport is closed')
    if (present?.fingerprint === found.fingerprint) return present
    const retired = present
    present = openPools(found, connections, callMs)
    open.add(present)
    if (retired) {
      const done = () => open.delete(retired)
      Promise.all([retired.calls.close(), retired.streams.close()]).then(done, done)
    }
    return present
  }

  async function dispatch(request: ApiRequest, found: Access, kind: 'calls' | 'streams', signal: AbortSignal) {
    const pools = poolsFor(found)
    const headers: Record<string, string> = { ...found.headers, accept: 'application/json', 'user-agent': userAgent }
    if (request.body !== undefined) headers['content-type'] = request.contentType ?? 'application/json'
    return pools[kind].request({
      method: request.method,
      path: pathAndQuery(pools.prefix, request),
      headers,
      body: request.body === undefined ? null : JSON.stringify(request.body),
      signal,
    })
  }

  async function whole(answer: Dispatcher.ResponseData): Promise<ApiResponse> {
    const text = await answer.body.text()
    return { status: answer.statusCode, headers: answer.headers, body: bodyOf(text, answer.headers['content-type']) }
  }

  async function call(request: ApiRequest, found: Access, signal: AbortSignal): Promise<ApiResponse> {
    try {
      return await whole(await dispatch(request, found, 'calls', signal))
    } catch (error) {
      if (signal.aborted) throw signal.reason
      throw new ConnectionBroken(request, error)
    }
  }

  async function openStream(request: ApiRequest, found: Access, signal: AbortSignal) {
    const link = linkedSignal(signal)
    const idle = watchIdle(clock, idleMs, () => link.abort(new StreamIdle(idleMs)))
    const end = () => {
      idle.stop()
      link.release()
      endStreams.delete(end)
    }
    endStreams.add(end)
    // Also for a stream that nobody reads to its end.
    link.signal.addEventListener('abort', end, { once: true })
    const failure = (error: unknown) =>
      signal.aborted ? signal.reason : new ConnectionBroken(request, link.signal.aborted ? link.signal.reason : error)
    try {
      const answer = await dispatch(request, found, 'streams', link.signal)
      idle.touch()
      if (answer.statusCode !== 200) {
        const opened = await whole(answer)
        end()
        return { opened, lines: none() }
      }
      const opened = { status: 200, headers: answer.headers, body: undefined }
      return { opened, lines: linesOf(answer.body, { touch: idle.touch, end, failure }) }
    } catch (error) {
      end()
      throw failure(error)
    }
  }

  return {
    async send(request, signal) {
      signal.throwIfAborted()
      const first = await call(request, await access.current(), signal)
      return first.status === 401 ? call(request, await access.refresh(), signal) : first
    },
    async stream(request, signal) {
      signal.throwIfAborted()
      const first = await openStream(request, await access.current(), signal)
      return first.opened.status === 401 ? openStream(request, await access.refresh(), signal) : first
    },
    async close() {
      closed = true
      for (const end of [...endStreams]) end()
      await Promise.all([...open].flatMap((pools) => [pools.calls.destroy(), pools.streams.destroy()]))
      open.clear()
    },
  }
}

async function* none(): AsyncGenerator<string, void, undefined> {}

async function* linesOf(
  body: Dispatcher.ResponseData['body'],
  on: { touch(): void; end(): void; failure(error: unknown): unknown },
): AsyncGenerator<string, void, undefined> {
  const split = createLineSplitter()
  try {
    for await (const chunk of body) {
      on.touch()
      yield* split(chunk)
    }
  } catch (error) {
    throw on.failure(error)
  } finally {
    on.end()
    body.destroy()
  }
}
