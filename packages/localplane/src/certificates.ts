/**
 * The certificate authority of one control plane: the server's certificate and client certificates for any user and groups
 * at any time, without a restart (a token file is read at start only).
 */
import { webcrypto } from 'node:crypto'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const lifetimeMs = 10 * 365 * 86_400_000
const clockSkewMs = 3_600_000

export type KeyPair = { certificate: string; key: string }
export type Authority = KeyPair
/** A user and its groups, as the API server reads them from a certificate (CN and O of its subject). */
export type Identity = { user: string; groups?: readonly string[] }

export const pkiFiles = {
  authority: 'ca.crt',
  authorityKey: 'ca.key',
  server: 'server.crt',
  serverKey: 'server.key',
  serviceAccountKey: 'service-account.key',
  serviceAccountPublicKey: 'service-account.pub',
} as const

/** Loaded on first use: it takes about 0.1 s, and a process that only attaches to a plane needs none of it. */
async function x509() {
  await import('reflect-metadata')
  return await import('@peculiar/x509')
}

async function pem(key: webcrypto.CryptoKey): Promise<string> {
  const isPrivate = key.type === 'private'
  const body = Buffer.from(await webcrypto.subtle.exportKey(isPrivate ? 'pkcs8' : 'spki', key)).toString('base64')
  const label = isPrivate ? 'PRIVATE KEY' : 'PUBLIC KEY'
  return `-----BEGIN ${label}-----\n${body.replace(/(.{64})/g, '$1\n').trimEnd()}\n-----END ${label}-----\n`
}

const newKeys = () => webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])

/** Said to be text, since the library gives a meaning to quotes, `#` and `\\` in plain strings. */
const text = (utf8String: string) => [{ utf8String }]

const validity = () => ({
  notBefore: new Date(Date.now() - clockSkewMs),
  notAfter: new Date(Date.now() + lifetimeMs),
  serialNumber: Buffer.from(webcrypto.getRandomValues(new Uint8Array(16)).with(0, 1)).toString('hex'),
})

export async function createAuthority(commonName: string): Promise<Authority> {
  const { Name, X509CertificateGenerator, BasicConstraintsExtension, KeyUsagesExtension, KeyUsageFlags } = await x509()
  const keys = await newKeys()
  const certificate = await X509CertificateGenerator.createSelfSigned({
    ...validity(),
    name: new Name([{ CN: text(commonName) }]),
    keys,
    signingAlgorithm: algorithm,
    extensions: [
      new BasicConstraintsExtension(true, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign | KeyUsageFlags.digitalSignature, true),
    ],
  })
  return { certificate: `${certificate.toString('pem')}\n`, key: await pem(keys.privateKey) }
}

type Purpose = { usage: 'client' } | { usage: 'server'; names: readonly string[]; addresses: readonly string[] }

async function issue(
  authority: Authority,
  subject: Record<string, ReturnType<typeof text>>[],
  purpose: Purpose,
): Promise<KeyPair> {
  const library = await x509()
  const issuer = new library.X509Certificate(authority.certificate)
  const signingKey = await webcrypto.subtle.importKey('pkcs8', derOf(authority.key), algorithm, false, ['sign'])
  const keys = await newKeys()
  const { serverAuth, clientAuth } = library.ExtendedKeyUsage
  const extensions = [
    new library.KeyUsagesExtension(library.KeyUsageFlags.digitalSignature, true),
    new library.ExtendedKeyUsageExtension([purpose.usage === 'server' ? serverAuth : clientAuth]),
    ...(purpose.usage === 'server' ? [new library.SubjectAlternativeNameExtension(alternativeNames(purpose))] : []),
  ]
  const certificate = await library.X509CertificateGenerator.create({
    ...validity(),
    subject: new library.Name(subject),
    issuer: issuer.subjectName,
    publicKey: keys.publicKey,
    signingKey,
    signingAlgorithm: algorithm,
    extensions,
  })
  return { certificate: `${certificate.toString('pem')}\n`, key: await pem(keys.privateKey) }
}

function alternativeNames({ names, addresses }: { names: readonly string[]; addresses: readonly string[] }) {
  const dns = names.map((value) => ({ type: 'dns' as const, value }))
  return [...dns, ...addresses.map((value) => ({ type: 'ip' as const, value }))]
}

function derOf(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(text.replace(/-----[A-Z ]+-----|\s/g, ''), 'base64'))
}

/** A certificate that makes its bearer this user in these groups. */
export function issueClientCertificate(authority: Authority, { user, groups = [] }: Identity): Promise<KeyPair> {
  return issue(authority, [{ CN: text(user) }, ...groups.map((group) => ({ O: text(group) }))], { usage: 'client' })
}

/** Writes everything that an API server needs into an empty or missing directory: only its user may read it. */
export async function writePki(dir: string, name: string): Promise<void> {
  const authority = await createAuthority(`${name} certificate authority`)
  const server = await issue(authority, [{ CN: text(name) }], {
    usage: 'server',
    names: ['localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc'],
    addresses: ['127.0.0.1', '::1'],
  })
  const serviceAccount = await newKeys()
  await mkdir(dir, { recursive: true })
  await chmod(dir, 0o700)
  const write = (file: string, text: string) => writeFile(join(dir, file), text, { mode: 0o600 })
  await write(pkiFiles.authority, authority.certificate)
  await write(pkiFiles.authorityKey, authority.key)
  await write(pkiFiles.server, server.certificate)
  await write(pkiFiles.serverKey, server.key)
  await write(pkiFiles.serviceAccountKey, await pem(serviceAccount.privateKey))
  await write(pkiFiles.serviceAccountPublicKey, await pem(serviceAccount.publicKey))
}

export async function readAuthority(dir: string): Promise<Authority> {
  const certificate = await readFile(join(dir, pkiFiles.authority), 'utf8')
  return { certificate, key: await readFile(join(dir, pkiFiles.authorityKey), 'utf8') }
}
