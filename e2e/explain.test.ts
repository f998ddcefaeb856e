/**
 * `nso explain` and `nso owners` on the real thing: one failure after the other is brought about on a control plane with NSO and
 * Galactic, explained live and from a dump (both say the same), and held against a golden file.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerOwners } from '@nso/cli/owners'
import type { ApiRequest, KubeObject, Transport } from 'kube-control-loop'
import { explained } from './support/explained.ts'
import { claimOf, kindOf, location, said, startWorld, type World } from './support/explained-world.ts'
import { shown } from './support/shown.ts'

const claims = kindOf('NetworkInterfaceClaim')
const attachments = kindOf('VPCAttachment')
const interfaces = kindOf('NetworkInterface')

const isAvailable = ({ status }: KubeObject) => (status as { phase?: string } | undefined)?.phase === 'Available'

/** The first refusal of writes to VPC statuses in one namespace, and every one after it. */
function withoutVpcStatus(namespace: string): (transport: Transport) => Transport {
  const isRefused = ({ method, path: of }: ApiRequest) =>
    method === 'PATCH' && of.includes(`/namespaces/${namespace}/vpcs/`) && of.endsWith('/status')
  return (transport) => ({
    ...transport,
    send: (request, signal) =>
      isRefused(request)
        ? Promise.resolve({
            status: 500,
            headers: {},
            body: { kind: 'Status', status: 'Failure', code: 500, message: 'refused by the test' },
          })
        : transport.send(request, signal),
  })
}

const check = (world: World) => ({ check: true, kubeconfig: world.plane.kubeconfigPath, output: 'text' }) as const

