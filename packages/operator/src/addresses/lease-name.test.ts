import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { blockAt, readBlock } from './cidr.ts'
import { leaseName } from './lease-name.ts'

const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

function named(network: string, address: string): string {
  const block = readBlock(address)
  assert.ok(block)
  return leaseName(network, block)
}

test('a lease is named after its network and address', () => {
  assert.equal(named('net', '10.128.0.5'), 'net.10-128-0-5')
  assert.equal(named('net', '2001:DB8::1:0:0/96'), 'net.20010db8000000000000000100000000')
})

test('B45: every spelling of an address has one name', () => {
  assert.equal(named('c', '::ffff:10.0.0.5'), named('c', '10.0.0.5/32'))
  assert.equal(named('c', '2001:DB8:0:0::0005'), named('c', '2001:db8::5/128'))
})

test('B52: a name that would be too long is cut, and two of them with one long beginning still differ', () => {
  const long = 'a'.repeat(252)
  const names = [named(`${long}b`, '10.0.0.1'), named(`${long}c`, '10.0.0.1'), named(`${long}b`, '10.0.0.2')]
  assert.equal(new Set(names).size, 3)
  for (const name of names) assert.ok(name.length <= 253 && subdomain.test(name), name)
})

test('names are valid, and differ where network or address differ', () => {
  const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?$/)
  const network = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) =>
    labels
      .join('.')
      .slice(0, 253)
      .replace(/[-.]+$/, ''),
  )
  const address = fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }).map((number) => blockAt('IPv6', number, 128))
  fc.assert(
    fc.property(network, network, address, address, (one, other, a, b) => {
      const name = leaseName(one, a)
      assert.ok(name.length <= 253 && subdomain.test(name), name)
      if (one !== other || a.start !== b.start) assert.notEqual(name, leaseName(other, b))
    }),
  )
})
