import assert from 'node:assert/strict'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { createAuthority, issueClientCertificate, pkiFiles, writePki } from './certificates.ts'

test('a client certificate is its authority’s, fits its key and is for clients', async () => {
  const authority = await createAuthority('one')
  const { certificate, key } = await issueClientCertificate(authority, { user: 'alice', groups: ['dev', 'system:masters'] })
  const parsed = new X509Certificate(certificate)
  assert.ok(parsed.verify(new X509Certificate(authority.certificate).publicKey))
  assert.ok(parsed.checkPrivateKey(createPrivateKey(key)))
  assert.equal(parsed.subject, 'CN=alice\nO=dev\nO=system:masters')
  assert.equal(parsed.ca, false)
  assert.deepEqual(parsed.keyUsage, ['1.3.6.1.5.5.7.3.2'])
  const other = await createAuthority('one')
  assert.equal(parsed.verify(new X509Certificate(other.certificate).publicKey), false)
})

test('any user name and group comes back as it went in', async () => {
  const authority = await createAuthority('names')
  const name = fc.string({ minLength: 1, maxLength: 40, unit: fc.constantFrom(...'aZ09-:._/@ ,+="<>#;üß') })
  const trimmed = name.filter((text) => text.trim() === text)
  await fc.assert(
    fc.asyncProperty(trimmed, fc.array(trimmed, { maxLength: 3 }), async (user, groups) => {
      const { certificate } = await issueClientCertificate(authority, { user, groups })
      const subject = new X509Certificate(certificate).toLegacyObject().subject as unknown as Record<string, string | string[]>
      assert.equal(subject.CN, user)
      assert.deepEqual([subject.O ?? []].flat(), groups)
    }),
    { numRuns: 40 },
  )
})

test('the server’s certificate names the addresses that clients use, and only its user can read the keys', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'pki-'))
  t.after(() => rm(dir, { recursive: true }))
  await writePki(dir, 'plane')
  const server = new X509Certificate(await readFile(join(dir, pkiFiles.server)))
  assert.equal(server.checkIP('127.0.0.1'), '127.0.0.1')
  assert.equal(server.checkHost('localhost'), 'localhost')
  assert.ok(server.checkIssued(new X509Certificate(await readFile(join(dir, pkiFiles.authority)))))
  assert.equal((await stat(dir)).mode & 0o777, 0o700)
  for (const file of await readdir(dir)) assert.equal((await stat(join(dir, file))).mode & 0o777, 0o600, file)
})
