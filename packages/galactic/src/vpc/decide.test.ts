import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Decision, decide, type SeenVpc } from './decide.ts'

const fresh: SeenVpc = { deleting: false, hasFinalizer: true, id: undefined, inUse: false }

const table: { says: string; given: SeenVpc; want: Decision }[] = [
  { says: 'a new VPC gets an identifier', given: fresh, want: { do: 'identify' } },
  { says: 'an identifier stays', given: { ...fresh, id: 'jU' }, want: { do: 'keep', id: 'jU', held: false } },
  { says: 'deleting and unused: let go', given: { ...fresh, id: 'jU', deleting: true }, want: { do: 'release' } },
  {
    says: 'deleting and in use: held, and said',
    given: { ...fresh, id: 'jU', deleting: true, inUse: true },
    want: { do: 'keep', id: 'jU', held: true },
  },
  {
    says: 'deleting gets no identifier any more, and without one nothing holds it',
    given: { ...fresh, deleting: true },
    want: { do: 'release' },
  },
  {
    says: 'deleting without our finalizer is no longer ours',
    given: { ...fresh, id: 'jU', deleting: true, hasFinalizer: false },
    want: { do: 'nothing' },
  },
]

for (const { says, given, want } of table) test(says, () => assert.deepEqual(decide(given), want))
