/** A data plane's kind whose converter is away, on the real API server: nothing is taken for gone, and all goes on when it is back. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { AddressLease, NetworkContext, NetworkInterface, NetworkInterfaceClaim, Subnet } from '@nso/api'
import { silentLogger } from 'kube-control-loop'
import { readAudit, tailAudit } from 'kube-localplane'
import { type Converter, eventually, startConverter } from 'kube-localplane/testing'
import {
  anyMap,
  planeCondition,
  readAt,
  ready,
  reportAt,
  wireAt,
  wireCrd,
  wirePath,
  wirePlane,
  wireRole,
} from './support/wires.ts'
import {
  aClaim,
  claimSays,
  create,
  find,
  gone,
  know,
  listed,
  type Running,
  remove,
  said,
  startWorld,
  type World,
} from './world.ts'

know(NetworkInterfaceClaim, NetworkContext, Subnet)

const nsoUser = 'system:serviceaccount:nso-system:nso'

let world: World
let nso: Running
let converter: Converter
let namespace: string

before(async () => {
  world = await startWorld()
  converter = await startConverter(world.plane, (object) =>
    (object.metadata as { name: string }).name === 'odd' && object.apiVersion === 'wires.example.dev/v2'
      ? { ...object, spec: ['of', 'an older time'], status: 'fine' }
      : object,
  )
  const open = { spec: { mtu: { type: 'integer' } }, status: anyMap }
  const versions = [
    { name: 'v1', ...open },
    { name: 'v2', ...open, storage: false },
  ]
  await world.plane.apply([
    wireRole,
    wireCrd({ kind: 'Old', versions, conversion: converter.conversion }),
    wirePlane('old', 'Old', { here: true, version: 'v2' }),
  ])
  nso = await world.startNso({ log: silentLogger })
  await planeCondition(world.plane, 'old', 'Permitted', 'True/Permitted')
  namespace = await world.place()
})
after(async () => {
  await world?.[Symbol.asyncDispose]()
  await converter?.[Symbol.asyncDispose]()
})

const path = (name: string, version = 'v1') => wirePath('olds', namespace, name, version)
const says = (name: string, type: string, what: string) => claimSays(world.client, namespace, name, type, what)
const attachments = () => nso.operator.planes.get('old')?.plane.attachments

async function serve(name: string): Promise<void> {
  // In the version that is stored, as whoever is older reads and writes it.
  const { metadata } = await wireAt(world.plane, path(name))
  await reportAt(world.plane, path(name), { conditions: [ready(metadata.generation)] })
  await says(name, 'Ready', 'True Ready')
}

test('B54: a converter that is away when NSO starts: nothing is taken for empty or taken back, and all goes on when it is back', async () => {
  for (const name of ['web', 'doomed']) await create(world.client, aClaim(namespace, name))
  for (const name of ['web', 'doomed']) await serve(name)
  const stood = await readAt(world.plane, path('web'))
  await nso.stop()
  converter.behave('fails')
  // Else the server would answer from its memory.
  await world.plane.restart()
  const from = await tailAudit(world.plane)
  nso = await world.startNso({ log: silentLogger })

  await create(world.client, aClaim(namespace, 'fresh'))
  await says('fresh', 'Bound', 'True Bound')
  await remove(world.client, NetworkInterfaceClaim, namespace, 'doomed')
  const asked = converter.asked
  await eventually('the server to ask the converter', () => converter.asked > asked, { timeoutMs: 60_000 })
  assert.equal(attachments()?.state, 'starting')
  assert.equal(said(await find(world.client, NetworkInterfaceClaim, namespace, 'web'), 'Ready'), 'True Ready')
  assert.notEqual(said(await find(world.client, NetworkInterfaceClaim, namespace, 'fresh'), 'Prepared'), 'True AttachmentReady')
  const leases = await listed(world.client, AddressLease, namespace)
  assert.deepEqual(leases.map(({ spec }) => spec.holder.claimName).sort(), ['doomed', 'fresh', 'web'])
  assert.ok(await find(world.client, NetworkInterface, namespace, 'doomed'), 'its attachment may stand')
  const to = await tailAudit(world.plane)
  const ours = (await readAudit(world.plane.auditLogPath ?? '', { from, to })).filter(
    ({ user, resource, stage }) => user === nsoUser && resource === 'olds' && stage === 'ResponseComplete',
  )
  assert.deepEqual(
    ours.filter(({ verb, code }) => !['get', 'list', 'watch'].includes(verb) && code < 400),
    [],
  )
  assert.equal((await readAt(world.plane, path('web')))?.metadata.uid, stood?.metadata.uid)

  converter.behave('converts')
  await eventually('the attachments to be followed', () => attachments()?.state === 'synced', { timeoutMs: 60_000 })
  await serve('fresh')
  await eventually(
    'the end of the removed one',
    async () => (await find(world.client, NetworkInterface, namespace, 'doomed')) === undefined,
    { timeoutMs: 60_000 },
  )
  await gone(world.client, NetworkInterfaceClaim, namespace, 'doomed')
  assert.equal(await readAt(world.plane, path('doomed')), undefined)
  assert.equal((await readAt(world.plane, path('web')))?.metadata.uid, stood?.metadata.uid)
  await says('web', 'Ready', 'True Ready')
})

test('B54: one stored attachment of an unknown shape is reported, and the others are served', async () => {
  await create(world.client, aClaim(namespace, 'odd'))
  const claim = await says('odd', 'Prepared', 'Unknown ContractViolation')
  const message = claim?.status?.conditions?.find(({ type }) => type === 'Prepared')?.message ?? ''
  assert.match(message, /^Old .*\/odd \(old\): status\.conditions is no list/)
  await create(world.client, aClaim(namespace, 'last'))
  await serve('last')
  await says('web', 'Ready', 'True Ready')
  await remove(world.client, NetworkInterfaceClaim, namespace, 'odd')
  await gone(world.client, NetworkInterfaceClaim, namespace, 'odd')
})
