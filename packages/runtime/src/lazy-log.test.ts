import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lazyChild } from './lazy-log.ts'
import { createLogger } from './log.ts'
import { createRecordingLog } from './recording-log.ts'

test('every line carries the bindings, which are asked for once', () => {
  const { log, lines } = createRecordingLog()
  let asked = 0
  const child = lazyChild(log, () => ({ id: ++asked }))
  child.debug('one')
  child.error({ code: 7 }, 'two')
  child.child({ more: true }).info('three')
  assert.deepEqual(lines, [
    { level: 'debug', fields: { id: 1 }, message: 'one' },
    { level: 'error', fields: { id: 1, code: 7 }, message: 'two' },
    { level: 'info', fields: { id: 1, more: true }, message: 'three' },
  ])
})

test('a line below the level asks for nothing; the first one above it is written whole', () => {
  const written: string[] = []
  const log = createLogger({ level: 'info', to: { write: (line) => written.push(line) } })
  let asked = 0
  const child = lazyChild(log, () => ({ id: ++asked }))
  child.debug({ code: 1 }, 'quiet')
  assert.equal(asked, 0)
  child.info({ code: 2 }, 'loud')
  assert.equal(asked, 1)
  assert.partialDeepStrictEqual(JSON.parse(written.join('')), { level: 'info', id: 1, code: 2, msg: 'loud' })
})
