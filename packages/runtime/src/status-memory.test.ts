import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { KubeObject } from './kind.ts'
import type { OwnForm } from './status-intent.ts'
import { createStatusMemory } from './status-memory.ts'

const object = (resourceVersion: string, uid = 'u1'): KubeObject => ({
  apiVersion: 'example.dev/v1',
  kind: 'Widget',
  metadata: { name: 'a', uid, resourceVersion },
  spec: {},
})
const form = (fields: Record<string, string>): OwnForm => new Map(Object.entries(fields))

describe('what was taken since the last apply', () => {
  test('paths that differ on a newer object, until what stands is accepted', () => {
    const memory = createStatusMemory()
    memory.remember('a', object('9'), form({ vpc: '1', ref: '1' }), form({}))
    const taken = form({ vpc: '2', ref: '1' })
    assert.deepEqual(memory.takenSince('a', object('10'), taken), ['vpc'])
    assert.deepEqual(memory.takenSince('a', object('11'), taken), ['vpc'])
    memory.accept('a', object('11'), taken)
    assert.deepEqual(memory.takenSince('a', object('12'), taken), [])
  })

  const quiet: { says: string; seen: KubeObject; as?: OwnForm }[] = [
    { says: 'an object as old as the apply', seen: object('9') },
    { says: 'an object older than the apply', seen: object('8') },
    { says: 'a version of no known order', seen: object('x') },
    { says: 'another object of that name', seen: object('10', 'u2') },
    { says: 'the same values', seen: object('10'), as: form({ vpc: '1' }) },
  ]
  for (const { says, seen, as = form({ vpc: '2' }) } of quiet) {
    test(`nothing: ${says}`, () => {
      const memory = createStatusMemory()
      memory.remember('a', object('9'), form({ vpc: '1' }), form({}))
      assert.deepEqual(memory.takenSince('a', seen, as), [])
    })
  }

  test('nothing is known of an object never written, forgotten, or of an earlier term', () => {
    const memory = createStatusMemory()
    assert.deepEqual(memory.takenSince('a', object('10'), form({ vpc: '2' })), [])
    memory.remember('a', object('9'), form({ vpc: '1' }), form({}))
    memory.forget('a')
    assert.deepEqual(memory.takenSince('a', object('10'), form({ vpc: '2' })), [])
    memory.remember('a', object('9'), form({ vpc: '1' }), form({}))
    memory.clear()
    assert.deepEqual(memory.takenSince('a', object('10'), form({ vpc: '2' })), [])
  })
})

describe('an apply without an answer', () => {
  const wanted = (vpc: string) => form({ vpc, ref: '1' })
  const remembered = () => {
    const memory = createStatusMemory()
    memory.remember('a', object('9'), form({ vpc: '0', ref: '1' }), form({}))
    return memory
  }

  test('may have landed: what it wanted is no theft, anything else is', () => {
    const memory = remembered()
    memory.unanswered('a', object('9'), wanted('1'))
    memory.unanswered('a', object('9'), wanted('2'))
    for (const vpc of ['1', '2']) assert.deepEqual(memory.takenSince('a', object('10'), wanted(vpc)), [])
    assert.deepEqual(memory.takenSince('a', object('10'), wanted('3')), ['vpc'])
    assert.deepEqual(memory.takenSince('a', object('10'), form({ vpc: '1', ref: '2' })), ['ref'])
  })

  test('of an earlier object of that name says nothing about this one', () => {
    const memory = createStatusMemory()
    memory.remember('a', object('9', 'u2'), wanted('0'), form({}))
    memory.unanswered('a', object('8', 'u1'), wanted('1'))
    assert.deepEqual(memory.takenSince('a', object('10', 'u2'), wanted('1')), ['vpc'])
  })

  test('is known, the last of them, to who writes next', () => {
    const memory = remembered()
    assert.equal(memory.lastUnanswered('a', object('9')), undefined)
    for (const vpc of ['1', '2', '3']) memory.unanswered('a', object('9'), wanted(vpc))
    assert.deepEqual(memory.lastUnanswered('a', object('9')), wanted('3'))
    assert.equal(memory.lastUnanswered('a', object('9', 'u2')), undefined)
  })

  test('is nothing any more once the object is forgotten, or in a new term', () => {
    const ends: ((memory: ReturnType<typeof remembered>) => void)[] = [(memory) => memory.forget('a'), (memory) => memory.clear()]
    for (const end of ends) {
      const memory = remembered()
      memory.unanswered('a', object('9'), wanted('1'))
      end(memory)
      assert.equal(memory.lastUnanswered('a', object('9')), undefined)
    }
  })

  test('is over with the next one that got its answer', () => {
    const memory = remembered()
    memory.unanswered('a', object('9'), wanted('1'))
    memory.remember('a', object('10'), wanted('0'), form({}))
    assert.deepEqual(memory.takenSince('a', object('11'), wanted('1')), ['vpc'])
  })

  test('B31: of many in a row the first is forgotten', () => {
    const memory = remembered()
    for (let n = 1; n <= 9; n += 1) memory.unanswered('a', object('9'), wanted(String(n)))
    assert.deepEqual(memory.takenSince('a', object('10'), wanted('1')), ['vpc'])
    for (let n = 2; n <= 9; n += 1) assert.deepEqual(memory.takenSince('a', object('10'), wanted(String(n))), [])
  })
})

describe('an intent that was applied to what stands', () => {
  const left = form({ seed: '1', vpc: '1' })
  const wanted = form({ vpc: '1' })
  const memory = createStatusMemory()
  memory.remember('a', object('9'), left, wanted)
  test('is known', () => assert.equal(memory.isApplied('a', object('9'), left, wanted), true))
  test('not when the intent changed', () => assert.equal(memory.isApplied('a', object('9'), left, form({ vpc: '2' })), false))
  test('not when what stands changed', () =>
    assert.equal(memory.isApplied('a', object('9'), form({ seed: '2', vpc: '1' }), wanted), false))
  test('not of another object', () => assert.equal(memory.isApplied('a', object('9', 'u2'), left, wanted), false))
  test('not of another key', () => assert.equal(memory.isApplied('b', object('9'), left, wanted), false))
  test('not when what stands was only accepted, whatever is wanted', () => {
    const stolen = createStatusMemory()
    stolen.remember('a', object('9'), form({}), form({}))
    stolen.accept('a', object('10'), form({ vpc: '2' }))
    assert.equal(stolen.isApplied('a', object('10'), form({ vpc: '2' }), form({})), false)
  })
})

test('B31: memory is bounded, the oldest goes first', () => {
  const memory = createStatusMemory(2)
  for (const key of ['a', 'b', 'a', 'c']) memory.remember(key, object('9'), form({ vpc: '1' }), form({}))
  const known = ['a', 'b', 'c'].filter((key) => memory.takenSince(key, object('10'), form({})).length > 0)
  assert.deepEqual(known, ['a', 'c'])
})
