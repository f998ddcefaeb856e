/** A server on loopback in the place of an API server: what reaches it and what comes back, for each fate of a write. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { createInterception, type Interception, type Mode } from './interception.ts'
import { startProxy } from './proxy.ts'

type Setting = { reached: string[]; url: string; interception: Interception; cut: () => void; settled: () => Promise<void> }

async function setting(t: TestContext, answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<Setting> {
  const reached: string[] = []
  const server = createServer((incoming, outgoing) => {
    reached.push(`${incoming.method} ${incoming.headers.authorization}`)
    incoming.resume()
    incoming.once('end', () => answer(incoming, outgoing))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  assert.ok(typeof address === 'object' && address)
  const interception = createInterception()
  const upstream = `http://127.0.0.1:${address.port}`
  const proxy = await startProxy({ upstream, interception, opened: Promise.resolve() })
  t.after(async () => {
    server.closeAllConnections()
    server.close()
    await proxy.close()
  })
  return { reached, url: proxy.url, interception, cut: proxy.cut, settled: proxy.settled }
}

/** Resolves with the status and the text, or with the code of the error. */
async function ask(url: string, method: string, onText?: (text: string) => void): Promise<string> {
  const asked = request(`${url}/api/v1/namespaces/a/things`, { method, headers: { authorization: 'Bearer mine' }, agent: false })
  asked.end(method === 'GET' ? undefined : '{}')
  try {
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    let text = ''
    for await (const chunk of answer) {
      text += String(chunk)
      onText?.(text)
    }
    return `${answer.statusCode} ${text}`
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error)
  }
}

function arm({ interception, cut }: Setting, mode: Mode, at: number) {
  const held: { send?: () => Promise<unknown>; crashes: number } = { crashes: 0 }
  const rule = {
    ...{ mode, at },
    crash() {
      held.crashes += 1
      cut()
    },
    whenLate(send: () => Promise<unknown>) {
      held.send = send
    },
  }
  interception.arm(rule, () => false)
  return held
}

const yes = (_: IncomingMessage, response: ServerResponse) => void response.writeHead(201).end('made')

test('everything else passes, with the caller’s credentials, and is counted when it is a write', async (t) => {
  const given = await setting(t, yes)
  arm(given, 'before', 9)
  assert.deepEqual([await ask(given.url, 'GET'), await ask(given.url, 'POST')], ['201 made', '201 made'])
  assert.deepEqual(given.reached, ['GET Bearer mine', 'POST Bearer mine'])
  assert.equal(given.interception.writes.length, 1)
})

test('a stream is passed on as it comes', async (t) => {
  const heard = Promise.withResolvers<void>()
  const given = await setting(t, (_, response) => {
    response.writeHead(200)
    response.write('first;')
    void heard.promise.then(() => response.end('second'))
  })
  const all = await ask(given.url, 'GET', (text) => {
    if (text === 'first;') heard.resolve()
  })
  assert.equal(all, '200 first;second')
})

test('before: the server never sees the write, nor anything after it', async (t) => {
  const given = await setting(t, yes)
  const held = arm(given, 'before', 2)
  assert.equal(await ask(given.url, 'POST'), '201 made')
  const hit = ask(given.url, 'DELETE')
  while (held.crashes === 0) await new Promise(setImmediate)
  assert.equal(await ask(given.url, 'PUT'), 'ECONNRESET')
  assert.deepEqual(given.reached, ['POST Bearer mine'])
  hit.catch(() => {})
})

test('after: the server has answered, and nobody hears it', async (t) => {
  const given = await setting(t, yes)
  const held = arm(given, 'after', 1)
  ask(given.url, 'POST').catch(() => {})
  while (held.crashes === 0) await new Promise(setImmediate)
  await given.settled()
  assert.deepEqual(given.reached, ['POST Bearer mine'])
})

test('lost: the server has answered, the connection breaks, and the process goes on', async (t) => {
  const given = await setting(t, yes)
  const held = arm(given, 'lost', 1)
  assert.equal(await ask(given.url, 'POST'), 'ECONNRESET')
  assert.equal(await ask(given.url, 'PUT'), '201 made')
  assert.deepEqual(given.reached, ['POST Bearer mine', 'PUT Bearer mine'])
  assert.equal(held.crashes, 0)
})

test('late: the server sees the write when it is let through, after the crash', async (t) => {
  const given = await setting(t, yes)
  const held = arm(given, 'late', 1)
  ask(given.url, 'POST').catch(() => {})
  while (!held.send) await new Promise(setImmediate)
  assert.deepEqual([given.reached, held.crashes], [[], 1])
  await held.send()
  assert.deepEqual(given.reached, ['POST Bearer mine'])
})
