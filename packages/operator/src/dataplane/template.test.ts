// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the strings are templates of a DataPlane
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { absent, celScope } from './cel.ts'
import { compileTemplate, TemplateError } from './template.ts'
import type { TemplateScope } from './types.ts'

const nic = {
  metadata: { name: 'web-0', namespace: 'default', labels: { app: 'web' } },
  spec: {
    mtu: 1400,
    ratio: 0.5,
    tags: [],
    addresses: [{ address: 'fd00::1/96', gateway: 'fd00::' }, { address: '10.0.0.1/32' }],
  },
}
const attachment = { spec: { ratio: 0.5, tags: [] } }
const scope = {
  interface: nic,
  attachment,
  subnets: [{ cidr: '10.0.0.0/20', family: 'IPv4', gateway: undefined }],
} as unknown as TemplateScope

function render(value: unknown, given: TemplateScope = scope): unknown {
  const { template, errors } = compileTemplate(value, 'spec.x')
  assert.deepEqual(errors, [])
  return template(celScope(given))
}

describe('a template renders', () => {
  const table: { says: string; given: unknown; want: unknown }[] = [
    { says: 'text as it is', given: 'x', want: 'x' },
    { says: 'empty text as it is', given: '', want: '' },
    { says: 'numbers and flags as they are', given: { a: 1, b: true }, want: { a: 1, b: true } },
    { says: 'one expression as an integer', given: '${interface.spec.mtu}', want: 1400 },
    { says: 'one expression as a computed integer', given: '${interface.spec.mtu + 4}', want: 1404 },
    { says: 'one expression as a fraction', given: '${attachment.spec.ratio}', want: 0.5 },
    { says: 'one expression as a flag', given: '${interface.spec.mtu > 1300}', want: true },
    {
      says: 'one expression as a list',
      given: '${interface.spec.addresses.map(a, a.address)}',
      want: ['fd00::1/96', '10.0.0.1/32'],
    },
    {
      says: 'only the gateways there are',
      given: '${interface.spec.addresses.filter(a, has(a.gateway)).map(a, a.gateway)}',
      want: ['fd00::'],
    },
    { says: 'one expression as a map', given: '${interface.metadata.labels}', want: { app: 'web' } },
    { says: 'an empty list as an empty list', given: { a: '${attachment.spec.tags}' }, want: { a: [] } },
    { says: 'expressions inside text', given: 'net-${interface.metadata.name}-${interface.spec.mtu}', want: 'net-web-0-1400' },
    { says: 'space around one expression as text', given: ' ${interface.spec.mtu}', want: ' 1400' },
    { says: 'a key without the absent value', given: { a: 1, b: '${interface.spec.externalAddresses}' }, want: { a: 1 } },
    { says: 'a key without what is absent deeper', given: { b: '${interface.spec.claimRef.name}' }, want: {} },
    { says: 'a key without text around an absent value', given: { b: 'a-${interface.spec.externalAddresses}' }, want: {} },
    { says: 'a key without an absent operand', given: { b: '${attachment.spec.gone + 1}' }, want: {} },
    { says: 'a key without a value of a variable that is not there', given: { b: '${networkObject.status.vpc}' }, want: {} },
    { says: 'a key without an item that is not there', given: { b: '${interface.spec.addresses[7].address}' }, want: {} },
    { says: 'a key without null', given: { b: null, c: '${null}' }, want: {} },
    { says: 'a list without absent items', given: ['${interface.spec.externalAddresses}', 'x'], want: ['x'] },
    {
      says: 'an optional as its value or nothing',
      given: { a: '${interface.spec.?mtu}', b: '${interface.spec.?externalAddresses}' },
      want: { a: 1400 },
    },
    { says: 'the ranges', given: '${subnets.map(s, s.cidr)}', want: ['10.0.0.0/20'] },
    { says: 'a brace in a string', given: '${"}" + interface.metadata.name}', want: '}web-0' },
  ]
  for (const { says, given, want } of table) test(says, () => assert.deepEqual(render(given), want))

  test('nothing for a whole value that is absent', () => assert.equal(render('${interface.spec.externalAddresses}'), absent))

  test('and says which keys it left out', () => {
    const { template } = compileTemplate({ a: { 'b/c': '${interface.spec.externalAddresses}' }, d: 1 }, 'spec', '/spec')
    const leftOut: string[] = []
    template(celScope(scope), leftOut)
    assert.deepEqual(leftOut, ['/spec/a/b~1c'])
  })
})