test('explain and owners', async (t) => {
  await using world = await startWorld()
  await world.startGalactic(withoutVpcStatus('no-identifier'))
  await world.startNso()

  await t.test('no data plane', async () => {
    await world.place('no-plane')
    await world.create(claimOf('no-plane', 'web-0'))
    await world.settled('no-plane', 'web-0', 'False NoDataPlane')
    const text = await explained(world, 'no-data-plane', 'claim/web-0', 'no-plane')
    assert.match(text, /^Broken at DataPlane \(none\): there is none, so none serves location here\.\n/)
  })

  await world.installDataPlane()

  await t.test('all is well', async () => {
    await world.place('ready')
    await world.ready('ready', 'web-0')
    const text = await explained(world, 'ready', 'claim/web-0', 'ready')
    assert.match(text, /^NetworkInterfaceClaim ready\/web-0 is Ready\.\n/)
    await explained(world, 'ready-interface', 'nic/web-0', 'ready')
  })

  await t.test('address pool empty', async () => {
    const tiny: KubeObject = {
      ...{ apiVersion: 'networking.datumapis.com/v1alpha', kind: 'Subnet', metadata: { namespace: 'full', name: 'tiny' } },
      spec: {
        ...{ subnetClass: 'private', networkContext: { name: `net-${location}` }, location: { name: location } },
        ...{ ipFamily: 'IPv4', startAddress: '10.128.0.0', prefixLength: 30 },
      },
    }
    await world.place('full', { ipFamilies: ['IPv4'] }, [tiny])
    await world.create(claimOf('full', 'web-0', { ipFamilies: ['IPv4'] }))
    await world.settled('full', 'web-0', 'True AttachmentReady', 'True')
    await world.create(claimOf('full', 'web-1', { ipFamilies: ['IPv4'] }))
    await world.until(
      'web-1 has no address',
      claims,
      { namespace: 'full', name: 'web-1' },
      (claim) => said(claim, 'Bound') === 'False AddressPoolExhausted',
    )
    const text = await explained(world, 'address-pool-empty', 'claim/web-1', 'full')
    assert.match(text, /^Broken at Subnet full\/tiny: /)
  })

  await t.test('VPC without identifier', async () => {
    await world.place('no-identifier')
    await world.create(claimOf('no-identifier', 'web-0'))
    await world.settled('no-identifier', 'web-0', 'False AwaitingVPCIdentifier')
    const text = await explained(world, 'vpc-without-identifier', 'nicc/web-0', 'no-identifier')
    assert.match(text, /^Broken at VPC no-identifier\/net-here: Galactic has reported nothing/)
  })

  await t.test('kubectl get and describe: a claim that is Ready, one that is turned away, and a retained interface', async () => {
    await world.place('shown')
    const subnet = { namespace: 'shown', name: `net-${location}-ipv6` }
    await world.until(
      'the network is here',
      kindOf('Subnet'),
      subnet,
      (found) => said(found, 'Allocated') === 'True PrefixAllocated',
    )
    await world.ready('shown', 'web-0')
    await world.create(claimOf('shown', 'web-1', { ipFamilies: ['IPv4'] }))
    await world.create(claimOf('shown', 'web-2', { reclaimPolicy: 'Retain' }))
    for (const [name, says] of [
      ['web-1', 'False AddressFamilyNotCarried'],
      ['web-2', 'True Ready'],
    ] as const) {
      const at = { namespace: 'shown', name }
      await world.until(`${name} is ${says}`, claims, at, (claim) => said(claim, 'Ready') === says)
    }
    await world.remove(claims, { namespace: 'shown', name: 'web-2' })
    await world.until('web-2 is free', interfaces, { namespace: 'shown', name: 'web-2' }, isAvailable)
    await shown(world, 'kubectl-get', 'shown', [
      ['get', 'networkinterfaceclaims'],
      ['get', 'networkinterfaceclaims', '-o', 'wide'],
      ['get', 'networkinterfaces'],
      ['get', 'networkinterfaces', '-o', 'wide'],
      ['get', 'networks', '-o', 'wide'],
      ['get', 'networkcontexts', '-o', 'wide'],
      ['get', 'subnets', '-o', 'wide'],
      ['get', 'addressleases', '-o', 'wide', '--sort-by=.spec.holder.claimName'],
      ['get', 'dataplanes', '-o', 'wide'],
      ['get', 'vpcs', '-o', 'wide'],
      ['get', 'vpcattachments', '-o', 'wide'],
      [
        'get',
        'events',
        '-o',
        'custom-columns=TYPE:.type,REASON:.reason,KIND:.involvedObject.kind,NAME:.involvedObject.name,MESSAGE:.message',
      ],
    ])
    await shown(world, 'kubectl-describe', 'shown', [['describe', 'networkinterfaceclaim', 'web-1']])
  })

  const places = ['stale', 'silent', 'deleting', 'second', 'gone']
  await Promise.all(
    places.map(async (namespace) => {
      await world.place(namespace)
      await world.ready(namespace, 'web-0')
    }),
  )
  await t.test('owners --check finds all as documented', async () => {
    const { status, text } = await answerOwners(undefined, check(world))
    assert.match(
      text,
      /^Every documented path of \d+ objects of \d+ kinds is its documented writer’s \(not served: BridgeNetwork, BridgeAttachment\)\.$/,
    )
    assert.equal(status, 0)
  })
  await world.stopGalactic()

  await t.test('stale report', async () => {
    await world.patch(kindOf('Network'), { namespace: 'stale', name: 'net' }, { spec: { mtu: 1400 } })
    await world.settled('stale', 'web-0', 'Unknown ReportStale')
    const text = await explained(world, 'stale-report', 'claim/web-0', 'stale')
    assert.match(
      text,
      /^Broken at VPCAttachment stale\/web-0: its report is stale: it speaks of generation 1, the object is at 2/,
    )
  })

  await t.test('data plane silent', async () => {
    await world.create(claimOf('silent', 'web-1'))
    await world.settled('silent', 'web-1', 'Unknown Pending', 'Unknown AwaitingDataPlane')
    await world.until('it has an attachment', attachments, { namespace: 'silent', name: 'web-1' }, () => true)
    const text = await explained(world, 'data-plane-silent', 'claim/web-1', 'silent')
    assert.match(
      text,
      /^Broken at VPCAttachment silent\/web-1: Galactic has reported nothing for .*NSO waits for its condition Ready\.\n/,
    )
  })

  await t.test('object deleting', async () => {
    const at = { namespace: 'deleting', name: 'web-0' }
    await world.remove(claims, at)
    await world.settled('deleting', 'web-0', 'Unknown Pending')
    const waits = ({ status }: KubeObject) => JSON.stringify(status).includes('(galactic): is being deleted')
    await world.until('the interface says what it waits for', kindOf('NetworkInterface'), at, waits)
    const text = await explained(world, 'deleting', 'claim/web-0', 'deleting')
    assert.match(
      text,
      /^Deletion waits at VPCAttachment deleting\/web-0: .* finalizer cloud\.datumapis\.com\/finalizer, which Galactic/,
    )
  })
  await world.stopNso()

  await t.test('attachment gone, and nobody there to see it', async () => {
    const at = { namespace: 'gone', name: 'web-0' }
    await world.patch(attachments, at, { metadata: { finalizers: null } })
    await world.remove(attachments, at)
    const text = await explained(world, 'attachment-gone', 'claim/web-0', 'gone')
    assert.match(text, /^Broken at VPCAttachment gone\/web-0: it does not exist, .*; NSO is not running: /)
  })

  await t.test('second writer', async () => {
    const at = { namespace: 'second', name: 'web-0' }
    const condition = {
      ...{ type: 'Prepared', status: 'False', reason: 'Rogue', message: 'said by somebody else', observedGeneration: 1 },
      lastTransitionTime: '2026-01-01T00:00:00Z',
    }
    await world.applyStatus(claims, at, { conditions: [condition] }, 'intruder')
    const text = await explained(world, 'second-writer', 'claim/web-0', 'second')
    assert.match(
      text,
      /^Broken at NetworkInterfaceClaim second\/web-0: condition Prepared: NOT the documented writer: "intruder" \(Apply on status\) wrote it, not nso-networkinterfaceclaim \(NSO\); NSO is not running: .*\.\n/,
    )
    const { status, text: found } = await answerOwners(undefined, check(world))
    assert.match(
      found,
      /^NetworkInterfaceClaim second\/web-0\n {2}status\.conditions\/Prepared: written by "intruder" \(Apply on status\), NOT by nso-networkinterfaceclaim \(NSO\)\n/,
    )
    assert.match(
      found,
      /\n1 path not as documented, in \d+ objects of \d+ kinds \(not served: BridgeNetwork, BridgeAttachment\)\.$/,
    )
    assert.equal(status, 1)
    await world.withoutKind('bgprouters.network.datumapis.com')
    assert.match(
      (await answerOwners(undefined, check(world))).text,
      /\(not served: BGPRouter, BridgeNetwork, BridgeAttachment\)\.$/,
    )
  })
})
