import assert from 'node:assert/strict'
import { getEventListeners, once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { afterEach, describe, test } from 'node:test'
import { ConnectionBroken } from './api-error.ts'
import { systemClock } from './clock.ts'
import { type AccessSource, fixedAccess } from './config.ts'
import { createHttpTransport, type HttpTransportOptions, StreamIdle } from './http-transport.ts'
import { createManualClock } from './manual-clock.ts'
import type { ApiRequest, Transport } from './transport.ts'

const get: ApiRequest = { method: 'GET', path: '/a' }
const watch: ApiRequest = { method: 'GET', path: '/a', query: { watch: 'true' } }
const post: ApiRequest = { method: 'POST', path: '/a', body: { name: 'x' } }

type Peer = { server: Server; origin: string; sockets: Set<Socket>; requests: string[] }

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

/** A peer that speaks raw HTTP/1.1: `answer` is called with each whole request. */
async function peer(answer: (socket: Socket, request: string, n: number) => void): Promise<Peer> {
  const sockets = new Set<Socket>()
  const requests: string[] = []
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
      for (let end = text.indexOf('\r\n\r\n'); end >= 0; end = text.indexOf('\r\n\r\n')) {
        const length = Number(/content-length: (\d+)/i.exec(text.slice(0, end))?.[1] ?? 0)
        if (text.length < end + 4 + length) return
        const request = text.slice(0, end + 4 + length)
        text = text.slice(end + 4 + length)
        answer(socket, request, requests.push(request))
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closers.push(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('no address')
  return { server, origin: `http://127.0.0.1:${address.port}`, sockets, requests }
}

function transportTo(origin: string, options: Partial<HttpTransportOptions> = {}): Transport {
  const transport = createHttpTransport({
    access: fixedAccess({ server: origin, headers: { authorization: 'Bearer one' } }),
    clock: systemClock,
    userAgent: 'transport-test/1',
    ...options,
  })
  closers.push(() => transport.close())
  return transport
}

function json(socket: Socket, status: number, body: unknown, headers = ''): void {
  const text = JSON.stringify(body)
  socket.write(
    `HTTP/1.1 ${status} X\r\ncontent-type: application/json\r\n${headers}content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  )
}

const chunkedHead = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n'
function chunk(bytes: Uint8Array | string): Buffer {
  const content = Buffer.from(bytes)
  return Buffer.concat([Buffer.from(`${content.length.toString(16)}\r\n`), content, Buffer.from('\r\n')])
}
const lastChunk = '0\r\n\r\n'

const never = new AbortController().signal

async function linesOf(transport: Transport): Promise<string[]> {
  const { lines } = await transport.stream(watch, never)
  const found: string[] = []
  for await (const line of lines) found.push(line)
  return found
}

/** What a promise rejects with. */
async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => assert.fail('should have been rejected'),
    (error: unknown) => error,
  )
}

describe('calls', () => {
  test('carry path, query, body, credentials and user agent', async () => {
    const there = await peer((socket) => json(socket, 201, { made: true }))
    const answer = await transportTo(`${there.origin}/prefix`).send(
      { ...post, query: { fieldManager: 'me', dryRun: undefined } },
      never,
    )
    assert.deepEqual([answer.status, answer.body], [201, { made: true }])
    const [request = ''] = there.requests
    assert.match(request, /^POST \/prefix\/a\?fieldManager=me HTTP/)
    for (const wanted of [
      /authorization: Bearer one/,
      /user-agent: transport-test\/1/,
      /content-type: application\/json/,
      /\{"name":"x"\}$/,
    ]) {
      assert.match(request, wanted)
    }
  })

  test('a body that is no JSON comes as text', async () => {
    const text = '404 page not found\n'
    const there = await peer((socket) =>
      socket.write(`HTTP/1.1 404 X\r\ncontent-type: text/plain\r\ncontent-length: ${text.length}\r\n\r\n${text}`),
    )
    assert.equal((await transportTo(there.origin).send(get, never)).body, text)
  })

  test('a body of no declared type comes as text', async () => {
    const there = await peer((socket) => socket.write('HTTP/1.1 200 X\r\ncontent-length: 2\r\n\r\n{}'))
    assert.equal((await transportTo(there.origin).send(get, never)).body, '{}')
  })

  test('a body that says JSON and is none comes as text', async () => {
    const there = await peer((socket) =>
      socket.write('HTTP/1.1 200 X\r\ncontent-type: application/json\r\ncontent-length: 3\r\n\r\n{"a'),
    )
    assert.equal((await transportTo(there.origin).send(get, never)).body, '{"a')
  })

  test('nobody listens: refused', async () => {
    const there = await peer(() => {})
    there.server.close()
    await once(there.server, 'close')
    const error = await rejection(transportTo(there.origin).send(get, never))
    assert.ok(error instanceof ConnectionBroken && error.refused)
  })

  test('B23: a POST that is committed and then reset is broken, not refused: the outcome is unknown', async () => {
    const there = await peer((socket) => socket.resetAndDestroy())
    const error = await rejection(transportTo(there.origin).send(post, never))
    assert.ok(error instanceof ConnectionBroken && !error.refused)
    assert.equal(there.requests.length, 1)
  })

  test('B23: an idle connection that the server closes costs the next call nothing', async () => {
    const there = await peer((socket) => json(socket, 200, { ok: true }))
    const transport = transportTo(there.origin)
    await transport.send(get, never)
    const closed = Promise.all([...there.sockets].map((socket) => once(socket, 'close')))
    for (const socket of there.sockets) socket.end()
    await closed
    assert.equal((await transport.send(post, never)).status, 200)
  })

  test('a call without an answer is broken after its limit', async () => {
    const there = await peer(() => {})
    const error = await rejection(transportTo(there.origin, { callMs: 50 }).send(get, never))
    assert.ok(error instanceof ConnectionBroken)
  })

  test('an aborted call ends with the reason, also while it waits for a connection', async () => {
    const there = await peer(() => {})
    const transport = transportTo(there.origin, { connections: 1 })
    const stop = new AbortController()
    const calls = [transport.send(get, stop.signal), transport.send(get, stop.signal)].map(rejection)
    while (there.requests.length === 0) await new Promise(setImmediate)
    const reason = new Error('enough')
    stop.abort(reason)
    assert.deepEqual(await Promise.all(calls), [reason, reason])
    assert.equal(await rejection(transport.send(get, stop.signal)), reason)
    assert.equal(there.requests.length, 1)
  })

  test('nothing is sent after close', async () => {
    const there = await peer((socket) => json(socket, 200, {}))
    const transport = transportTo(there.origin)
    await transport.close()
    await assert.rejects(transport.send(get, never))
    assert.equal(there.requests.length, 0)
  })
})

describe('B22: credentials', () => {
  /** Takes one token only, and hands out the next after a refresh. */
  function rotating(origin: string): AccessSource & { refreshes: number } {
    let token = 'old'
    const access = () => ({
      server: origin,
      tls: {},
      headers: { authorization: `Bearer ${token}` },
      namespace: undefined,
      fingerprint: origin,
    })
    return {
      refreshes: 0,
      current: async () => access(),
      async refresh() {
        this.refreshes += 1
        token = 'new'
        return access()
      },
    }
  }
  const onlyNew = (socket: Socket, request: string) => {
    if (!request.includes('Bearer new')) json(socket, 401, { kind: 'Status' })
    else if (request.includes('watch=true'))
      socket.write(Buffer.concat([Buffer.from(chunkedHead), chunk('{"n":1}\n'), Buffer.from(lastChunk)]))
    else json(socket, 200, { ok: true })
  }

  test('a 401 is tried once more with credentials that were read again', async () => {
    const there = await peer(onlyNew)
    const access = rotating(there.origin)
    assert.equal((await transportTo(there.origin, { access }).send(post, never)).status, 200)
    assert.equal(access.refreshes, 1)
  })

  test('a watch too', async () => {
    const there = await peer(onlyNew)
    assert.deepEqual(await linesOf(transportTo(there.origin, { access: rotating(there.origin) })), ['{"n":1}'])
  })

  test('a second 401 is the answer', async () => {
    const there = await peer((socket) => json(socket, 401, { kind: 'Status' }))
    const access = rotating(there.origin)
    const transport = transportTo(there.origin, { access })
    assert.equal((await transport.send(get, never)).status, 401)
    assert.equal((await transport.stream(watch, never)).opened.status, 401)
    assert.equal(there.requests.length, 4)
  })

  test('new TLS material or another server means new connections; what runs on the old ones ends there', async () => {
    const old = await peer((socket) => socket.write(Buffer.concat([Buffer.from(chunkedHead), chunk('{"from":"old"}\n')])))
    const next = await peer((socket) => json(socket, 200, { from: 'next' }))
    let origin = old.origin
    const current = async () => ({ server: origin, tls: {}, headers: {}, namespace: undefined, fingerprint: origin })
    const transport = transportTo(old.origin, { access: { current, refresh: current } })
    const lines = (await transport.stream(watch, never)).lines[Symbol.asyncIterator]()
    assert.equal((await lines.next()).value, '{"from":"old"}')
    origin = next.origin
    assert.deepEqual((await transport.send(get, never)).body, { from: 'next' })
    for (const socket of old.sockets) socket.write(Buffer.concat([chunk('{"still":"old"}\n'), Buffer.from(lastChunk)]))
    assert.equal((await lines.next()).value, '{"still":"old"}')
    assert.equal((await lines.next()).done, true)
  })
})

describe('watches', () => {
  test('B19: an event split over packets at every byte position arrives whole', async () => {
    const event = '{"o":"ü☃𝄞"}'
    const bytes = Buffer.from(`${event}\n`)
    const there = await peer((socket, _, n) => {
      socket.setNoDelay(true)
      socket.write(chunkedHead)
      const cut = n - 1
      if (cut > 0) socket.write(chunk(bytes.subarray(0, cut)))
      setImmediate(() => {
        if (cut < bytes.length) socket.write(chunk(bytes.subarray(cut)))
        socket.write(lastChunk)
      })
    })
    const transport = transportTo(there.origin)
    for (let cut = 0; cut <= bytes.length; cut++) assert.deepEqual(await linesOf(transport), [event], `cut at ${cut}`)
  })

  test('B19: a stream that ends in mid-line delivers what was whole, and ends', async () => {
    const there = await peer((socket) =>
      socket.write(Buffer.concat([Buffer.from(chunkedHead), chunk('{"n":1}\n{"n":'), Buffer.from(lastChunk)])),
    )
    assert.deepEqual(await linesOf(transportTo(there.origin)), ['{"n":1}'])
  })

  test('a connection that breaks in mid-stream delivers what was whole, then says so', async () => {
    const there = await peer((socket) => {
      socket.write(Buffer.concat([Buffer.from(chunkedHead), chunk('{"n":1}\n{"n":')]))
      setImmediate(() => socket.resetAndDestroy())
    })
    const { lines } = await transportTo(there.origin).stream(watch, never)
    const found: string[] = []
    const error = await rejection(
      (async () => {
        for await (const line of lines) found.push(line)
      })(),
    )
    assert.deepEqual(found, ['{"n":1}'])
    assert.ok(error instanceof ConnectionBroken)
  })

  test('an answer other than 200 comes as it is', async () => {
    const there = await peer((socket) => json(socket, 410, { kind: 'Status', code: 410 }))
    const { opened, lines } = await transportTo(there.origin).stream(watch, never)
    assert.deepEqual([opened.status, opened.body], [410, { kind: 'Status', code: 410 }])
    for await (const line of lines) assert.fail(line)
  })

  test('no call waits behind a watch', async () => {
    const there = await peer((socket, request) =>
      request.includes('watch=true') ? socket.write(chunkedHead) : json(socket, 200, {}),
    )
    const transport = transportTo(there.origin, { connections: 1 })
    for (let n = 0; n < 5; n++) await transport.stream(watch, never)
    assert.equal((await transport.send(get, never)).status, 200)
  })
})

describe('B15: silence', () => {
  const idleMs = 100_000

  test('a watch on which nothing comes is broken after the idle limit', async () => {
    const there = await peer((socket) => socket.write(Buffer.concat([Buffer.from(chunkedHead), chunk('{"n":1}\n')])))
    const clock = createManualClock()
    const { lines } = await transportTo(there.origin, { clock, idleMs }).stream(watch, never)
    const read = lines[Symbol.asyncIterator]()
    await read.next()
    const end = rejection(read.next())
    await clock.advance(idleMs)
    const error = await end
    assert.ok(error instanceof ConnectionBroken && error.cause instanceof StreamIdle)
    assert.equal(clock.timers, 0)
  })

  test('a peer that takes the connection and never answers is noticed too', async () => {
    const there = await peer(() => {})
    const clock = createManualClock()
    const end = rejection(transportTo(there.origin, { clock, idleMs }).stream(watch, never))
    while (there.requests.length === 0) await new Promise(setImmediate)
    await clock.advance(idleMs)
    assert.ok((await end) instanceof ConnectionBroken)
  })

  test('a watch with a byte now and then is never cut, however long it lasts', async () => {
    const there = await peer((socket) => socket.write(chunkedHead))
    const clock = createManualClock()
    const { lines } = await transportTo(there.origin, { clock, idleMs }).stream(watch, never)
    const read = lines[Symbol.asyncIterator]()
    for (let n = 0; n < 20; n++) {
      const next = read.next()
      await clock.advance(idleMs * 0.9)
      for (const socket of there.sockets) socket.write(chunk(`{"n":${n}}\n`))
      assert.deepEqual(await next, { done: false, value: `{"n":${n}}` })
    }
  })

  test('half a line counts as a sign of life', async () => {
    const there = await peer((socket) => socket.write(chunkedHead))
    const manual = createManualClock()
    let readings = 0
    const monotonic = () => {
      readings += 1
      return manual.monotonic()
    }
    const clock = { ...manual, monotonic }
    const { lines } = await transportTo(there.origin, { clock, idleMs }).stream(watch, never)
    const next = lines[Symbol.asyncIterator]().next()
    await clock.advance(idleMs * 0.9)
    readings = 0
    for (const socket of there.sockets) socket.write(chunk('{"n"'))
    while (readings === 0) await new Promise(setImmediate)
    await clock.advance(idleMs * 0.9)
    for (const socket of there.sockets) socket.write(chunk(':1}\n'))
    assert.equal((await next).value, '{"n":1}')
  })
})

describe('B24: nothing piles up', () => {
  test('thousands of calls and hundreds of watches under one signal leave no listener and few sockets', async () => {
    const there = await peer((socket, request) => {
      if (request.includes('watch=true'))
        socket.write(Buffer.concat([Buffer.from(chunkedHead), chunk('{}\n'), Buffer.from(lastChunk)]))
      else json(socket, 200, {})
    })
    const transport = transportTo(there.origin, { connections: 8 })
    const life = new AbortController()
    const warnings: Error[] = []
    const warned = (warning: Error) => warnings.push(warning)
    process.on('warning', warned)
    for (let round = 0; round < 40; round++) {
      await Promise.all(Array.from({ length: 50 }, () => transport.send(get, life.signal)))
      await Promise.all(
        Array.from({ length: 5 }, async () => {
          for await (const _ of (await transport.stream(watch, life.signal)).lines);
        }),
      )
    }
    await new Promise(setImmediate)
    process.off('warning', warned)
    assert.equal(getEventListeners(life.signal, 'abort').length, 0)
    assert.ok(there.sockets.size <= 8 + 5, `${there.sockets.size} sockets`)
    assert.deepEqual(warnings, [])
  })

  test('a reader that stops early closes its connection', async () => {
    const there = await peer((socket) => socket.write(Buffer.concat([Buffer.from(chunkedHead), chunk('{}\n')])))
    const life = new AbortController()
    const { lines } = await transportTo(there.origin).stream(watch, life.signal)
    for await (const _ of lines) break
    while (there.sockets.size > 0) await new Promise(setImmediate)
    assert.equal(getEventListeners(life.signal, 'abort').length, 0)
  })

  test('abort ends every call and watch, read or not, with the reason', async () => {
    const there = await peer((socket, request) => {
      if (request.includes('watch=true')) socket.write(chunkedHead)
    })
    const clock = createManualClock()
    const transport = transportTo(there.origin, { clock })
    const life = new AbortController()
    const reason = new Error('stop')
    const { lines } = await transport.stream(watch, life.signal)
    await transport.stream(watch, life.signal)
    const ends = [rejection(lines[Symbol.asyncIterator]().next()), rejection(transport.send(get, life.signal))]
    while (there.requests.length < 3) await new Promise(setImmediate)
    life.abort(reason)
    assert.deepEqual(await Promise.all(ends), [reason, reason])
    assert.equal(clock.timers, 0)
    while (there.sockets.size > 0) await new Promise(setImmediate)
  })
})
