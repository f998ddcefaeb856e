import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NetworkInterface } from '@nso/api'
import { aFreeInterface, anInterface } from '../../test/objects.ts'
import { eventFor } from './events.ts'

const bound = anInterface({ status: { phase: 'Bound' } })
const table: { says: string; nic: NetworkInterface; phase: 'Bound' | 'Available'; want: string | undefined }[] = [
  { says: 'is none of a new interface', nic: anInterface(), phase: 'Bound', want: undefined },
  { says: 'is none of one made by hand for no claim', nic: aFreeInterfaceOf(undefined), phase: 'Available', want: undefined },
  { says: 'is none of one that stays bound', nic: bound, phase: 'Bound', want: undefined },
  { says: 'is none while its attachment goes', nic: aFreeInterface({ phase: 'Bound' }), phase: 'Bound', want: undefined },
  { says: 'tells that it is released', nic: aFreeInterface({ phase: 'Bound' }), phase: 'Available', want: 'Normal Released' },
  { says: 'tells that not again', nic: aFreeInterface(), phase: 'Available', want: undefined },
  {
    says: 'tells that a claim has taken it',
    nic: anInterface({ status: { phase: 'Available' } }),
    phase: 'Bound',
    want: 'Normal Bound',
  },
]

function aFreeInterfaceOf(status: NetworkInterface['status']): NetworkInterface {
  const { status: _, ...rest } = aFreeInterface()
  return status ? { ...rest, status } : rest
}

for (const { says, nic, phase, want } of table) {
  test(`an event of an interface ${says}`, () => {
    const event = eventFor(nic, { phase })
    assert.equal(event && `${event.type} ${event.reason}`, want)
  })
}
