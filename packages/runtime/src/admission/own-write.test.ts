import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EnforcedKind, Pass, PathGroup } from './enforced.ts'
import { ownWrite } from './own-write.ts'

const kind = { group: 'g.dev', version: 'v1', kind: 'Widget', plural: 'widgets', scope: 'Namespaced' } as const
const pass = (manager: string, more: Partial<Pass> = {}): Pass => ({
  ...{ identity: 'app', managers: [manager, 'former'], anyManager: false },
  ...more,
})
const status = (id: string, paths: string[], ...passes: Pass[]): PathGroup => ({ id, on: 'status', paths, passes })
const metadata = (id: string, paths: string[], ...passes: Pass[]): PathGroup => ({ id, on: 'metadata', paths, passes })
const reserved = new Map([['app', ['painter', 'mixer']]])
const kindOf = (...groups: PathGroup[]): EnforcedKind => ({ kind, hasStatus: true, marked: undefined, groups })
const clauses = (...groups: PathGroup[]) => ownWrite(kindOf(...groups), reserved)?.split('\n|| ') ?? []

const user = `params.?data[?'app'].orValue('') == request.userInfo.username`
const by = (manager: string) => `request.?options.?fieldManager.orValue('') == '${manager}' && ${user}`
const onStatus = `request.?subResource.orValue('') == 'status'`
const creates = `request.operation == 'CREATE'`
const withoutStatus = `!object.?metadata.?managedFields.orValue([]).exists(e, e[?'fieldsV1'][?'f:status'].hasValue())`

const names = `in ['painter', 'mixer']`
const plain = `(request.operation == 'CREATE' && !(request.?options.?fieldManager.orValue('') ${names}) && !object.?metadata.?managedFields.orValue([]).exists(e, e[?'fieldsV1'][?'f:status'].hasValue() || e.?manager.orValue('') ${names}))`

test('a status that is all one writer’s is its own under the documented name, and under no former one', () => {
  assert.deepEqual(clauses(status('status1', ['phase', 'conditions/Ready'], pass('painter'))), [
    `(${onStatus} && ${by('painter')})`,
    plain,
  ])
})

test('anybody may make an object of which nothing but finalizers is enforced', () => {
  const finalizers = metadata('metadata1', ['metadata.finalizers/f', 'metadata.finalizers/g'], pass('painter'))
  assert.deepEqual(clauses(finalizers), [plain])
  assert.ok(!clauses(finalizers, metadata('metadata2', ['spec'], pass('painter'))).includes(plain))
  const together = metadata('metadata1', ['metadata.finalizers/f', 'spec'], pass('painter'))
  assert.deepEqual(clauses(together), [`(${creates} && ${by('painter')} && ${withoutStatus})`])
})

const mine = `!object.?metadata.?managedFields.orValue([]).exists(e, e.?manager.orValue('') == 'painter' &&`
const heldIsUntouched = [
  `['Held'].all(t, object.?status.?conditions.orValue([]).filter(c, c.?type.orValue('') == t) == oldObject.?status.?conditions.orValue([]).filter(c, c.?type.orValue('') == t))`,
  `${mine} ['k:{"type":"Held"}'].exists(k, k in e[?'fieldsV1'][?'f:status'][?'f:conditions'].orValue({})))`,
]
const glossIsUntouched = [
  `['gloss'].all(f, object.?status[?f] == oldObject.?status[?f])`,
  `${mine} ['f:gloss'].exists(k, k in e[?'fieldsV1'][?'f:status'].orValue({})))`,
]
const holder = pass('its own', { identity: 'holder', anyManager: true })
const painters = status('status1', ['phase'], pass('painter'))
const besides: { says: string; others: PathGroup[]; want: string[] }[] = [
  { says: 'a condition of another writer', others: [status('status2', ['conditions/Held'], holder)], want: heldIsUntouched },
  { says: 'a reserved field', others: [status('reserved', ['gloss'])], want: glossIsUntouched },
  {
    says: 'both in one group',
    others: [status('status2', ['gloss', 'conditions/Held'], holder)],
    want: [...glossIsUntouched, ...heldIsUntouched],
  },
  {
    says: 'what is outside the status, which such a write cannot reach',
    others: [metadata('metadata1', ['metadata.finalizers/f'], pass('mixer'))],
    want: [],
  },
]
for (const { says, others, want } of besides)
  test(`a status beside ${says} is the writer’s own as long as that is as it was and comes to nobody`, () => {
    assert.deepEqual(clauses(painters, ...others), [`(${[onStatus, by('painter'), ...want].join(' && ')})`, plain])
  })

test('an object is made by whoever writes all of it but finalizers, which may come with it', () => {
  const made = [
    metadata('metadata1', ['spec'], pass('mixer')),
    metadata('metadata2', ['metadata.annotations/a'], pass('mixer'), pass('painter')),
    metadata('metadata3', ['metadata.finalizers/f'], pass('painter')),
  ]
  assert.deepEqual(clauses(...made), [`(${creates} && ${by('mixer')} && ${withoutStatus})`])
  const [, shared] = made
  assert.deepEqual(clauses(...made, metadata('metadata4', ['metadata.labels'], pass('other'))), [])
  assert.deepEqual(shared && clauses(shared), [
    `(${creates} && ${by('mixer')} && ${withoutStatus})`,
    `(${creates} && ${by('painter')} && ${withoutStatus})`,
  ])
})

test('of another identity, or under a name of anybody’s choice, nothing is plainly the writer’s own', () => {
  const other = pass('mixer', { identity: 'other' })
  assert.deepEqual(clauses(metadata('metadata1', ['spec'], pass('mixer')), metadata('metadata2', ['metadata.labels'], other)), [])
  assert.deepEqual(clauses(status('status1', ['phase'], pass('its own', { anyManager: true }))), [plain])
  assert.deepEqual(clauses(metadata('metadata1', ['spec'], pass('its own', { anyManager: true }))), [])
})

test('where several identities have reserved names the policy always looks', () => {
  const two = new Map([...reserved, ['other', ['sander']]])
  assert.equal(ownWrite(kindOf(status('status1', ['phase'], pass('painter'))), two), undefined)
})
