import assert from 'node:assert/strict'
import { test } from 'node:test'
import { processFlags } from './process.ts'

/** As much of a command-line library as is asked for. */
class Option {
  readonly flags: string
  parse: ((text: string) => unknown) | undefined
  fallback: unknown
  allowed: readonly string[] | undefined
  constructor(flags: string) {
    this.flags = flags
  }
  argParser(parse: (text: string) => unknown) {
    this.parse = parse
    return this
  }
  default(value: unknown) {
    this.fallback = value
    return this
  }
  choices(values: readonly string[]) {
    this.allowed = values
    return this
  }
}
class InvalidArgumentError extends Error {}

const options = processFlags({ Option, InvalidArgumentError }, 'example-system')
const option = (name: string) => {
  const found = options.find(({ flags }) => flags.startsWith(`--${name}`))
  assert.ok(found, name)
  return found
}

test('a process leads by a lease in its namespace and serves its pages on loopback, unless told otherwise', () => {
  assert.deepEqual(
    ['leader-elect', 'lease-namespace', 'metrics-bind-address', 'log-level', 'kubeconfig', 'health-probe-bind-address'].map(
      (name) => option(name).fallback,
    ),
    [true, 'example-system', { host: '127.0.0.1', port: 0 }, 'info', undefined, undefined],
  )
})

test('what makes no sense is refused in the words of the library', () => {
  for (const name of ['metrics-bind-address', 'health-probe-bind-address']) {
    assert.deepEqual(option(name).parse?.(':8080'), { host: '127.0.0.1', port: 8080 })
    assert.throws(() => option(name).parse?.('nowhere'), InvalidArgumentError)
  }
  assert.deepEqual(option('log-level').allowed, ['debug', 'info', 'warn', 'error', 'silent'])
})
