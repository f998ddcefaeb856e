/**
 * Manifests as data for tests: each file holds an object to create and, in further documents, what it is changed to.
 * A file that begins with `# error: TEXT` must be refused in its last step, with TEXT in the server's message.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ApiAnswer, type ApiConnection, mergePatch } from './api-connection.ts'
import { type KubeObject, parseManifests } from './install-manifests.ts'

export type Sample = { file: string; documents: readonly KubeObject[]; error: string | undefined }

/** All samples under a folder, in order of their paths. Rejects for a file without an object. */
export async function readSamples(folder: string): Promise<Sample[]> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.yaml')).sort()
  return await Promise.all(
    names.map(async (file) => {
      const content = await readFile(join(folder, file), 'utf8')
      const documents = parseManifests(content)
      if (documents.length === 0) throw new Error(`${file} holds no object`)
      return { file, documents, error: /^# error: (.+)$/m.exec(content)?.[1]?.trim() }
    }),
  )
}

/**
 * Takes a sample through its steps and resolves with the answer to the last one. One document: a create that is only tried
 * (dry run). More: a real create, then updates, of `/status` where the document has a `status`; the object is removed again.
 * Rejects when an earlier step is refused, so that a sample is never refused for another reason than its own.
 */
export async function applySample(connection: ApiConnection, namespace: string, { file, documents }: Sample): Promise<ApiAnswer> {
  const [first, ...changes] = documents
  if (!first) throw new Error(`${file} holds no object`)
  const collection = await collectionOf(connection, namespace, first)
  const dryRun = changes.length === 0 ? '&dryRun=All' : ''
  const path = `${collection}?fieldValidation=Strict${dryRun}`
  let answer = await connection.request({ method: 'POST', path, body: first })
  if (changes.length === 0) return answer
  const object = `${collection}/${first.metadata.name}`
  try {
    for (const change of changes) {
      if (answer.status >= 300) throw new Error(`${file}: an earlier step is refused: ${messageOf(answer)}`)
      answer = await update(connection, object, answer.body as KubeObject, change)
    }
    return answer
  } finally {
    await connection.request({ method: 'PATCH', path: object, contentType: mergePatch, body: { metadata: { finalizers: null } } })
    await connection.request({ method: 'DELETE', path: object })
  }
}

/** What a server said, for people. */
export function messageOf({ status, body }: ApiAnswer): string {
  const message = typeof body === 'object' && body !== null && 'message' in body ? body.message : body
  return `${status} ${typeof message === 'string' ? message : JSON.stringify(message)}`
}

async function update(connection: ApiConnection, path: string, current: KubeObject, change: KubeObject): Promise<ApiAnswer> {
  if ('status' in change) {
    const { status: _, ...rest } = current
    const body = change.status === null ? rest : { ...rest, status: change.status }
    return await connection.request({ method: 'PUT', path: `${path}/status?fieldValidation=Strict`, body })
  }
  const body = { ...current, ...change, metadata: { ...current.metadata, ...change.metadata } }
  return await connection.request({ method: 'PUT', path: `${path}?fieldValidation=Strict`, body })
}

type Discovered = { resources: { name: string; kind: string; namespaced: boolean }[] }

async function collectionOf(connection: ApiConnection, namespace: string, { apiVersion, kind }: KubeObject): Promise<string> {
  const base = `/apis/${apiVersion}`
  const { resources } = (await connection.must({ path: base })) as Discovered
  const found = resources.find((resource) => resource.kind === kind && !resource.name.includes('/'))
  if (!found) throw new Error(`${apiVersion} ${kind} is not served`)
  return found.namespaced ? `${base}/namespaces/${namespace}/${found.name}` : `${base}/${found.name}`
}
