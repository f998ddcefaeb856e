import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { malformedIn } from './well-formed.ts'

const good = { type: 'Ready', status: 'True', reason: 'PortMade', message: 'stands', lastTransitionTime: '2030-01-01T00:00:00Z' }
const seed = { type: 'Programmed', status: 'Unknown', reason: 'Pending', message: '', lastTransitionTime: '1970-01-01T00:00:00Z' }

const table: { says: string; status: unknown; want: RegExp | undefined }[] = [
  { says: 'no status', status: undefined, want: undefined },
  { says: 'no conditions', status: { id: 'x' }, want: undefined },
  { says: 'a report and a default', status: { conditions: [good, seed] }, want: undefined },
  { says: 'a default without a reason', status: { conditions: [{ ...seed, reason: '' }] }, want: undefined },
  { says: 'conditions by name', status: { conditions: { Ready: good } }, want: /no list/ },
  { says: 'a type twice', status: { conditions: [good, good] }, want: /Ready is there more than once/ },
  { says: 'a status of its own', status: { conditions: [{ ...good, status: 'Yes' }] }, want: /the status "Yes"/ },
  { says: 'a status that is no text', status: { conditions: [{ ...good, status: true }] }, want: /the status true/ },
  {
    says: 'a sentence as the reason',
    status: { conditions: [{ ...good, reason: 'port made' }] },
    want: /the reason "port made"/,
  },
  { says: 'no reason', status: { conditions: [{ ...good, reason: undefined }] }, want: /the reason undefined/ },
  { says: 'no time', status: { conditions: [{ ...good, lastTransitionTime: undefined }] }, want: /the time undefined/ },
  { says: 'no type', status: { conditions: [{ ...good, type: undefined }] }, want: /no type/ },
  { says: 'a message that is a list', status: { conditions: [{ ...good, message: [] }] }, want: /message that is no text/ },
  { says: 'a report with the time of a default', status: { conditions: [{ ...seed, status: 'Maybe' }] }, want: /status "Maybe"/ },
]
for (const { says, status, want } of table) {
  test(`${says} is ${want ? 'told' : 'in order'}`, () => {
    const found = malformedIn(status).join('; ')
    if (want) assert.match(found, want)
    else assert.equal(found, '')
  })
}

test('whatever stands there, an answer comes', () => {
  fc.assert(fc.property(fc.anything(), (status) => Array.isArray(malformedIn(status))))
  fc.assert(fc.property(fc.array(fc.anything()), (conditions) => Array.isArray(malformedIn({ conditions }))))
})
