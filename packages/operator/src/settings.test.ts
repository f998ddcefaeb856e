import assert from 'node:assert/strict'
import test from 'node:test'
import { parseBindAddress, parseDuration } from './settings.ts'

const addresses: [string, ReturnType<typeof parseBindAddress>][] = [
  ['127.0.0.1:8080', { host: '127.0.0.1', port: 8080 }],
  [':8080', { host: '127.0.0.1', port: 8080 }],
  ['[::]:0', { host: '::', port: 0 }],
  ['0', undefined],
]
for (const [text, want] of addresses) test(`address ${text}`, () => assert.deepEqual(parseBindAddress(text), want))

const durations: [string, number][] = [
  ['250ms', 250],
  ['1.5s', 1500],
  ['1m', 60_000],
  ['0', 0],
]
for (const [text, want] of durations) test(`duration ${text}`, () => assert.equal(parseDuration(text), want))

for (const text of ['', 'host', 'host:', 'host:x', 'host:65536', ':-1']) {
  test(`"${text}" is no address`, () => assert.throws(() => parseBindAddress(text), /host:port/))
}
for (const text of ['', '10', 's', '-1s', '1d', 'Infinity']) {
  test(`"${text}" is no duration`, () => assert.throws(() => parseDuration(text), /250ms/))
}
