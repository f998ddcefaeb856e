import assert from 'node:assert/strict'
import { test } from 'node:test'
import { age, span } from './ages.ts'
import { parseTarget } from './target.ts'

const claim = { kind: 'claim', name: 'web-0' }
const nic = { kind: 'interface', name: 'web-0' }

for (const [words, want] of [
  [['claim/web-0'], claim],
  [['claim', 'web-0'], claim],
  [['nicc/web-0'], claim],
  [['networkinterfaceclaims', 'web-0'], claim],
  [['NetworkInterfaceClaim/web-0'], claim],
  [['networkinterfaceclaim.networking.datumapis.com/web-0'], claim],
  [['nic', 'web-0'], nic],
  [['networkinterfaces/web-0'], nic],
] as const) {
  test(`${words.join(' ')} names ${want.kind} ${want.name}`, () => assert.deepEqual(parseTarget(words), want))
}

for (const [words, want] of [
  [['pod/x'], /There is no kind "pod" here; there are: networkinterfaceclaims or claim, networkinterfaces or interface\./],
  [['web-0'], /There is no kind "web-0"/],
  [['claim'], /One object is explained at a time: nso explain claim\/NAME\./],
  [['claim/'], /One object/],
  [['claim', 'a', 'b'], /One object/],
  [['claim/a', 'claim/b'], /One object/],
] as const) {
  test(`"${words.join(' ')}" is refused with a hint`, () => {
    assert.throws(() => parseTarget(words), { name: 'Explained', message: want })
  })
}

test('ages are in the unit that people would say', () => {
  const ms = { s: 1000, min: 60_000, h: 3_600_000, d: 86_400_000 }
  const spans = [0, -5, 999, 45 * ms.s, 119 * ms.s, 2 * ms.min, 3 * ms.h, 47 * ms.h, 5 * ms.d]
  assert.deepEqual(spans.map(span), ['0 s', '0 s', '0 s', '45 s', '119 s', '2 min', '3 h', '47 h', '5 d'])
  assert.equal(age(new Date(), '1970-01-01T00:00:00Z'), undefined)
  assert.equal(age(new Date(), undefined), undefined)
})
