import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ownershipGaps } from 'kube-control-loop/testing'
import { claimConditions, conditionsByKind, interfaceConditions, rejectReasons } from './conditions.ts'
import { kinds } from './manifests.ts'
import { type ClaimStatusIntent, type InterfaceStatusIntent, ownership } from './ownership.ts'
import { managers, statusOwners } from './status-owners.ts'

test('B04: every status path of every kind has one documented writer or is reserved, and a list of several writers is merged by key', () => {
  const none = { kinds: [], undocumented: [], unknown: [], twice: [], unkeyed: [] }
  assert.deepEqual(ownershipGaps(kinds, ownership, conditionsByKind), none)
})

test('each status has a field manager of its own', () => {
  const writers = Object.values(statusOwners).map(({ writer }) => writer)
  assert.equal(new Set(writers).size, writers.length)
})

test('every documented manager of NSO is one of the constants', () => {
  const known = Object.values<string>(managers)
  const used = ownership.flatMap(({ status, metadata }) => [...status, ...metadata]).filter(({ identity }) => identity === 'nso')
  assert.deepEqual(
    used.map(({ writer }) => writer).filter((writer) => !known.includes(writer)),
    [],
  )
})

test('an intent with a field or condition of another owner does not compile', () => {
  const { Bound, Ready } = claimConditions
  const claim: ClaimStatusIntent = { networkInterfaceRef: { name: 'a' }, conditions: [Bound.yes('Bound', '', 1)] }
  // @ts-expect-error: phase belongs to the interface
  const foreignField: ClaimStatusIntent = { phase: 'Bound', conditions: [Ready.yes('Ready', '')] }
  // @ts-expect-error: Bound is a condition of the claim
  const foreignCondition: InterfaceStatusIntent = { phase: 'Bound', conditions: [Bound.yes('Bound', '')] }
  // @ts-expect-error: HolderAvailable belongs to the holder of the workload
  const holders: InterfaceStatusIntent = { conditions: [interfaceConditions.HolderAvailable.yes('Available', '')] }
  // @ts-expect-error: an intent without conditions would delete the seeded ones
  const bare: ClaimStatusIntent = { networkInterfaceRef: { name: 'a' } }
  assert.equal([claim, foreignField, foreignCondition, holders, bare].length, 5)
})

test('a rejected claim can say each reject reason on Bound, Allocated and Ready', () => {
  const { Bound, Allocated, Ready } = claimConditions
  for (const reason of rejectReasons)
    assert.ok(
      [Bound, Allocated, Ready].every((condition) => condition.lists('False', reason)),
      reason,
    )
})

test('Prepared is True for one reason only; a reason of the data plane may stand otherwise', () => {
  const { Prepared, Programmed } = claimConditions
  assert.equal(Prepared.lists('True', 'DeviceUp'), false)
  assert.equal(Prepared.lists('True', 'AttachmentReady'), true)
  assert.equal(Prepared.lists('False', 'DeviceBroken'), true)
  assert.equal(Programmed.lists('True', 'DeviceUp'), true)
  assert.equal(Programmed.lists('Unknown', 'not one word'), false)
})
