/** The recorder on a real API server: what it must find, and what it must leave alone. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Condition } from 'kube-control-loop'
import { showViolation } from 'kube-control-loop/testing'
import { type Bench, finalizer, mark, openSite, type Site } from './recorded-gizmo.ts'

let site: Site
before(async () => {
  site = await openSite()
})
after(() => site?.[Symbol.asyncDispose]())

const early = '2026-01-01T00:00:00Z'
const late = '2026-01-01T00:00:09Z'

const says = (type: string, status: string, reason: string, more: Partial<Condition> = {}): Partial<Condition> =>
  ({ type, status, reason, message: 'm', lastTransitionTime: early, observedGeneration: 1, ...more }) as Partial<Condition>

const ready = (more: Partial<Condition> = {}) => says('Ready', 'True', 'Done', more)
const sound = says('Sound', 'True', 'Sound')
const carried = (status = 'True', reason = 'Carried', time = early) =>
  says('Carried', status, reason, { lastTransitionTime: time })

const own = { phase: 'Up', note: 'n', conditions: [ready(), sound] }
const alice = (bench: Bench, status: Parameters<Bench['apply']>[2] = own, force = false) =>
  bench.apply('alice', 'alice-status', status, force)
const bob = (bench: Bench, condition = carried()) => bench.apply('bob', 'bob-status', { conditions: [condition] })

type Row = {
  says: string
  /** After both documented writers have written. */
  act(bench: Bench): Promise<unknown>
  /** Invariant and path of each violation, sorted. */
  want: readonly string[]
  /** Stands in one of them. */
  tells?: string
}

const takenFromAlice = ['OWN-1 status.phase', 'OWN-3 status.phase', 'OWN-4 status.phase']

