import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chainOf, dependentWrites, oneByOne, timeOf, type Write } from './chain.ts'

const at = (ms: number) => `2026-01-01T00:00:00.${String(ms * 1000).padStart(6, '0')}Z`

function write(what: string, name: string, from: number, to: number): Write {
  const [verb = '', resource = '', subresource = ''] = what.split(/[ /]/)
  const times = { requestReceived: at(from), stageTimestamp: at(to) }
  return {
    verb,
    user: 'system:serviceaccount:x:nso',
    group: '',
    resource,
    subresource,
    namespace: 'ns',
    name,
    code: 200,
    fieldManager: 'm',
    ...times,
  }
}

const post = write('create claims', 'a', 0, 3)
const lease = write('create leases', 'ctx.1', 5, 8)
const early = write('patch claims/status', 'a', 10, 15)
const prepared = write('patch claims/status', 'a', 20, 25)
const nso = 'system:serviceaccount:x:nso'
const plane = 'system:serviceaccount:y:plane'
const by = (user: string, given: Write): Write => ({ ...given, user })

const table: { says: string; writes: Write[]; shownBy: number; roles: string[] | undefined }[] = [
  {
    says: 'the status that shows it ends the chain',
    writes: [post, lease, early, prepared],
    shownBy: 1,
    roles: ['post', 'chain', 'chain'],
  },
  {
    says: 'an earlier status that was answered before counts',
    writes: [post, lease, early, prepared],
    shownBy: 2,
    roles: ['post', 'chain', 'chain', 'chain'],
  },
  {
    says: 'a report may be seen before it is answered',
    writes: [post, by(plane, write('patch attachments/status', 'a', 16, 22)), prepared],
    shownBy: 1,
    roles: ['post', 'chain', 'chain'],
  },
  {
    says: 'what the node writes is waited for by nobody',
    writes: [post, by('node', write('create advertisements', 'x', 16, 18)), prepared],
    shownBy: 1,
    roles: ['post', 'beside', 'chain'],
  },
  {
    says: 'a write of the same process that was under way when the last one was sent is beside',
    writes: [prepared, write('patch nics/status', 'a', 19, 24), lease, post],
    shownBy: 1,
    roles: ['post', 'chain', 'beside', 'chain'],
  },
  {
    says: 'a later write is not part of it',
    writes: [post, lease, prepared, write('patch claims/status', 'a', 30, 34)],
    shownBy: 1,
    roles: ['post', 'chain', 'chain'],
  },
  { says: 'without its POST there is no chain', writes: [lease, prepared], shownBy: 1, roles: undefined },
  { says: 'without that status there is no chain', writes: [post, lease], shownBy: 1, roles: undefined },
]

for (const { says, writes, shownBy, roles } of table) {
  test(says, () => {
    const chain = chainOf(writes, { resource: 'claims', name: 'a', shownBy }, [nso, plane])
    assert.deepEqual(
      chain?.map(({ role }) => role),
      roles,
    )
    if (chain) assert.equal(dependentWrites(chain), roles?.filter((role) => role === 'chain').length)
  })
}

test('microseconds count', () => {
  assert.equal(timeOf('2026-01-01T00:00:00.001250Z') - timeOf('2026-01-01T00:00:00.000000Z'), 1.25)
})

test('claims that came one after the other are told apart by their POSTs', () => {
  const second = [write('create claims', 'b', 30, 33), write('create leases', 'ctx.2', 35, 36)]
  assert.deepEqual(oneByOne([...second, prepared, post, lease], 'claims'), [[post, lease, prepared], second])
})
