import assert from 'node:assert/strict'
import { test } from 'node:test'
import { annotations, type NetworkInterface, type NetworkInterfaceClaim } from '@nso/api'
import { createCache, createClient, silentLogger } from 'kube-control-loop'
import { createManualClock, scriptTransport } from 'kube-control-loop/testing'
import { aClaim, anInterface } from '../../test/objects.ts'
import { type Caches, createCaches } from '../caches.ts'
import type { CompiledPlane, PlaneRef } from '../dataplane/types.ts'
import { byPlane as interfacesByPlane } from '../interface/wake.ts'
import { byPlane, unsupported } from './wake.ts'

/** Real caches that nobody follows: what stands in them is taken in by hand. */
function cachesWith(nics: readonly NetworkInterface[], claims: readonly NetworkInterfaceClaim[]): Caches {
  const parts = { clock: createManualClock(), jitter: () => 0 }
  const client = createClient(scriptTransport(), parts)
  const caches = createCaches((kind, options) => createCache(client, kind, options, { ...parts, log: silentLogger }))
  for (const nic of nics) caches.interfaces.absorb(nic)
  for (const claim of claims) caches.claims.absorb(claim)
  return caches
}

const nic = (name: string, choice?: string): NetworkInterface =>
  anInterface({
    metadata: { name, uid: `${name}-nic`, annotations: choice === undefined ? {} : { [annotations.dataPlane]: choice } },
    spec: { claimRef: { name: `claim-${name}` } },
  })

const rejected = (name: string, reason: string): NetworkInterfaceClaim =>
  aClaim({
    metadata: { name, uid: `${name}-claim` },
    status: {
      conditions: [
        { type: 'Ready', status: 'False', reason, message: '', lastTransitionTime: '2026-01-01T00:00:00Z' },
        { type: 'Bound', status: 'False', reason: 'Else', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' },
      ],
    },
  })

const planes = {
  find({ name, uid }: PlaneRef) {
    if (!['toy/p-1', 'other/p-2', 'going/p-3'].includes(`${name}/${uid}`)) return undefined
    const metadata = name === 'going' ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}
    const attachmentKind = { apiVersion: 'planes.example.dev/v1', kind: 'Wire' }
    return { object: { metadata }, attachmentKind, hindrance: 'not installed' } as unknown as CompiledPlane
  },
}

const attached = (given: NetworkInterface): NetworkInterface => ({
  ...given,
  status: { attachmentRef: { apiGroup: 'planes.example.dev', kind: 'Wire', name: given.metadata.name } },
})

test('a data plane that changes wakes whom it serves, if it matters to them, whom nobody serves, and who was turned away', () => {
  const nics = [
    nic('its', 'toy/p-1'),
    attached(nic('served', 'toy/p-1')),
    nic('earlier', 'toy/p-0'),
    nic('none'),
    nic('lost', 'gone/p-9'),
    nic('leaving', 'going/p-3'),
    attached(nic('staying', 'going/p-3')),
    nic('elsewhere', 'other/p-2'),
  ]
  const claims = [
    rejected('mode', 'AttachmentModeNotSupported'),
    rejected('family', 'AddressFamilyNotSupported'),
    rejected('network', 'NetworkMismatch'),
    aClaim({ metadata: { name: 'new', uid: 'new-claim' } }),
  ]
  const caches = cachesWith(nics, claims)
  const toy = { name: 'toy', uid: 'p-1' }
  const free = ['earlier', 'none', 'lost', 'leaving']
  for (const [servedToo, concerned] of [
    [true, ['its', 'served', ...free]],
    [false, free],
  ] as const) {
    const news = { ...toy, servedToo }
    assert.deepEqual(interfacesByPlane(caches, planes, news).toSorted(), concerned.map((name) => `default/${name}`).toSorted())
    assert.deepEqual(byPlane(caches, planes, news), new Set(concerned.map((name) => `default/claim-${name}`)))
  }
  assert.deepEqual(unsupported(caches), ['default/mode', 'default/family'])
})
