import assert from 'node:assert/strict'
import { test } from 'node:test'
import { argument, parseBindAddress, parseDuration, served } from './flags.ts'

test('addresses to serve on', () => {
  assert.deepEqual(parseBindAddress(':8080'), { host: '127.0.0.1', port: 8080 })
  assert.deepEqual(parseBindAddress('0.0.0.0:8080'), { host: '0.0.0.0', port: 8080 })
  assert.deepEqual(parseBindAddress('[::]:9'), { host: '::', port: 9 })
  assert.equal(parseBindAddress('0'), undefined)
  for (const text of ['', '8080', 'host', 'host:', ':70000', '::1:80']) assert.throws(() => parseBindAddress(text), /no address/)
})

test('durations', () => {
  assert.equal(parseDuration('30s'), 30_000)
  assert.equal(parseDuration('1m30s'), 90_000)
  assert.equal(parseDuration('1.5s'), 1_500)
  assert.equal(parseDuration('0s'), 0)
  assert.equal(parseDuration('0'), 0)
  assert.equal(parseDuration('250ms'), 250)
  for (const text of ['', '30', 's', '30 s', '-1s', '30sx']) assert.throws(() => parseDuration(text), /no duration/)
})

test('what is served where', () => {
  const [metrics, probes] = [
    { host: '127.0.0.1', port: 1 },
    { host: '127.0.0.1', port: 2 },
  ]
  assert.equal(served(undefined, undefined), undefined)
  assert.deepEqual(served(metrics, undefined), metrics)
  assert.deepEqual(served(undefined, probes), probes)
  assert.deepEqual(served(metrics, probes), { ...metrics, probes })
})

test('a wrong text becomes the error of the command-line library, with the same words', () => {
  class Invalid extends Error {}
  assert.throws(() => argument(parseDuration, Invalid)('5x'), { constructor: Invalid, message: /^5x is no duration/ })
  assert.equal(argument(parseDuration, Invalid)('5s'), 5_000)
})
