import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLogger } from './log.ts'
import { type Check, createOpsServer } from './server.ts'

async function serving(checks: Record<string, Check>, metricsPage = async () => 'up 1\n') {
  const server = createOpsServer({ port: 0, log: silentLogger, metricsPage })
  for (const [name, check] of Object.entries(checks)) {
    server.health(name, check)
    server.ready(name, check)
  }
  const { host, port } = await server.start()
  assert.equal(host, '127.0.0.1')
  return {
    get: async (path: string, method = 'GET') => {
      const answer = await fetch(`http://${host}:${port}${path}`, { method })
      return { status: answer.status, text: await answer.text() }
    },
    [Symbol.asyncDispose]: server.stop,
  }
}

test('all well: 200 and each check by name', async () => {
  await using at = await serving({ caches: () => undefined, lease: async () => undefined })
  assert.deepEqual(await at.get('/healthz'), { status: 200, text: '[+]caches ok\n[+]lease ok\nok\n' })
  assert.equal((await at.get('/readyz/lease')).status, 200)
  assert.equal((await at.get('/metrics')).text, 'up 1\n')
})

test('a check that says what is wrong, or throws, makes 503 and is named', async () => {
  await using at = await serving({
    good: () => undefined,
    bad: () => 'no contact',
    worse: () => {
      throw new Error('a broken check')
    },
  })
  assert.deepEqual(await at.get('/readyz'), {
    status: 503,
    text: '[+]good ok\n[-]bad failed: no contact\n[-]worse failed: a broken check\nfailed\n',
  })
  assert.equal((await at.get('/healthz/good')).status, 200)
  assert.equal((await at.get('/healthz/bad')).status, 503)
})

test('unknown pages and checks are 404, other methods 405, a page that fails 500', async () => {
  await using at = await serving({}, async () => {
    throw new Error('no page')
  })
  assert.equal((await at.get('/')).status, 404)
  assert.equal((await at.get('/healthz/none')).status, 404)
  assert.equal((await at.get('/healthz', 'POST')).status, 405)
  assert.equal((await at.get('/metrics')).status, 500)
  assert.equal((await at.get('/healthz')).status, 200)
})

test('a port that is taken is told to whoever starts', async () => {
  const first = createOpsServer({ port: 0, log: silentLogger, metricsPage: async () => '' })
  const { port } = await first.start()
  const second = createOpsServer({ port, log: silentLogger, metricsPage: async () => '' })
  await assert.rejects(second.start(), { code: 'EADDRINUSE' })
  await first.stop()
})

test('probes may have an address of their own, which serves no metrics', async () => {
  const server = createOpsServer({ port: 0, probes: { port: 0 }, log: silentLogger, metricsPage: async () => 'up 1\n' })
  server.ready('caches', () => undefined)
  const { port, probes } = await server.start()
  try {
    const status = async (at: number | undefined, path: string) => (await fetch(`http://127.0.0.1:${at}${path}`)).status
    assert.deepEqual(
      [
        await status(port, '/metrics'),
        await status(port, '/readyz'),
        await status(probes?.port, '/readyz'),
        await status(probes?.port, '/metrics'),
      ],
      [200, 200, 200, 404],
    )
  } finally {
    await server.stop()
  }
})

test('an address in use is refused, and the other one is let go', async () => {
  const first = createOpsServer({ port: 0, log: silentLogger, metricsPage: async () => '' })
  const { port } = await first.start()
  const second = createOpsServer({ port: 0, probes: { port }, log: silentLogger, metricsPage: async () => '' })
  await assert.rejects(second.start(), { code: 'EADDRINUSE' })
  await first.stop()
})
