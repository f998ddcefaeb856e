import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { type Candidate, chooseFor, lostTies, specificity } from './choose.ts'

const plane = (name: string, locations: string[], age = '2026-01-01T00:00:00Z'): Candidate => ({
  metadata: { name, creationTimestamp: age },
  spec: { locations },
})

describe('the data plane of a location', () => {
  const everywhere = plane('everywhere', ['*'])
  const europe = plane('europe', ['eu-*'])
  const west = plane('west', ['eu-west-*'])
  const one = plane('one', ['eu-west-1'], '2026-09-01T00:00:00Z')
  const all = [everywhere, europe, west, one]
  const table: { says: string; given: Candidate[]; location: string; want: string | undefined }[] = [
    { says: 'is the one that names it', given: all, location: 'eu-west-1', want: 'one' },
    { says: 'is else the one with the longest prefix', given: all, location: 'eu-west-2', want: 'west' },
    { says: 'is else one with a shorter prefix', given: all, location: 'eu-north-1', want: 'europe' },
    { says: 'is else the one for all', given: all, location: 'us-1', want: 'everywhere' },
    { says: 'is nobody when none fits', given: [one, west], location: 'us-1', want: undefined },
    {
      says: 'counts the best of several patterns',
      given: [everywhere, plane('two', ['us-9', 'eu-west-*'])],
      location: 'eu-west-3',
      want: 'two',
    },
    {
      says: 'prefers a full name over a prefix of its length',
      given: [plane('a', ['eu*']), plane('b', ['eu'])],
      location: 'eu',
      want: 'b',
    },
    {
      says: 'is the older of two with one pattern',
      given: [plane('a', ['*'], '2026-02-02T00:00:00Z'), plane('b', ['*'], '2026-02-01T00:00:00Z')],
      location: 'x',
      want: 'b',
    },
    { says: 'is the first by name of two of one age', given: [plane('b', ['*']), plane('a', ['*'])], location: 'x', want: 'a' },
    { says: 'takes * inside a name literally', given: [plane('a', ['e*u'])], location: 'eu', want: undefined },
  ]
  for (const { says, given, location, want } of table) {
    test(says, () => assert.equal(chooseFor(given, location)?.metadata.name, want))
  }
})

describe('a tie', () => {
  const older = plane('z-old', ['*', 'eu-*'], '2026-01-01T00:00:00Z')
  test('is lost to the older, for each shared pattern', () => {
    const younger = plane('a-new', ['*', 'us-*'], '2026-01-02T00:00:00Z')
    assert.deepEqual(lostTies(younger, [older, younger]), [{ pattern: '*', to: 'z-old' }])
    assert.deepEqual(lostTies(older, [older, younger]), [])
  })
  test('is lost to the first of several', () => {
    const middle = plane('b-mid', ['*'], '2026-01-02T00:00:00Z')
    const young = plane('a-new', ['*'], '2026-01-03T00:00:00Z')
    assert.deepEqual(lostTies(young, [young, middle, older]), [{ pattern: '*', to: 'z-old' }])
  })
})

const pattern = fc.constantFrom('*', 'e*', 'eu*', 'eu-1', 'eu-2', 'eu-1*', 'us')
const candidates = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom('a', 'b', 'c', 'd'),
    locations: fc.array(pattern, { minLength: 1, maxLength: 3 }),
    age: fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'),
  }),
  { selector: ({ name }) => name },
)

test('the choice does not depend on the order in which planes are seen, and nothing fits better', () => {
  fc.assert(
    fc.property(candidates, fc.constantFrom('eu-1', 'eu-12', 'eu-3', 'us', 'e'), (given, location) => {
      const all = given.map(({ name, locations, age }) => plane(name, locations, age))
      const chosen = chooseFor(all, location)
      assert.equal(chooseFor(all.toReversed(), location), chosen)
      const rank = (candidate: Candidate) =>
        Math.max(...(candidate.spec.locations ?? []).map((each) => specificity(each, location) ?? -1))
      for (const other of all) assert.ok(rank(other) <= (chosen ? rank(chosen) : -1))
    }),
  )
})

test('whoever lost all its patterns is never chosen, and whoever lost none is chosen somewhere', () => {
  fc.assert(
    fc.property(candidates, (given) => {
      const all = given.map(({ name, locations, age }) => plane(name, [...new Set(locations)], age))
      for (const candidate of all) {
        const patterns = candidate.spec.locations ?? []
        const lost = lostTies(candidate, all).map((tie) => tie.pattern)
        for (const own of patterns) {
          // A location that only this very pattern and less specific ones fit.
          const location = own.endsWith('*') ? `${own.slice(0, -1)}~` : own
          const wins = chooseFor(all, location) === candidate
          if (!lost.includes(own)) assert.ok(wins, `${candidate.metadata.name} ${own}`)
          if (lost.length === patterns.length) assert.ok(!wins)
        }
      }
    }),
  )
})
