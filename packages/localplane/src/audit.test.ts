import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { type AuditEntry, auditPolicy, parseAuditLine, readAudit } from './audit.ts'

const event = {
  kind: 'Event',
  apiVersion: 'audit.k8s.io/v1',
  level: 'Metadata',
  auditID: 'a-1',
  stage: 'ResponseComplete',
  requestURI: '/apis/example.dev/v1/namespaces/default/gizmos/web/status?fieldManager=left%2Fright&force=true&dryRun=All',
  verb: 'patch',
  user: { username: 'alice', groups: ['dev', 'system:authenticated'] },
  userAgent: 'curl/8',
  objectRef: {
    resource: 'gizmos',
    namespace: 'default',
    name: 'web',
    apiGroup: 'example.dev',
    apiVersion: 'v1',
    subresource: 'status',
  },
  responseStatus: { code: 409, status: 'Failure', reason: 'Conflict', message: 'somebody was faster' },
  requestReceivedTimestamp: '2026-01-02T03:04:05.000006Z',
  stageTimestamp: '2026-01-02T03:04:05.000007Z',
}
const line = (changes: object = {}) => JSON.stringify({ ...event, ...changes })

const table: { says: string; line: string; want: Partial<AuditEntry> }[] = [
  { says: 'who asked', line: line(), want: { user: 'alice', groups: ['dev', 'system:authenticated'], userAgent: 'curl/8' } },
  {
    says: 'what was asked for',
    line: line(),
    want: {
      verb: 'patch',
      group: 'example.dev',
      version: 'v1',
      resource: 'gizmos',
      subresource: 'status',
      namespace: 'default',
      name: 'web',
    },
  },
  {
    says: 'what was answered',
    line: line(),
    want: { code: 409, reason: 'Conflict', message: 'somebody was faster', stage: 'ResponseComplete' },
  },
  {
    says: 'a field manager with its escapes undone',
    line: line(),
    want: { fieldManager: 'left/right', force: true, dryRun: true },
  },
  {
    says: 'that nothing was forced',
    line: line({ requestURI: '/api/v1/pods?force=false' }),
    want: { force: false, dryRun: false, fieldManager: '' },
  },
  {
    says: 'when',
    line: line(),
    want: { requestReceived: '2026-01-02T03:04:05.000006Z', stageTimestamp: '2026-01-02T03:04:05.000007Z' },
  },
  {
    says: 'as whom, when somebody acts for another',
    line: line({ impersonatedUser: { username: 'bob' } }),
    want: { user: 'bob', groups: [] },
  },
  {
    says: 'a path that is no object',
    line: line({ objectRef: undefined, requestURI: '/readyz', verb: 'get' }),
    want: { resource: '', name: '', verb: 'get', uri: '/readyz' },
  },
  {
    says: 'a watch that has not ended',
    line: line({ stage: 'ResponseStarted', responseStatus: undefined }),
    want: { stage: 'ResponseStarted', code: 0, reason: '' },
  },
]
for (const { says, line: text, want } of table) {
  test(`a line of the audit log says ${says}`, () => {
    const entry = parseAuditLine(text)
    assert.partialDeepStrictEqual(entry, want)
  })
}

test('a line that is still being written is not there yet, wherever it ends', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'audit-'))
  t.after(() => rm(dir, { recursive: true }))
  const path = join(dir, 'audit.log')
  const whole = `${line({ auditID: 'one' })}\n${line({ auditID: 'two' })}\n`
  const first = whole.indexOf('\n') + 1
  for (let end = 0; end <= whole.length; end++) {
    await writeFile(path, whole.slice(0, end))
    const ids = (await readAudit(path)).map(({ id }) => id)
    const complete = end < first - 1 ? [] : end < whole.length - 1 ? ['one'] : ['one', 'two']
    assert.deepEqual(ids, complete, `cut after ${end} bytes`)
  }
})

test('a range begins and ends at byte positions', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'audit-'))
  t.after(() => rm(dir, { recursive: true }))
  const path = join(dir, 'audit.log')
  const lines = ['Ä', 'ö', 'z'].map((id) => `${line({ auditID: id })}\n`)
  await writeFile(path, lines.join(''))
  const from = Buffer.byteLength(lines[0] ?? '')
  const to = from + Buffer.byteLength(lines[1] ?? '')
  assert.deepEqual(
    (await readAudit(path, { from, to })).map(({ id }) => id),
    ['ö'],
  )
  assert.deepEqual(
    (await readAudit(path, { from: to })).map(({ id }) => id),
    ['z'],
  )
})

test('a log that does not exist yet is empty', async () => {
  assert.deepEqual(await readAudit('/nonexistent/audit.log'), [])
})

test('what was answered is there only where the log has it', () => {
  const responseObject = { kind: 'Gizmo', metadata: { name: 'web' } }
  assert.deepEqual(parseAuditLine(line({ responseObject }))?.responseObject, responseObject)
  assert.ok(!('responseObject' in (parseAuditLine(line()) ?? {})))
})

test('the policy keeps the bodies of writes on the named kinds and of nothing else', () => {
  assert.deepEqual(auditPolicy().rules, [{ level: 'Metadata' }])
  assert.deepEqual(auditPolicy([{ group: 'a.dev' }, { group: 'b.dev', resources: ['gizmos'] }]).rules, [
    {
      level: 'RequestResponse',
      verbs: ['create', 'update', 'patch', 'delete', 'deletecollection'],
      resources: [{ group: 'a.dev' }, { group: 'b.dev', resources: ['gizmos', 'gizmos/*'] }],
    },
    { level: 'Metadata' },
  ])
})
