/** Health, readiness and metrics over HTTP, on every replica, leader or not. Loopback unless told otherwise. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Logger } from './log.ts'

/** Undefined: well. A text: what is wrong. A throw counts as wrong too. */
export type Check = () => string | undefined | Promise<string | undefined>

/** `port` 0: any free one. */
export type Address = { host?: string; port: number }

export type OpsServerOptions = Address & {
  /** A second address for /healthz and /readyz, which the first one serves as well; never for metrics. */
  probes?: Address
  log: Logger
  metricsPage(): Promise<string>
}

export type OpsServer = {
  /** /healthz: a failing one means that only a restart helps. */
  health(name: string, check: Check): void
  /** /readyz: a failing one means not ready now. */
  ready(name: string, check: Check): void
  /** Resolves when listening, with where. Rejects when an address cannot be used. */
  start(): Promise<Required<Address> & { probes?: Required<Address> }>
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

export function createOpsServer(options: OpsServerOptions): OpsServer {
  const { log, metricsPage } = options
  const checks = { healthz: new Map<string, Check>(), readyz: new Map<string, Check>() }

  const judge = async (all: ReadonlyMap<string, Check>, name: string | undefined, response: ServerResponse) => {
    const one = name === undefined ? undefined : all.get(name)
    if (name !== undefined && !one) return answer(response, 404, `no check ${name}\n`)
    const { ok, lines } = await verdict(name !== undefined && one ? new Map([[name, one]]) : all)
    answer(response, ok ? 200 : 503, `${[...lines, ok ? 'ok' : 'failed'].join('\n')}\n`)
  }

  const serve = async (request: IncomingMessage, response: ServerResponse, metrics: boolean) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return answer(response, 405, 'GET only\n')
    const [, page, name] = new URL(request.url ?? '/', 'http://ops').pathname.split('/')
    if (page === 'metrics' && metrics) return answer(response, 200, await metricsPage())
    if (page === 'healthz' || page === 'readyz') return judge(checks[page], name, response)
    return answer(response, 404, `pages: ${metrics ? '/metrics ' : ''}/healthz /readyz\n`)
  }

  const serverOf = (metrics: boolean) =>
    createServer((request, response) => {
      serve(request, response, metrics).catch((error) => {
        log.error({ err: error, url: request.url }, 'a page could not be served')
        if (!response.headersSent) answer(response, 500, 'failed\n')
      })
    })
  const main = serverOf(true)
  const probes = options.probes ? serverOf(false) : undefined

  return {
    health: (name, check) => checks.healthz.set(name, check),
    ready: (name, check) => checks.readyz.set(name, check),
    async start() {
      const address = await listen(main, options, log)
      if (!probes || !options.probes) return address
      try {
        return { ...address, probes: await listen(probes, options.probes, log) }
      } catch (error) {
        await close(main)
        throw error
      }
    },
    async stop() {
      await Promise.all([close(main), ...(probes ? [close(probes)] : [])])
    },
  }
}

function listen(server: Server, { host = '127.0.0.1', port }: Address, log: Logger): Promise<Required<Address>> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      server.on('error', (error) => log.error({ err: error }, 'the health server failed'))
      const address = server.address()
      resolve({ host, port: typeof address === 'object' && address ? address.port : port })
    })
  })
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
