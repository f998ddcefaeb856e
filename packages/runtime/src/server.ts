/** Health, readiness and metrics over HTTP, on every replica, leader or not. Loopback unless told otherwise. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Logger } from './log.ts'

/** Undefined: well. A text: what is wrong. A throw counts as wrong too. */
export type Check = () => string | undefined | Promise<string | undefined>

export type OpsServerOptions = {
  host?: string
  /** 0: any free port. */
  port: number
  log: Logger
  metricsPage(): Promise<string>
}

export type OpsServer = {
  /** /healthz: a failing one means that only a restart helps. */
  health(name: string, check: Check): void
  /** /readyz: a failing one means not ready now. */
  ready(name: string, check: Check): void
  /** Resolves when listening. Rejects when the address cannot be used. */
  start(): Promise<{ host: string; port: number }>
  stop(): Promise<void>
}

async function verdict(checks: ReadonlyMap<string, Check>): Promise<{ ok: boolean; lines: string[] }> {
  const found = await Promise.all(
    [...checks].map(async ([name, check]) => {
      try {
        return { name, problem: await check() }
      } catch (error) {
        return { name, problem: error instanceof Error ? error.message : String(error) }
      }
    }),
  )
  return {
    ok: found.every(({ problem }) => problem === undefined),
    lines: found.map(({ name, problem }) => (problem === undefined ? `[+]${name} ok` : `[-]${name} failed: ${problem}`)),
  }
}

function answer(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(body)
}

export function createOpsServer({ host = '127.0.0.1', port, log, metricsPage }: OpsServerOptions): OpsServer {
  const checks = { healthz: new Map<string, Check>(), readyz: new Map<string, Check>() }

  const judge = async (all: ReadonlyMap<string, Check>, name: string | undefined, response: ServerResponse) => {
    const one = name === undefined ? undefined : all.get(name)
    if (name !== undefined && !one) return answer(response, 404, `no check ${name}\n`)
    const { ok, lines } = await verdict(name !== undefined && one ? new Map([[name, one]]) : all)
    answer(response, ok ? 200 : 503, `${[...lines, ok ? 'ok' : 'failed'].join('\n')}\n`)
  }

  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return answer(response, 405, 'GET only\n')
    const [, page, name] = new URL(request.url ?? '/', 'http://ops').pathname.split('/')
    if (page === 'metrics') return answer(response, 200, await metricsPage())
    if (page === 'healthz' || page === 'readyz') return judge(checks[page], name, response)
    return answer(response, 404, 'pages: /metrics /healthz /readyz\n')
  }

  const server = createServer((request, response) => {
    serve(request, response).catch((error) => {
      log.error({ err: error, url: request.url }, 'a page could not be served')
      if (!response.headersSent) answer(response, 500, 'failed\n')
    })
  })

  return {
    health: (name, check) => checks.healthz.set(name, check),
    ready: (name, check) => checks.readyz.set(name, check),
    start: () =>
      new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen(port, host, () => {
          server.off('error', reject)
          server.on('error', (error) => log.error({ err: error }, 'the health server failed'))
          const address = server.address()
          resolve({ host, port: typeof address === 'object' && address ? address.port : port })
        })
      }),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