const rows: readonly Row[] = [
  {
    says: 'writes of the documented writers, flips included',
    async act(bench) {
      await bob(bench, carried('False', 'Dropped', late))
      await alice(bench, {
        ...own,
        note: 'other',
        conditions: [says('Ready', 'False', 'Broken', { lastTransitionTime: late }), sound],
      })
      await bench.merge('bob', { metadata: { annotations: { [mark]: 'yes' } } })
    },
    want: [],
  },
  {
    says: 'a stranger who takes a field by force',
    act: (bench) => bench.apply('mallory', 'intruder', { phase: 'Down' }, true),
    want: takenFromAlice,
    tells: 'mallory as "intruder" (patch gizmos/status); only alice as "alice-status" may',
  },
  {
    says: 'a stranger who writes the same value and so owns it too',
    act: (bench) => bench.apply('mallory', 'intruder', { phase: 'Up' }),
    want: ['OWN-1 status.phase'],
    tells: 'owned by "intruder" (Apply on status) since mallory as "intruder"',
  },
  {
    says: 'a stranger who borrows the manager name',
    act: (bench) => bench.apply('mallory', 'alice-status', { ...own, phase: 'Down' }),
    want: ['OWN-3 status.phase'],
    tells: 'by mallory as "alice-status" (patch gizmos/status); only alice',
  },
  {
    says: 'one documented writer on the condition of the other',
    act: (bench) => bench.apply('bob', 'bob-status', { conditions: [carried(), says('Ready', 'True', 'Done')] }),
    want: ['OWN-1 status.conditions/Ready'],
  },
  {
    says: 'the right user under another manager',
    act: (bench) => bench.apply('alice', 'kubectl', { phase: 'Down' }, true),
    want: ['OWN-1 status.phase', 'OWN-2 status.phase', 'OWN-4 status.phase'],
  },
  {
    says: 'the right user and manager, by update instead of apply',
    act: (bench) => bench.merge('alice', { status: { phase: 'Down' } }, 'status'),
    want: ['OWN-1 status.phase', 'OWN-2 status.phase', 'OWN-4 status.phase'],
  },
  {
    says: 'a whole object put on /status without a condition',
    act: (bench) =>
      bench.put(
        'mallory',
        (object) => ({
          ...object,
          status: { ...object.status, conditions: object.status?.conditions?.filter(({ type }) => type !== 'Carried') },
        }),
        'status',
      ),
    want: ['COND-6 status.conditions/Carried', 'OWN-3 status.conditions/Carried'],
    tells: 'taken away; by mallory',
  },
  {
    says: 'all ownership wiped through the main resource',
    act: (bench) => bench.put('mallory', (object) => ({ ...object, metadata: { ...object.metadata, managedFields: [{}] } })),
    want: [
      'OWN-4 status.conditions/Carried',
      'OWN-4 status.conditions/Ready',
      'OWN-4 status.conditions/Sound',
      'OWN-4 status.note',
      'OWN-4 status.phase',
    ],
    tells: 'since mallory',
  },
  {
    says: 'an empty status put by a stranger',
    act: (bench) => bench.put('mallory', ({ status: _, ...object }) => object, 'status'),
    want: [
      'COND-5 status.conditions/Carried',
      'COND-5 status.conditions/Ready',
      'COND-6 status.conditions/Sound',
      'OWN-1 status.conditions/Carried',
      'OWN-1 status.conditions/Ready',
      'OWN-3 status.conditions/Carried',
      'OWN-3 status.conditions/Ready',
      'OWN-3 status.conditions/Sound',
      'OWN-3 status.note',
      'OWN-3 status.phase',
    ],
  },
  {
    says: 'a field that nobody may write',
    act: (bench) => bench.apply('alice', 'alice-status', { ...own, later: 'now' }),
    want: ['OWN-5 status.later'],
    tells: 'nobody knows it',
  },
  {
    says: 'an annotation of another writer, and the spec',
    act: (bench) => bench.merge('mallory', { metadata: { annotations: { [mark]: 'x' } }, spec: { a: 1 } }),
    want: [`OWN-6 metadata.annotations/${mark}`, 'OWN-6 spec'],
    tells: 'changed by mallory',
  },
  {
    says: 'a finalizer taken away from one that stays',
    act: (bench) => bench.merge('mallory', { metadata: { finalizers: null } }),
    want: [`OWN-6 metadata.finalizers/${finalizer}`],
  },
  {
    says: 'a finalizer taken away from one that goes',
    async act(bench) {
      await bench.remove()
      await bench.merge('mallory', { metadata: { finalizers: null } })
    },
    want: [`OWN-6 metadata.finalizers/${finalizer}`],
  },
  {
    says: 'a finalizer taken away by its owner',
    async act(bench) {
      await bench.remove()
      await bench.merge('alice', { metadata: { finalizers: null } }, undefined, 'alice-status')
    },
    want: [],
  },
  {
    says: 'a finalizer taken away by the right user under another manager',
    act: (bench) => bench.merge('alice', { metadata: { finalizers: null } }, undefined, 'kubectl'),
    want: [`OWN-6 metadata.finalizers/${finalizer}`],
    tells: 'changed by alice as "kubectl" (patch gizmos); only alice as "alice-status" may',
  },
  {
    says: 'a condition without observedGeneration',
    act: (bench) => {
      const { observedGeneration: _, ...rest } = ready({ message: 'new' })
      return alice(bench, { ...own, conditions: [rest, sound] })
    },
    want: ['COND-4 status.conditions/Ready'],
    tells: 'no observedGeneration; by alice',
  },
  {
    says: 'a condition of a generation to come',
    act: (bench) => alice(bench, { ...own, conditions: [ready({ observedGeneration: 9 }), sound] }),
    want: ['COND-4 status.conditions/Ready'],
    tells: 'observedGeneration 9, the object is at 1',
  },
  {
    says: 'a condition that goes back a generation',
    act: (bench) => alice(bench, { ...own, conditions: [ready({ observedGeneration: 0 }), sound] }),
    want: ['COND-4 status.conditions/Ready'],
    tells: 'from 1 back to 0',
  },
  {
    says: 'a reason that is not listed for its status',
    act: (bench) => alice(bench, { ...own, conditions: [ready({ reason: 'Broken' }), sound] }),
    want: ['COND-3 status.conditions/Ready'],
  },
  {
    says: 'a type that is not declared',
    act: (bench) => alice(bench, { ...own, conditions: [ready(), sound, says('Strange', 'True', 'Done')] }),
    want: ['COND-2 status.conditions/Strange'],
  },
  {
    says: 'a transition time that moves without a flip',
    act: (bench) => alice(bench, { ...own, conditions: [ready({ lastTransitionTime: late }), sound] }),
    want: ['COND-5 status.conditions/Ready'],
    tells: `moved from ${early} to ${late} while True stayed; by alice`,
  },
  {
    says: 'a transition time that goes back at a flip',
    act: (bench) =>
      alice(bench, {
        ...own,
        conditions: [says('Ready', 'False', 'Broken', { lastTransitionTime: '2025-01-01T00:00:00Z' }), sound],
      }),
    want: ['COND-5 status.conditions/Ready'],
  },
  {
    says: 'a transition time that is no whole second',
    act: (bench) =>
      alice(bench, {
        ...own,
        conditions: [ready({ lastTransitionTime: '2026-01-01T00:00:00.5Z' }), sound],
      }),
    want: ['COND-1 status.conditions/Ready', 'COND-5 status.conditions/Ready'],
  },
  {
    says: 'a condition that its owner leaves out',
    act: (bench) => alice(bench, { ...own, conditions: [ready()] }),
    want: ['COND-6 status.conditions/Sound'],
  },
  {
    says: 'what was wrong for a moment and is healed',
    async act(bench) {
      await bench.apply('mallory', 'alice-status', { ...own, phase: 'Down' })
      await alice(bench)
    },
    want: ['OWN-3 status.phase'],
  },
  {
    says: 'what was wrong for a moment on an object that is gone',
    async act(bench) {
      await bench.apply('mallory', 'intruder', { phase: 'Down' }, true)
      await alice(bench, own, true)
      await bench.merge('alice', { metadata: { finalizers: null } }, undefined, 'alice-status')
      await bench.remove()
    },
    want: takenFromAlice,
  },
]

