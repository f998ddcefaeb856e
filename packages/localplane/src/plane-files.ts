/** The files that a plane's programs read, and the directories that crashed planes have left. */
import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type AuditedKinds, auditPolicy } from './audit.ts'
import { pkiFiles, writePki } from './certificates.ts'
import { hasCode } from './errors.ts'
import { tryLock } from './lock.ts'
import { planeFiles } from './server-flags.ts'

export const temporaryPrefix = 'localplane-'

export type PlaneFiles = {
  ca: string
  /** Of the user `admin` in system:masters. */
  adminToken: string
  /** Of the user `system:kube-controller-manager`, in system:masters too, so that the audit log tells them apart. */
  controllersToken: string
}

export type PrepareRequest = { dir: string; name: string; fresh: boolean; auditBodies: readonly AuditedKinds[] }

/** Keeps keys, tokens and data of an earlier run unless `fresh`: kubeconfigs handed out then still work. */
export async function prepareFiles({ dir, name, fresh, auditBodies }: PrepareRequest): Promise<PlaneFiles> {
  if (fresh) {
    for (const file of Object.values(planeFiles)) {
      if (file !== planeFiles.lock) await rm(join(dir, file), { recursive: true, force: true })
    }
  }
  const pki = join(dir, planeFiles.pki)
  if (!(await isThere(pki))) {
    const partial = `${pki}.partial`
    await rm(partial, { recursive: true, force: true })
    await writePki(partial, name)
    await rename(partial, pki)
  }
  await mkdir(join(dir, planeFiles.etcd), { recursive: true, mode: 0o700 })
  await mkdir(join(dir, planeFiles.kubeconfigs), { recursive: true, mode: 0o700 })
  await writeFile(join(dir, planeFiles.auditPolicy), JSON.stringify(auditPolicy(auditBodies)))
  const tokens = await readOrWriteTokens(join(dir, planeFiles.tokens))
  return { ca: await readFile(join(pki, pkiFiles.authority), 'utf8'), ...tokens }
}

async function readOrWriteTokens(path: string): Promise<{ adminToken: string; controllersToken: string }> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return ''
    throw error
  })
  const tokenOf = (user: string) =>
    text
      .split('\n')
      .find((line) => line.includes(`,${user},`))
      ?.split(',')[0]
  const adminToken = tokenOf('admin') ?? newToken()
  const controllersToken = tokenOf('system:kube-controller-manager') ?? newToken()
  const lines = [`${adminToken},admin,admin,"system:masters"`]
  lines.push(`${controllersToken},system:kube-controller-manager,controllers,"system:masters"`)
  await writeFile(path, `${lines.join('\n')}\n`, { mode: 0o600 })
  return { adminToken, controllersToken }
}

const newToken = () => randomBytes(24).toString('base64url')

/** A killed process cannot remove its temporary directory; the next one to make one does. */
export async function removeAbandonedPlanes(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    if (!name.startsWith(temporaryPrefix)) continue
    const lockPath = join(parent, name, planeFiles.lock)
    if (!(await isThere(lockPath))) continue
    try {
      const lock = await tryLock(lockPath)
      if ('release' in lock) await rm(join(parent, name), { recursive: true, force: true })
    } catch {
      // Another user's, or another process is removing it at this moment.
    }
  }
}

async function isThere(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  )
}
