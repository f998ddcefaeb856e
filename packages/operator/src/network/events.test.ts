import assert from 'node:assert/strict'
import { test } from 'node:test'
import { transitionOf } from './events.ts'

const condition = (text: string) => {
  const [type = '', status = '', reason = ''] = text.split(' ')
  return { type, status: status as 'True' | 'False' | 'Unknown', reason, message: `${reason} is why` }
}

const refused = ['IPAMAllocated False RangeUnsupported', 'Ready False RangeUnsupported']
const stands = ['IPAMAllocated True Allocated', 'Ready True Ready']
const waits = ['IPAMAllocated Unknown Pending', 'Ready Unknown Pending']
const subnet = ['Allocated True PrefixAllocated', 'Ready False NotProgrammed']

const table: { says: string; before: string[]; now: string[]; want: string | undefined }[] = [
  { says: 'is none when all is well from the start', before: [], now: stands, want: undefined },
  { says: 'tells a refusal', before: [], now: refused, want: 'Warning RangeUnsupported' },
  { says: 'tells that not again', before: refused, now: refused, want: undefined },
  {
    says: 'tells another refusal',
    before: refused,
    now: ['IPAMAllocated False AddressPoolExhausted', 'Ready False AddressPoolExhausted'],
    want: 'Warning AddressPoolExhausted',
  },
  { says: 'tells that it is over', before: refused, now: stands, want: 'Normal Allocated' },
  { says: 'is none of what is waited for', before: stands, now: waits, want: undefined },
  {
    says: 'tells what Ready alone says',
    before: stands,
    now: [...stands.slice(0, 1), 'Ready False AllocationFailed'],
    want: 'Warning AllocationFailed',
  },
  { says: 'is none of a Subnet that no router reports', before: [], now: subnet, want: undefined },
  {
    says: 'names the cause of a refused Subnet',
    before: subnet,
    now: ['Allocated False RangeUnsupported', 'Ready False NotAllocated'],
    want: 'Warning RangeUnsupported',
  },
  {
    says: 'tells that a Subnet has its range after all',
    before: ['Allocated False RangeUnsupported', 'Ready False NotAllocated'],
    now: subnet,
    want: 'Normal PrefixAllocated',
  },
]

for (const { says, before, now, want } of table) {
  test(`an event of a network, context or Subnet ${says}`, () => {
    const event = transitionOf(before.map(condition), now.map(condition), 'AllocateRange')
    assert.equal(event && `${event.type} ${event.reason}`, want)
    if (event) assert.equal(event.message, `${event.reason} is why`)
  })
}