for (const { says: title, act, want, tells } of rows)
  test(`${want.length > 0 ? 'finds' : 'leaves alone'}: ${title}`, async () => {
    const bench = await site.open()
    await bench.create({ finalizers: [finalizer] })
    await alice(bench)
    await bob(bench)
    assert.deepEqual(await bench.recorder.violations(), [])
    await act(bench)
    const found = await bench.recorder.violations()
    assert.deepEqual(found.map(({ invariant, path }) => `${invariant} ${path}`).sort(), want)
    const shown = found.map(showViolation)
    for (const line of shown) assert.match(line, new RegExp(`^[A-Z]+-\\d Gizmo ${bench.namespace}/web @\\d+`))
    if (tells) assert.ok(shown.join('\n').includes(tells), shown.join('\n'))
    await assertDisposal(bench, want.length > 0 ? /violations\n {2}[A-Z]+-\d Gizmo/ : undefined)
  })

async function assertDisposal(bench: Bench, error: RegExp | undefined): Promise<void> {
  const disposal = async () => bench[Symbol.asyncDispose]()
  if (error) await assert.rejects(disposal, error)
  else await disposal()
}

test('what a test announces is no violation, and what it announces must happen', async () => {
  const bench = await site.open()
  await bench.create()
  await alice(bench)
  await bench.apply('mallory', 'intruder', { phase: 'Down' }, true)
  const common = { kind: 'Gizmo', namespace: bench.namespace, name: 'web', why: 'the test plays an intruder' }
  bench.recorder.expect({ ...common, path: 'status.phase' })
  assert.deepEqual(await bench.recorder.violations(), [])
  bench.recorder.expect({ ...common, path: 'status.note' })
  bench.recorder.expect({ ...common, path: 'spec', maybe: true })
  const [missing, ...others] = await bench.recorder.violations()
  assert.deepEqual([missing?.invariant, missing?.path, others], ['REC-3', 'status.note', []])
})

test('what is announced for one object or path covers no other', async () => {
  const bench = await site.open()
  await bench.create()
  await alice(bench)
  const common = { kind: 'Gizmo', why: 'the test plays an intruder', maybe: true }
  bench.recorder.expect({ ...common, namespace: bench.namespace, name: 'other', path: 'status' })
  bench.recorder.expect({ ...common, namespace: 'elsewhere', path: 'status' })
  bench.recorder.expect({ ...common, namespace: bench.namespace, path: 'status.phas' })
  await bench.apply('mallory', 'intruder', { phase: 'Up' })
  assert.equal((await bench.recorder.violations()).length, 1)
  bench.recorder.expect({ ...common, namespace: bench.namespace, path: 'status' })
  assert.deepEqual(await bench.recorder.violations(), [])
})

test('a recorder that saw nothing proves nothing', async () => {
  const bench = await site.open()
  assert.deepEqual(
    (await bench.recorder.violations()).map(({ invariant }) => invariant),
    ['REC-1'],
  )
})
