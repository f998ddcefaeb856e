import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { DataPlane } from '@nso/api'
import { anInterface } from '../../test/objects.ts'
import { isKnownContract, type Needs, needsOf, shortfall } from './capabilities.ts'

type Capabilities = DataPlane['spec']['capabilities']

const offering = (capabilities: Capabilities, contract?: string) => ({
  ref: { name: 'toy', uid: 'p-1' },
  object: {
    metadata: { name: 'toy' },
    spec: { ...(capabilities ? { capabilities } : {}), ...(contract ? { contract } : {}) },
  } as DataPlane,
})

describe('a data plane', () => {
  const table: { says: string; offers: Capabilities; needs: Needs; want: string | undefined }[] = [
    {
      says: 'that declares nothing offers all',
      offers: undefined,
      needs: { mode: 'Hypervisor', families: ['IPv4', 'IPv6'] },
      want: undefined,
    },
    {
      says: 'offers what it lists',
      offers: { attachmentModes: ['Netns', 'Hypervisor'], addressFamilies: ['IPv6'] },
      needs: { mode: 'Hypervisor', families: ['IPv6'] },
      want: undefined,
    },
    {
      says: 'without the mode says what it offers instead',
      offers: { attachmentModes: ['Netns', 'HypervisorDeclared'], addressFamilies: ['IPv6'] },
      needs: { mode: 'Hypervisor', families: ['IPv4'] },
      want: 'AttachmentModeNotSupported: DataPlane toy does not offer attachment mode Hypervisor; it offers Netns, HypervisorDeclared: ask for another mode with a new claim, or serve the location with another data plane.',
    },
    {
      says: 'without a family says what it carries',
      offers: { addressFamilies: ['IPv6'] },
      needs: { mode: 'Netns', families: ['IPv6', 'IPv4'] },
      want: 'AddressFamilyNotSupported: DataPlane toy does not carry IPv4; it carries IPv6: ask for another family with a new claim, or serve the location with another data plane.',
    },
    {
      says: 'of some modes carries all families',
      offers: { attachmentModes: ['Netns'] },
      needs: { mode: 'Netns', families: ['IPv4'] },
      want: undefined,
    },
    {
      says: 'is asked for no mode where none is wanted',
      offers: { attachmentModes: ['Netns'] },
      needs: { mode: undefined, families: [] },
      want: undefined,
    },
  ]
  for (const { says, offers, needs, want } of table) {
    test(says, () => {
      const found = shortfall(offering(offers), needs)
      assert.equal(found && `${found.reason}: ${found.message}`, want)
    })
  }

  test('follows a contract that this NSO knows, or was stored before there was one', () => {
    const known = (contract?: string) => isKnownContract(offering(undefined, contract).object)
    assert.deepEqual([known('v1'), known(), known('v2')], [true, true, false])
    assert.equal(isKnownContract({ metadata: { name: 'odd' } } as DataPlane), true)
  })

  test('an older schema let in declares nothing', () => {
    const odd = { ref: { name: 'odd', uid: 'p' }, object: { metadata: { name: 'odd' } } as DataPlane }
    assert.equal(shortfall(odd, { mode: 'Netns', families: ['IPv4'] }), undefined)
  })
})

test('an interface needs its mode, and each family of its addresses once', () => {
  const v6 = { family: 'IPv6', address: 'fd20::/96', primary: true } as const
  const nic = anInterface({ spec: { attachmentMode: 'Hypervisor', addresses: [v6, { ...v6, address: 'fd21::/96' }] } })
  assert.deepEqual(needsOf(nic), { mode: 'Hypervisor', families: ['IPv6'] })
  const { addresses: _, ...bare } = nic.spec
  assert.deepEqual(needsOf({ ...nic, spec: bare as typeof nic.spec }).families, [])
})
