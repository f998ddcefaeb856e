import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createWaitingClaims } from './waiting.ts'

const ipv4 = { family: 'IPv4' } as const
const ipv6 = { family: 'IPv6' } as const

test('an address that comes free reaches the claims of its network that wait for its family or for a class, each once', () => {
  const waiting = createWaitingClaims()
  waiting.wait('ns/net', 'ns/four', ipv4)
  waiting.wait('ns/net', 'ns/six', ipv6)
  waiting.wait('ns/net', 'ns/public', { class: 'public' })
  waiting.wait('ns/other', 'ns/elsewhere', ipv4)
  assert.deepEqual(waiting.take('ns/net', 'IPv4'), ['ns/four', 'ns/public'])
  assert.deepEqual(waiting.take('ns/net', 'IPv4'), [])
  assert.deepEqual(waiting.take('ns/net', 'IPv6'), ['ns/six'])
  assert.equal(waiting.size, 1)
})

test('a claim that was served or is gone waits no more, and one that is refused for something else waits for that', () => {
  const waiting = createWaitingClaims()
  waiting.wait('ns/net', 'ns/a', ipv4)
  waiting.wait('ns/net', 'ns/a', ipv6)
  assert.deepEqual(waiting.take('ns/net', 'IPv4'), [])
  waiting.wait('ns/other', 'ns/a', ipv6)
  assert.deepEqual(waiting.take('ns/net', 'IPv6'), [])
  waiting.end('ns/a')
  waiting.end('ns/a')
  assert.equal(waiting.size, 0)
  assert.deepEqual(waiting.take('ns/other', 'IPv6'), [])
})
