import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createInterests, topics } from './interests.ts'

const room = topics.room('pool')
const woken = ({ claims, interfaces }: { claims: Iterable<string>; interfaces: Iterable<string> }) => [...claims, ...interfaces]

test('who waits longest for room is the first to try, also after it has said so again', () => {
  const interests = createInterests()
  interests.set('claim ns/a', [room])
  interests.set('claim ns/b', [room])
  interests.set('claim ns/a', [room, topics.later])
  interests.set('claim ns/a', [room])
  assert.deepEqual(woken(interests.of(room, 1)), ['ns/a'])
  assert.deepEqual(woken(interests.of(topics.later)), [])
  interests.drop('claim ns/a')
  assert.deepEqual(woken(interests.of(room, 1)), ['ns/b'])
})

test('what one waits for replaces what it waited for, and nothing is left of who is gone', () => {
  const interests = createInterests()
  interests.set('interface ns/a', [topics.service, topics.namespace('ns')])
  interests.set('interface ns/a', [topics.namespace('ns')])
  assert.deepEqual(woken(interests.of(topics.service)), [])
  assert.deepEqual(woken(interests.of(topics.namespace('ns'))), ['ns/a'])
  interests.drop('interface ns/a')
  assert.equal(interests.of(topics.namespace('ns')).size, 0)
  assert.equal(interests.size, 0)
})

test('what is told between the read of a pass and its word is not lost on it', () => {
  const interests = createInterests()
  interests.of(room)
  {
    using look = interests.look()
    assert.ok(!look.missed([room]), 'it was told before')
    interests.of(room)
    assert.ok(look.missed([topics.service, room]))
    assert.ok(!look.missed([topics.service]))
    look.doing([room, topics.service])
    interests.of(topics.service)
    assert.ok(!look.missed([topics.service]), 'it was told of what the pass did itself')
    assert.ok(look.missed([room]), 'others had told of it before')
    look.made([room])
    assert.ok(!look.missed([room]))
    using later = interests.look()
    assert.ok(!later.missed([room]))
  }
})

test('claims and interfaces of one name are told apart', () => {
  const interests = createInterests()
  interests.set('claim ns/a', [topics.service])
  interests.set('interface ns/a', [topics.service])
  assert.deepEqual(interests.of(topics.service), { claims: ['ns/a'], interfaces: ['ns/a'], size: 2 })
})
