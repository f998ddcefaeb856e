/** For tests: single writes by somebody, and what a policy must have answered. */
import assert from 'node:assert/strict'
import { type Kind, type KubeObject, pathOf } from '../kind.ts'

type Answer = { status: number; text: string; body: unknown }
type Request = { method?: 'POST' | 'PUT' | 'PATCH'; path: string; body?: unknown; contentType?: string; userAgent?: string }

/** Somebody with a connection of its own, made for it by the control plane. */
export type Actor = {
  readonly user: string
  readonly connection: { request(request: Request): Promise<Answer> }
}

export type Target = { kind: Kind; name: string; namespace?: string | undefined }

export type TrialWrite = {
  /** PATCH unless said otherwise. */
  method?: 'POST' | 'PUT' | 'PATCH'
  /** Absent: none is sent. */
  manager?: string
  subresource?: 'status' | ''
  /** Of a PATCH: a JSON merge patch unless said otherwise. */
  contentType?: string
  body: unknown
  dryRun?: boolean
  force?: boolean
  /** What a client without a field manager writes under begins with it. */
  userAgent?: string
}

const mergePatch = 'application/merge-patch+json'

export function write({ connection }: Actor, { kind, name, namespace }: Target, given: TrialWrite): Promise<Answer> {
  const { method = 'PATCH', manager, subresource = '', contentType = method === 'PATCH' ? mergePatch : undefined } = given
  const query = new URLSearchParams({
    ...(manager === undefined ? {} : { fieldManager: manager }),
    ...(given.dryRun ? { dryRun: 'All' } : {}),
    ...(given.force ? { force: 'true' } : {}),
  })
  const at = method === 'POST' ? { namespace } : { name, namespace, ...(subresource ? { subresource } : {}) }
  const path = `${pathOf(kind, at)}?${query}`
  const { userAgent } = given
  return connection.request({
    ...{ method, path, body: given.body },
    ...(contentType ? { contentType } : {}),
    ...(userAgent === undefined ? {} : { userAgent }),
  })
}

export async function read({ connection }: Actor, { kind, name, namespace }: Target): Promise<KubeObject> {
  const answer = await connection.request({ path: pathOf(kind, { name, namespace }) })
  assertPassed(answer)
  return answer.body as KubeObject
}

const messageOf = ({ body, text }: Answer): string => (body as { message?: string } | undefined)?.message ?? text

export function assertPassed(answer: Answer): void {
  assert.ok(answer.status < 300, `answered ${answer.status}: ${messageOf(answer)}`)
}

/** Refused by an ownership policy, with these words in the message. */
export function assertRefused(answer: Answer, ...words: string[]): void {
  const message = messageOf(answer)
  assert.equal(answer.status, 403, `answered ${answer.status}: ${message}`)
  assert.match(message, /ValidatingAdmissionPolicy '[a-z]+-owners-/)
  for (const word of words) assert.ok(message.includes(word), `${word} in: ${message}`)
}
