import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { createContention } from './contention.ts'
import type { KubeObject } from './kind.ts'
import { createManualClock } from './manual-clock.ts'

const widget = (name: string, uid = 'u1'): KubeObject => ({
  apiVersion: 'example.dev/v1',
  kind: 'Widget',
  metadata: { name, uid },
  spec: {},
})
const a = widget('a')

function bed(options: { limit?: number } = {}) {
  const clock = createManualClock()
  const contention = createContention({ clock, ...options })
  const notice = (object: KubeObject) => contention.isNews(object, 'vpc', 'x')
  return { clock, contention, notice }
}

describe('an episode', () => {
  test('has one word for each path and manager, until nobody else wrote for 30 s', async () => {
    const { clock, contention, notice } = bed()
    const isNews = (path: string, manager: string, of = a) => contention.isNews(of, path, manager)
    assert.deepEqual([isNews('vpc', 'x'), isNews('vpc', 'x'), isNews('vpc', 'y'), isNews('ref', 'x')], [true, false, true, true])
    assert.equal(isNews('vpc', 'x', widget('b')), true)
    await clock.advance(29_999)
    notice(a)
    await clock.advance(29_999)
    assert.equal(isNews('vpc', 'x'), false, 'it lasts as long as others write')
    await clock.advance(30_000)
    assert.equal(isNews('vpc', 'x'), true)
  })

  test('does not go on at another object of that name', () => {
    const { contention } = bed()
    for (let n = 0; n < 9; n += 1) contention.round(a)
    contention.isNews(a, 'vpc', 'x')
    assert.equal(contention.heldBackMs(widget('a', 'u2')), 0)
    assert.equal(contention.isNews(widget('a', 'u2'), 'vpc', 'x'), true)
  })

  test('who left no trace is no news where someone was named; the other way round it is', () => {
    const { contention } = bed()
    assert.equal(contention.isNews(a, 'vpc', 'x'), true)
    assert.equal(contention.isNews(a, 'vpc', 'unknown'), false)
    assert.equal(contention.isNews(a, 'ref', 'unknown'), true)
    assert.equal(contention.isNews(a, 'ref', 'unknown'), false)
    assert.equal(contention.isNews(a, 'ref', 'x'), true)
  })

  test('B53: a writer that takes a new name each time is told 32 times', () => {
    const { contention } = bed()
    const told = Array.from({ length: 100 }, (_, n) => contention.isNews(a, 'vpc', `made-up-${n}`)).filter(Boolean)
    assert.equal(told.length, 32)
  })

  test('is forgotten with its object, and all are in a new term', () => {
    const { contention } = bed()
    contention.isNews(a, 'vpc', 'x')
    contention.forget('a')
    assert.deepEqual([contention.size, contention.isNews(a, 'vpc', 'x')], [0, true])
    contention.isNews(widget('b'), 'vpc', 'x')
    contention.clear()
    assert.deepEqual([contention.size, contention.isNews(a, 'vpc', 'x')], [0, true])
  })
})

describe('rounds', () => {
  test('the first three are free, then each waits twice as long, up to 600 ms', async () => {
    const { clock, contention } = bed()
    const waits: number[] = []
    for (let round = 0; round < 9; round += 1) {
      contention.round(a)
      const wait = contention.heldBackMs(a)
      waits.push(wait)
      await clock.advance(wait)
      assert.equal(contention.heldBackMs(a), 0)
    }
    assert.deepEqual(waits, [0, 0, 50, 100, 200, 400, 600, 600, 600])
  })

  test('waiting is counted from the last own write, whatever others do meanwhile', async () => {
    const { clock, contention, notice } = bed()
    for (let round = 0; round < 9; round += 1) contention.round(a)
    const left: number[] = []
    for (let n = 0; n < 6; n += 1) {
      await clock.advance(100)
      notice(a)
      left.push(contention.heldBackMs(a))
    }
    assert.deepEqual(left, [500, 400, 300, 200, 100, 0])
  })

  test('nobody waits where nobody fights, nor for a fight elsewhere, nor for one that is over', async () => {
    const { clock, contention } = bed()
    assert.equal(contention.heldBackMs(a), 0)
    for (let round = 0; round < 4; round += 1) contention.round(widget('b'))
    assert.equal(contention.heldBackMs(a), 0)
    await clock.advance(30_000)
    contention.round(widget('b'))
    assert.equal(contention.heldBackMs(widget('b')), 0, 'rounds begin anew')
  })
})

describe('B31: memory', () => {
  test('is bounded: the one that is quiet for longest goes first', () => {
    const { contention } = bed({ limit: 2 })
    for (const name of ['a', 'b', 'a', 'c']) contention.isNews(widget(name), 'vpc', 'x')
    assert.equal(contention.size, 2)
    assert.deepEqual(
      ['a', 'c', 'b'].map((name) => contention.isNews(widget(name), 'vpc', 'x')),
      [false, false, true],
    )
  })

  test('holds no episode that is over once there is a new one', async () => {
    const { clock, contention, notice } = bed()
    for (const name of ['a', 'b', 'c']) notice(widget(name))
    await clock.advance(20_000)
    notice(widget('b'))
    await clock.advance(10_000)
    notice(widget('d'))
    assert.equal(contention.size, 2)
  })
})

test('whatever others do, own writes are few, and the last one follows theirs within 600 ms', async () => {
  // Gaps between the others' writes, in ms.
  const gaps = fc.array(fc.oneof(fc.nat({ max: 30 }), fc.nat({ max: 300 }), fc.nat({ max: 5_000 })), {
    minLength: 1,
    maxLength: 120,
  })
  await fc.assert(
    fc.asyncProperty(gaps, async (script) => {
      const { clock, contention, notice } = bed()
      const theirs: number[] = []
      const own: number[] = []
      let cancel = () => {}
      /** What the loop does with a key whose status is not as it should be. */
      const pass = () => {
        cancel()
        notice(a)
        const wait = contention.heldBackMs(a)
        if (wait > 0) {
          cancel = clock.after(wait, pass)
          return
        }
        contention.round(a)
        own.push(clock.monotonic())
      }
      for (const gap of script) {
        await clock.advance(gap)
        theirs.push(clock.monotonic())
        pass()
      }
      await clock.advance(600)
      const last = own.at(-1) ?? -1
      const lastTheirs = theirs.at(-1) ?? 0
      assert.ok(last >= lastTheirs && last - lastTheirs <= 600, `${lastTheirs} was answered at ${last}`)
      assert.ok(own.length <= theirs.length)
      for (const [at, begin] of own.entries()) {
        const inWindow = own.slice(at).filter((each) => each < begin + 1_200).length
        // Three at once, four while the delay grows, then one each 600 ms.
        assert.ok(inWindow <= 8, `${inWindow} writes within 1.2 s`)
        if (at >= 7) assert.ok(inWindow <= 2, `${inWindow} writes within 1.2 s, late in a fight`)
      }
    }),
    { numRuns: 60 },
  )
})
