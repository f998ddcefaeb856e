/**
 * Where the API server is and who we are, from a kubeconfig file or the pod's service account. Everything is read again,
 * since tokens and certificates rotate: at least every half minute, and at once when the server answers 401.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { KubeConfig } from '@kubernetes/client-node'
import type { Clock } from './clock.ts'

export type TlsSettings = {
  ca?: string | Buffer
  cert?: string | Buffer
  key?: string | Buffer
  rejectUnauthorized?: boolean
  servername?: string
}

export type Access = {
  /** Origin and optional path prefix, e.g. `https://10.0.0.1:6443`. */
  readonly server: string
  readonly tls: TlsSettings
  /** Sent with each request: authorization, impersonation. */
  readonly headers: Readonly<Record<string, string>>
  /** Namespace of the context, or of the pod. */
  readonly namespace: string | undefined
  /** Changes when server or TLS material changes: connections must be made anew. */
  readonly fingerprint: string
}

export type AccessSource = {
  /** The present access; read again when older than the limit. */
  current(): Promise<Access>
  /** Reads again now (a 401 came). Joins a reading that is under way. */
  refresh(): Promise<Access>
}

const reReadAfterMs = 30_000

export type AccessOptions = {
  clock: Clock
  /** Path of a kubeconfig. Absent: $KUBECONFIG, ~/.kube/config, else the pod's service account. */
  kubeconfig?: string
  /** Context of the kubeconfig; absent: its current one. */
  context?: string
}

async function load(options: AccessOptions): Promise<KubeConfig> {
  // Half a second of loading, paid only by those who read a kubeconfig.
  const { KubeConfig: Config } = await import('@kubernetes/client-node')
  const config = new Config()
  if (options.kubeconfig === undefined) config.loadFromDefault()
  else {
    // The library knows kubectl's `tokenFile` by another name.
    const text = readFileSync(options.kubeconfig, 'utf8').replace(/\btokenFile(["']?\s*:)/g, 'token-file$1')
    config.loadFromString(text)
    config.makePathsAbsolute(dirname(options.kubeconfig))
  }
  if (options.context !== undefined) {
    if (!config.getContextObject(options.context)) throw new Error(`the kubeconfig has no context ${options.context}`)
    config.setCurrentContext(options.context)
  }
  return config
}

function stringHeaders(headers: unknown): Record<string, string> {
  const found: Record<string, string> = {}
  if (typeof headers !== 'object' || headers === null) return found
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === 'string') found[name.toLowerCase()] = value.trim()
  }
  return found
}

async function accessOf(config: KubeConfig): Promise<Access> {
  const cluster = config.getCurrentCluster()
  if (!cluster) throw new Error('the kubeconfig names no cluster')
  const options: Parameters<KubeConfig['applyToHTTPSOptions']>[0] = {}
  await config.applyToHTTPSOptions(options)
  const tls: TlsSettings = {}
  const { ca, cert, key, rejectUnauthorized, servername } = options as TlsSettings
  if (ca !== undefined) tls.ca = ca
  if (cert !== undefined) tls.cert = cert
  if (key !== undefined) tls.key = key
  if (rejectUnauthorized !== undefined) tls.rejectUnauthorized = rejectUnauthorized
  if (servername !== undefined) tls.servername = servername
  const headers = stringHeaders(options.headers)
  if (options.auth) headers.authorization = `Basic ${Buffer.from(options.auth).toString('base64')}`
  const hash = createHash('sha256').update(cluster.server)
  for (const part of [ca, cert, key, String(rejectUnauthorized), servername]) hash.update('\0').update(part ?? '')
  const namespace = config.getContextObject(config.getCurrentContext())?.namespace
  return { server: cluster.server.replace(/\/+$/, ''), tls, headers, namespace, fingerprint: hash.digest('hex') }
}

/**
 * Access that is read again as time goes by. A failed reading (a file being replaced) keeps the last good one, except the
 * first. Exec plugins keep their own expiry between readings and are run anew after a 401.
 */
export function createAccessSource(options: AccessOptions): AccessSource {
  const { clock } = options
  let held: { access: Access; config: KubeConfig; readAt: number } | undefined
  let reading: Promise<Access> | undefined

  async function read(force: boolean): Promise<Access> {
    const keep = held && !force && held.config.getCurrentUser()?.exec ? held.config : undefined
    const config = keep ?? (await load(options))
    const access = await accessOf(config)
    held = { access, config, readAt: clock.monotonic() }
    return access
  }
  function readOnce(force: boolean): Promise<Access> {
    reading ??= read(force)
      .catch((error: unknown) => {
        if (!held) throw error
        held = { ...held, readAt: clock.monotonic() }
        return held.access
      })
      .finally(() => {
        reading = undefined
      })
    return reading
  }
  return {
    async current() {
      if (held && clock.monotonic() - held.readAt < reReadAfterMs) return held.access
      return readOnce(false)
    },
    refresh: () => readOnce(true),
  }
}

/** The same access under another user's name, as kubectl's `--as`: the server asks whether that is permitted. */
export function actingAs(source: AccessSource, user: string): AccessSource {
  const as = (access: Access): Access => ({ ...access, headers: { ...access.headers, 'impersonate-user': user } })
  return { current: async () => as(await source.current()), refresh: async () => as(await source.refresh()) }
}

/** Access that never changes: for tests and for local servers whose credentials are at hand. */
export function fixedAccess(access: {
  server: string
  tls?: TlsSettings
  headers?: Record<string, string>
  namespace?: string
}): AccessSource {
  const fixed: Access = {
    server: access.server,
    tls: access.tls ?? {},
    headers: access.headers ?? {},
    namespace: access.namespace,
    fingerprint: access.server,
  }
  return { current: async () => fixed, refresh: async () => fixed }
}
