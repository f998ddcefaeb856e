import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Registry } from 'prom-client'
import { aClaim, anInterface } from '../../../test/objects.ts'
import { createLosses } from './losses.ts'

const address = 'fd20:0:0:1::1:0:0/96'

async function counted(registry: Registry): Promise<number> {
  const [value] = (await registry.getSingleMetric('nso_network_interface_missing_allocations_total')?.get())?.values ?? []
  return value?.value ?? 0
}

function told(message: string) {
  const allocated = { type: 'Allocated', status: 'False', reason: 'AddressAllocationMissing', message } as const
  return anInterface({ status: { conditions: [{ ...allocated, lastTransitionTime: '2026-01-01T00:00:00Z' }] } })
}

test('an address that goes missing counts once, and again after it was back', async () => {
  const registry = new Registry()
  const losses = createLosses(registry)
  const nic = anInterface()
  for (const missing of [[address], [address], [], [address]]) losses.looking(nic)('alpha', missing)
  assert.equal(await counted(registry), 2)
})

test('each address of an interface counts for itself', async () => {
  const registry = new Registry()
  const losses = createLosses(registry)
  losses.looking(anInterface())('alpha', [address])
  losses.looking(anInterface())('alpha', [address, '10.0.0.5/32'])
  assert.equal(await counted(registry), 2)
})

test('what an earlier process has told is not counted by the next', async () => {
  const registry = new Registry()
  createLosses(registry).looking(told(`Address ${address} is not held any more`))('alpha', [address])
  assert.equal(await counted(registry), 0)
  const later = new Registry()
  createLosses(later).looking(told('Address 10.0.0.5/32 is not held any more'))('alpha', [address])
  assert.equal(await counted(later), 1, 'it told of another address')
})

test('an interface that is made again under the name is another one', async () => {
  const registry = new Registry()
  const losses = createLosses(registry)
  losses.looking(anInterface())('alpha', [address])
  losses.forget('default/web-0')
  losses.looking(anInterface())('alpha', [address])
  assert.equal(await counted(registry), 2)
})

test('an answer that comes after that of a later look counts nothing, and hides nothing', async () => {
  const registry = new Registry()
  const losses = createLosses(registry)
  const nic = anInterface()
  losses.looking(nic)('alpha', [address])
  const slow = losses.looking(nic)
  losses.looking(nic)('alpha', [])
  slow('alpha', [address])
  assert.equal(await counted(registry), 1)
  losses.looking(nic)('alpha', [address])
  assert.equal(await counted(registry), 2)
})

test('what an earlier process has told in the claim only is not counted by the next, and what another condition says is no loss', async () => {
  const claim = (type: 'Allocated' | 'Ready', reason: string) => {
    const said = { type, status: 'False', reason, message: `Address ${address} is not held any more` } as const
    return aClaim({ status: { conditions: [{ ...said, lastTransitionTime: '2026-01-01T00:00:00Z' }] } })
  }
  const registry = new Registry()
  const losses = createLosses(registry)
  losses.looking(anInterface(), claim('Allocated', 'AddressAllocationMissing'))('alpha', [address])
  assert.equal(await counted(registry), 0)
  losses.forget('default/web-0')
  losses.looking(anInterface(), claim('Ready', 'NotAllocated'))('beta', [address])
  const { values } = (await registry.getSingleMetric('nso_network_interface_missing_allocations_total')?.get()) ?? { values: [] }
  assert.deepEqual(
    values.map(({ labels, value }) => [labels, value]),
    [[{ project: 'beta' }, 1]],
  )
})
