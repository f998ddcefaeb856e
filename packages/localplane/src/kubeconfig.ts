/** Kubeconfig files: written for each identity of a plane, read for any cluster. */
import { readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { parse, stringify } from 'yaml'
import { type CredentialPlugin, runCredentialPlugin } from './credential-plugin.ts'
import { LocalplaneError } from './errors.ts'

/** A bearer token, or a client certificate with its key (PEM); neither for an anonymous client. */
export type Credential = { token?: string; certificate?: string; key?: string }

/** How to reach one API server as one identity. PEM texts, not base64. */
export type Access = { url: string; ca?: string; insecure?: boolean; namespace?: string; credential: Credential }

const base64 = (text: string) => Buffer.from(text).toString('base64')

/** Writes a kubeconfig that only its user may read; a reader never sees half of it. */
export async function writeKubeconfig(path: string, access: Access & { cluster: string; user: string }): Promise<void> {
  const { credential } = access
  const user = credential.token
    ? { token: credential.token }
    : credential.certificate && credential.key
      ? { 'client-certificate-data': base64(credential.certificate), 'client-key-data': base64(credential.key) }
      : {}
  const cluster = {
    server: access.url,
    ...(access.ca ? { 'certificate-authority-data': base64(access.ca) } : {}),
    ...(access.insecure ? { 'insecure-skip-tls-verify': true } : {}),
  }
  const context = { cluster: access.cluster, user: access.user, ...(access.namespace ? { namespace: access.namespace } : {}) }
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: access.cluster, cluster }],
    users: [{ name: access.user, user }],
    contexts: [{ name: access.cluster, context }],
    'current-context': access.cluster,
  }
  const partial = `${path}.${crypto.randomUUID()}.partial`
  await writeFile(partial, stringify(config), { mode: 0o600 })
  await rename(partial, path)
}

type Named = { name?: unknown } & Record<string, unknown>

/**
 * Reads the current context. Understands tokens, token files, client certificates and credential plugins (run once, without
 * a terminal).
 */
export async function readKubeconfig(path: string): Promise<Access> {
  const config = parse(await readFile(path, 'utf8')) as Record<string, unknown>
  const find = (list: string, name: unknown, what: string) => {
    const entries = Array.isArray(config[list]) ? (config[list] as Named[]) : []
    const inner = entries.find((entry) => entry.name === name)?.[what]
    return typeof inner === 'object' && inner !== null ? (inner as Record<string, unknown>) : {}
  }
  const context = find('contexts', config['current-context'], 'context')
  const cluster = find('clusters', context.cluster, 'cluster')
  const user = find('users', context.user, 'user')
  if (typeof cluster.server !== 'string') {
    throw new LocalplaneError('NOT_RUNNING', `${path} names no server in its current context`)
  }
  if (user['auth-provider']) {
    throw new LocalplaneError(
      'NO_CREDENTIALS',
      `${path} gets its credentials by "auth-provider": use one with a token or a client certificate`,
    )
  }
  const text = (from: Record<string, unknown>, key: string) => textOf(from, key, dirname(path))
  const ca = await text(cluster, 'certificate-authority')
  return {
    url: cluster.server.replace(/\/$/, ''),
    ...(ca ? { ca } : {}),
    ...(cluster['insecure-skip-tls-verify'] === true ? { insecure: true } : {}),
    ...(typeof context.namespace === 'string' ? { namespace: context.namespace } : {}),
    credential: await credentialOf(user, text, dirname(path)),
  }
}

type TextOf = (from: Record<string, unknown>, key: string) => Promise<string | undefined>

async function credentialOf(user: Record<string, unknown>, text: TextOf, dir: string): Promise<Credential> {
  if (typeof user.token === 'string') return { token: user.token }
  if (typeof user.tokenFile === 'string') return { token: (await readFile(resolve(dir, user.tokenFile), 'utf8')).trim() }
  if (user.exec) return await runCredentialPlugin(user.exec as CredentialPlugin, dir)
  const certificate = await text(user, 'client-certificate')
  const key = await text(user, 'client-key')
  return certificate && key ? { certificate, key } : {}
}

/** `KEY-data` holds the text in base64, `KEY` the path of a file, relative to the kubeconfig. */
async function textOf(from: Record<string, unknown>, key: string, dir: string): Promise<string | undefined> {
  const data = from[`${key}-data`]
  if (typeof data === 'string') return Buffer.from(data, 'base64').toString()
  const file = from[key]
  return typeof file === 'string' ? await readFile(resolve(dir, file), 'utf8') : undefined
}