describe('a template does not compile', () => {
  const table: { says: string; given: unknown; want: RegExp }[] = [
    { says: 'with a syntax error', given: { a: 'x${1 +}' }, want: /^spec\.x\.a, column 7: Unexpected token/ },
    {
      says: 'with an unknown variable',
      given: ['ok', '${process.env}'],
      want: /^spec\.x\[1\], column 3: Unknown variable: process/,
    },
    {
      says: 'with a misspelt field',
      given: '${interface.spec.mtuu}',
      want: /^spec\.x, column 18: NetworkInterface has no field spec\.mtuu/,
    },
    {
      says: 'with a field that another kind has',
      given: '${[1].map(x, context.spec.addresses)}',
      want: /NetworkContext has no field spec\.addresses/,
    },
    { says: 'with a misspelt part', given: '${claim.metdata.name}', want: /NetworkInterfaceClaim has no field metdata\.name/ },
    {
      says: 'with a misspelt field in has()',
      given: '${has(interface.spec.mtuu)}',
      want: /NetworkInterface has no field spec\.mtuu/,
    },
    { says: 'with an unknown function', given: '${interface.metadata.name.shout()}', want: /^spec\.x, column \d+: / },
    {
      says: 'with a regular expression, whose time nobody bounds',
      given: '${subnets.map(s, s.cidr.matches("(a+)+$"))}',
      want: /^spec\.x, column 3: matches\(\) is not offered/,
    },
    {
      says: 'with comprehensions that multiply each other',
      given: '${subnets.map(a, subnets.filter(b, subnets.all(c, c.cidr == a.cidr)))}',
      want: /^spec\.x, column 3: map, filter, all and exists stand more than 2 deep/,
    },
    { says: 'with types that do not fit', given: '${"a" + 1}', want: /^spec\.x, column 3: no such overload: string \+ int/ },
    { says: 'with an expression that never ends', given: '${a', want: /^spec\.x, column 3: .* is missing/ },
    { says: 'with an empty expression', given: '${}', want: /^spec\.x, column 3: the expression is empty/ },
  ]
  for (const { says, given, want } of table) {
    test(says, () => {
      const { errors } = compileTemplate(given, 'spec.x')
      assert.equal(errors.length, 1)
      assert.match(errors[0]?.message ?? '', want)
    })
  }

  test('and all its errors are told', () => {
    const { errors } = compileTemplate({ a: '${b}', c: ['${d}'] }, 'spec.x')
    assert.deepEqual(
      errors.map(({ path }) => path),
      ['spec.x.a', 'spec.x.c[0]'],
    )
  })
})

describe('a rendering fails, and says where,', () => {
  const table: { says: string; given: unknown; want: RegExp }[] = [
    {
      says: 'for a field that some items lack: the list is not silently left out',
      given: { g: '${interface.spec.addresses.map(a, a.gateway)}' },
      want: /^spec\.x\.g, column \d+: No such key: gateway/,
    },
    { says: 'for an integer that JSON would round', given: '${9007199254740993}', want: /^spec\.x, column 3: .*too large/ },
    { says: 'for bytes', given: '${b"x"}', want: /^spec\.x, column 3: .*JSON/ },
    { says: 'for a type', given: '${type(1)}', want: /^spec\.x, column 3: .*JSON/ },
    { says: 'for a list inside text', given: 'a${interface.spec.addresses}', want: /^spec\.x, column 4: a list or map/ },
    { says: 'for a division by zero', given: '${interface.spec.mtu / 0}', want: /^spec\.x, column 3: / },
  ]
  for (const { says, given, want } of table) {
    test(says, () => {
      const { template, errors } = compileTemplate(given, 'spec.x')
      assert.deepEqual(errors, [])
      assert.throws(
        () => template(celScope(scope)),
        (error) => error instanceof TemplateError && want.test(error.message),
      )
    })
  }
})

