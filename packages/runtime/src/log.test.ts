import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLogger, type LogLevel } from './log.ts'

function recorded(level: LogLevel = 'debug') {
  const lines: string[] = []
  return { log: createLogger({ name: 'sample', level, to: { write: (line) => lines.push(line) } }), lines }
}

test('a line is JSON with time, level, app, bindings, fields and message', () => {
  const { log, lines } = recorded()
  log.child({ controller: 'c' }).info({ key: 'default/a' }, 'done')
  const { time, ...rest } = JSON.parse(lines[0] ?? '')
  assert.ok(!Number.isNaN(Date.parse(time)))
  assert.deepEqual(rest, { level: 'info', app: 'sample', controller: 'c', key: 'default/a', msg: 'done' })
})

test('below the level nothing is written', () => {
  const { log, lines } = recorded('warn')
  log.info('not this')
  log.warn('this')
  assert.equal(lines.length, 1)
})

const jwt = 'eyJhbGciOiJSUzI1NiIsImtpZCI6IjEifQ.eyJpc3MiOiJrdWJlIiwic3ViIjoieCJ9.c2lnbmF0dXJl'

const secrets: { says: string; fields: object }[] = [
  { says: 'a token field', fields: { token: 'hunter2' } },
  { says: 'a header', fields: { headers: { authorization: 'Bearer hunter2' } } },
  { says: 'two levels down', fields: { request: { headers: { Authorization: 'hunter2' } } } },
  { says: 'a client key', fields: { user: { 'client-key-data': 'hunter2' } } },
  { says: 'a bearer value inside a text', fields: { what: 'sent Authorization: Bearer hunter2 to the server' } },
  { says: 'a token inside an error', fields: { err: new Error(`401 for ${jwt}`) } },
]

for (const { says, fields } of secrets) {
  test(`no credential reaches the log: ${says}`, () => {
    const { log, lines } = recorded()
    log.error(fields, 'failed')
    assert.ok(!lines[0]?.includes('hunter2') && !lines[0]?.includes(jwt), lines[0] ?? '')
    assert.match(lines[0] ?? '', /\[redacted\]/)
  })
}

test('an error shows its type, message and stack', () => {
  const { log, lines } = recorded()
  log.error({ err: new TypeError('odd') }, 'failed')
  const { err } = JSON.parse(lines[0] ?? '')
  assert.equal(err.type, 'TypeError')
  assert.equal(err.message, 'odd')
  assert.match(err.stack, /log\.test\.ts/)
})
