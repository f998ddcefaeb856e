/** A dump may hold anything: every value of a good chain is replaced by every kind of junk, and an explanation comes out. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubeObject } from 'kube-control-loop'
import { snapshotOf, target, world } from '../../test/example-chain.ts'
import { isFields } from '../owners/stored.ts'
import { plain } from '../tree.ts'
import { explain } from './explain.ts'
import { renderExplanation } from './render.ts'
import type { Snapshot } from './snapshot.ts'
import { tidied } from './tidy.ts'

const junk: readonly unknown[] = [undefined, null, 7, 'x', [null], { a: {} }]

/** What makes an object an object of a dump. */
const kept = ['apiVersion', 'kind', 'metadata', 'metadata.name']

/** Calls `look` with each value replaced, and puts it back. */
function withEach(value: unknown, at: string, look: (place: string) => void): void {
  const entries = Array.isArray(value) ? value.entries() : isFields(value) ? Object.entries(value) : []
  for (const [key, inner] of [...entries]) {
    const place = at === '' ? String(key) : `${at}.${key}`
    const holder = value as Record<string | number, unknown>
    if (!kept.includes(place)) {
      for (const other of junk) {
        holder[key] = other
        if (other === undefined && !Array.isArray(value)) delete holder[key]
        look(`${place} = ${JSON.stringify(other)}`)
      }
      holder[key] = inner
    }
    withEach(inner, place, look)
  }
}

function explainedText(snapshot: Snapshot, kind: 'claim' | 'interface'): string {
  const explanation = explain(snapshot, { ...target, kind })
  return explanation ? renderExplanation(explanation, plain).join('\n') : 'not there'
}

for (const kind of ['claim', 'interface'] as const) {
  test(`an explanation of the ${kind} comes out whatever stands in the objects`, () => {
    const stored = structuredClone(Object.values(world()))
    const good = stored.flatMap((object) => tidied(object) ?? [])
    const read = (objects: KubeObject[]): Snapshot => ({ ...snapshotOf({}), origin: 'dump', objects })
    let looked = 0
    for (const [at, object] of stored.entries()) {
      withEach(object, '', (place) => {
        looked++
        try {
          const changed = tidied(object)
          assert.notEqual(explainedText(read(changed ? good.with(at, changed) : good), kind), '')
        } catch (cause) {
          throw new Error(`${object.kind} with ${place}`, { cause })
        }
      })
    }
    assert.ok(looked > 1000)
    assert.deepEqual(stored, Object.values(world()), 'everything was put back')
  })
}