describe('an evaluation that would stop the process ends soon, and says why:', () => {
  const ten = '[0,1,2,3,4,5,6,7,8,9]'
  const thousand = `[${Array.from({ length: 1000 }, (_, at) => at).join(',')}]`
  const table: { says: string; given: string }[] = [
    { says: 'a million items in two loops', given: `${thousand}.map(a, ${thousand}.map(b, a + b))` },
    { says: 'loops whose items nobody keeps', given: `${thousand}.all(a, ${thousand}.all(b, b >= 0))` },
    { says: 'errors that a quantifier passes over', given: `${thousand}.exists(a, ${thousand}.all(b, b / a > 5 && a > 1))` },
    { says: 'lists that double', given: `[${ten}]${'.map(x, x + x)'.repeat(20)}` },
    { says: 'lists inside lists', given: `${ten}${'.map(x, [x, x])'.repeat(20)}` },
    { says: 'one list inside itself, compared', given: `[1]${'.map(x, [x, x])'.repeat(30)}.all(x, x == x)` },
    { says: 'maps inside maps', given: `[1]${'.map(x, {"a": x, "b": x})'.repeat(30)}` },
    { says: 'text that doubles', given: `["${'x'.repeat(100)}"]${'.map(x, x + x)'.repeat(22)}` },
    { says: 'values bound to names', given: `cel.bind(a, ${thousand}, cel.bind(b, a.map(x, a), b))` },
    {
      says: 'time zones',
      given: `${thousand}.map(a, timestamp("2026-01-01T00:00:00Z").getHours("Europe/Berlin"))`,
    },
  ]
  for (const { says, given } of table) {
    test(says, () => {
      const { template, errors } = compileTemplate(`\${${given}}`, 'spec.x')
      assert.deepEqual(errors, [])
      for (const _ of ['first', 'again']) {
        const before = process.cpuUsage()
        assert.throws(() => template(celScope(scope)), /^TemplateError: spec\.x, column 3: it takes more than 100000 steps/)
        const { user } = process.cpuUsage(before)
        assert.ok(user < 500_000, `${user} µs`)
      }
    })
  }

  test('what templates do with the largest objects passes', () => {
    const addresses = Array.from({ length: 50 }, (_, at) => ({ address: `fd00::${at}/96`, family: 'IPv6' }))
    const subnets = Array.from({ length: 50 }, (_, at) => ({ cidr: `fd00:${at}::/64`, family: 'IPv6', gateway: 'fd00::' }))
    const given = { subnets, interface: { ...nic, spec: { ...nic.spec, addresses } } } as unknown as TemplateScope
    const all = render('${subnets.map(s, interface.spec.addresses.filter(a, a.family == s.family).map(a, a.address))}', given)
    assert.equal((all as unknown[]).flat().length, 2500)
    const note = 'x'.repeat(250_000)
    const noted = { subnets, claim: { metadata: { annotations: { note } } } } as unknown as TemplateScope
    assert.deepEqual(render('${claim.metadata.annotations}', noted), { note })
  })
})

test('nothing outside the scope can be reached', () => {
  for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty']) {
    assert.equal(render(`\${attachment.${name}}`), absent, name)
    assert.equal(render(`\${interface["${name}"]}`), absent, name)
  }
})

test('any JSON in the scope comes out as it went in', () => {
  const json = fc.jsonValue().filter((value) => value !== null && !hasNull(value))
  fc.assert(
    fc.property(json, (value) => {
      const given = { subnets: [], attachment: { spec: { value } } } as unknown as TemplateScope
      assert.deepEqual(render('${attachment.spec.value}', given), JSON.parse(JSON.stringify(value)))
    }),
  )
})

function hasNull(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))
  if (typeof value !== 'object') return false
  return value === null || Object.entries(value).some(([key, inner]) => key === '__proto__' || hasNull(inner))
}

test('a key named __proto__ in the scope is data', () => {
  const labels = JSON.parse('{"__proto__": "x", "a": "y"}')
  const given = { subnets: [], claim: { metadata: { labels } } } as unknown as TemplateScope
  assert.deepEqual(JSON.stringify(render('${claim.metadata.labels}', given)), '{"__proto__":"x","a":"y"}')
})
