/**
 * `nso explain` of a data plane that this repository has never heard of, whose part the test plays: each way in which it can be
 * wrong, or be asked for what it cannot do, live and from a dump, held against golden files.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerOwners } from '@nso/cli/owners'
import type { Kind, KubeObject } from 'kube-control-loop'
import { explained } from './support/explained.ts'
import { claimOf, kindOf, know, said, startWorld, type World } from './support/explained-world.ts'

const group = 'cables.example.org'
const kind = (name: string, plural: string): Kind => ({ group, version: 'v1', kind: name, plural, scope: 'Namespaced' })
const Cable = kind('Cable', 'cables')
const Duct = kind('Duct', 'ducts')
know(Cable, Duct)

const claims = kindOf('NetworkInterfaceClaim')
const planes = kindOf('DataPlane')

function definitionOf({ kind: name, plural }: Kind, spec: object): object {
  const status = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  const openAPIV3Schema = { type: 'object', properties: { spec: { type: 'object', properties: spec }, status } }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      ...{ group, scope: 'Namespaced', names: { kind: name, plural, singular: name.toLowerCase() } },
      versions: [{ name: 'v1', served: true, storage: true, subresources: { status: {} }, schema: { openAPIV3Schema } }],
    },
  }
}

const joint = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: 'nso-data-plane-cables', labels: { 'networking.datumapis.com/aggregate-to-nso': 'true' } },
  rules: [{ apiGroups: [group], resources: ['cables', 'ducts'], verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'] }],
}

const cel = (expression: string) => `$\{${expression}}`

/** Cables carry packets of at most 1460 bytes. */
const spec = {
  locations: ['*'],
  capabilities: { attachmentModes: ['Netns'], addressFamilies: ['IPv6'], programmed: 'NotReported' },
  network: { apiVersion: `${group}/v1`, kind: 'Duct', spec: { ranges: cel('subnets.map(s, s.cidr)') } },
  attachment: { apiVersion: `${group}/v1`, kind: 'Cable', spec: { mtu: cel('interface.spec.mtu') } },
  report: { prepared: { condition: 'Up' } },
}

/** The DataPlane as it is from now on; resolves when NSO says so of it. */
async function cablesAre(world: World, change: object, accepted: string): Promise<void> {
  const body = {
    apiVersion: 'networking.datumapis.com/v1alpha',
    kind: 'DataPlane',
    metadata: { name: 'cables' },
    spec: { ...spec, ...change },
  }
  await world.plane.apply([body] as never)
  await world.until(
    `cables say Accepted ${accepted}`,
    planes,
    { name: 'cables' },
    (object) => isCurrent(object) && said(object, 'Accepted') === accepted,
  )
}

const isCurrent = ({ metadata, status }: KubeObject): boolean => {
  const { conditions = [] } = (status ?? {}) as { conditions?: { observedGeneration?: number }[] }
  return conditions.every(({ observedGeneration }) => observedGeneration === metadata.generation)
}

const report = (type: string, status: string, reason: string, observedGeneration = 1) => ({
  conditions: [
    {
      type,
      status,
      reason,
      message: `${reason}, says the digger`,
      lastTransitionTime: '2026-01-01T00:00:00Z',
      observedGeneration,
    },
  ],
})

/** The data plane, which is the test, says so of the attachment. */
const reports = (world: World, namespace: string, ...said: Parameters<typeof report>) =>
  world.applyStatus(Cable, { namespace, name: 'web-0' }, report(...said), 'digger')

/** A claim whose attachment stands and has no report yet. */
async function attached(world: World, namespace: string): Promise<void> {
  await world.place(namespace)
  await world.create(claimOf(namespace, 'web-0'))
  await world.until('it has an attachment', Cable, { namespace, name: 'web-0' }, () => true)
}

const rejected = (world: World, namespace: string, reason: string) =>
  world.until(
    `it is rejected: ${reason}`,
    claims,
    { namespace, name: 'web-0' },
    (claim) => said(claim, 'Bound') === `False ${reason}`,
  )

test('explain, for a data plane that nobody knows', async (t) => {
  await using world = await startWorld()
  const definitions = [
    definitionOf(Cable, { mtu: { type: 'integer', maximum: 1460 } }),
    definitionOf(Duct, { ranges: { type: 'array', items: { type: 'string' } } }),
  ]
  await world.plane.apply([...definitions, joint] as never)
  await world.startNso()

  await t.test('it follows another contract', async () => {
    await cablesAre(world, { contract: 'v9' }, 'False ContractUnsupported')
    await world.place('contract')
    await world.create(claimOf('contract', 'web-0'))
    await world.settled('contract', 'web-0', 'False NoDataPlane')
    const text = await explained(world, 'contract-unsupported', 'claim/web-0', 'contract')
    assert.match(text, /^Broken at DataPlane cables: Accepted=False ContractUnsupported: .*\.\nWhat to do: Install a newer NSO/)
  })

  await t.test('a template names a field that the kind lacks', async () => {
    const attachment = { ...spec.attachment, spec: { ...spec.attachment.spec, colour: 'red' } }
    await cablesAre(world, { attachment }, 'False UnknownField')
    const text = await explained(world, 'unknown-field', 'claim/web-0', 'contract')
    assert.match(
      text,
      /^Broken at DataPlane cables: Accepted=False UnknownField: .*colour.*\nWhat to do: Correct what the message names/,
    )
  })

  await cablesAre(world, {}, 'True Accepted')

  await t.test('all is well', async () => {
    await attached(world, 'well')
    await reports(world, 'well', 'Up', 'True', 'Plugged')
    await world.settled('well', 'web-0', 'True AttachmentReady', 'True NotReported')
    await world.until(
      'it is Ready',
      claims,
      { namespace: 'well', name: 'web-0' },
      (claim) => said(claim, 'Ready') === 'True Ready',
    )
    const text = await explained(world, 'unknown-plane-ready', 'claim/web-0', 'well')
    assert.match(text, /^NetworkInterfaceClaim well\/web-0 is Ready\.\n/)
  })

  await t.test('it reports that it cannot', async () => {
    await attached(world, 'cut')
    await reports(world, 'cut', 'Up', 'False', 'Cut')
    await world.settled('cut', 'web-0', 'False Cut')
    const text = await explained(world, 'unknown-plane-unprepared', 'claim/web-0', 'cut')
    assert.match(text, /^Broken at Cable cut\/web-0: data plane cables says Up=False Cut/)
  })

  await t.test('it reports what is no report', async () => {
    await attached(world, 'violation')
    await reports(world, 'violation', 'Up', 'Maybe', 'Perhaps')
    await world.settled('violation', 'web-0', 'Unknown ContractViolation')
    const text = await explained(world, 'contract-violation', 'claim/web-0', 'violation')
    assert.match(
      text,
      /^Broken at Cable violation\/web-0: data plane cables reports in a form that breaks the contract \(.*\nWhat to do: Report it to the makers/,
    )
  })

  await t.test('it does not offer what is asked for', async () => {
    await world.place('mode')
    await world.create(claimOf('mode', 'web-0', { attachmentMode: 'Hypervisor' }))
    await rejected(world, 'mode', 'AttachmentModeNotSupported')
    const text = await explained(world, 'mode-not-supported', 'claim/web-0', 'mode')
    assert.match(
      text,
      /^Broken at DataPlane cables: .*Hypervisor.*\nWhat to do: Make a new claim with a mode that the message names/,
    )
    await world.place('family', { ipFamilies: ['IPv4'] })
    await world.create(claimOf('family', 'web-0', { ipFamilies: ['IPv4'] }))
    await rejected(world, 'family', 'AddressFamilyNotSupported')
    const other = await explained(world, 'family-not-supported', 'claim/web-0', 'family')
    assert.match(other, /^Broken at DataPlane cables: .*IPv4.*\nWhat to do: Make a new claim for families/)
  })

  await t.test('the API server takes no such attachment', async () => {
    await world.place('refused', { mtu: 1500 })
    await world.create(claimOf('refused', 'web-0'))
    await world.settled('refused', 'web-0', 'False AttachmentRefused')
    const text = await explained(world, 'attachment-refused', 'claim/web-0', 'refused')
    assert.match(
      text,
      /^Broken at Cable refused\/web-0: it does not exist; NSO says Prepared=False AttachmentRefused: .*1500.*\nWhat to do: The message has the server’s words/,
    )
  })

  await t.test('somebody else has the name of the network object', async () => {
    const duct = { apiVersion: `${group}/v1`, kind: 'Duct', metadata: { namespace: 'foreign', name: 'net-here' }, spec: {} }
    await world.place('foreign', {}, [duct])
    await world.create(claimOf('foreign', 'web-0'))
    await world.settled('foreign', 'web-0', 'False NetworkObjectForeign')
    const text = await explained(world, 'network-object-foreign', 'claim/web-0', 'foreign')
    assert.match(
      text,
      /^Broken at Duct foreign\/net-here: it has no controlling owner, and is not of NetworkContext foreign\/net-here: .*\nWhat to do: Remove the object/,
    )
  })

  await t.test('owners --check looks at its kinds, by what the DataPlane says', async () => {
    const { text, status } = await answerOwners(undefined, {
      check: true,
      kubeconfig: world.plane.kubeconfigPath,
      output: 'text',
    })
    assert.match(
      text,
      /^Duct foreign\/net-here\n {2}spec: written by "user" \(Update\), NOT by nso-dataplane \(NSO\)\n1 path not as documented, /,
    )
    assert.equal(status, 1)
    const cables = await answerOwners('cables', { check: true, kubeconfig: world.plane.kubeconfigPath, output: 'text' })
    assert.match(cables.text, /^Every documented path of \d+ objects of 1 kind is its documented writer’s\.$/)
  })

  await t.test('it is being deleted: no fault to those it serves, and no help to others', async () => {
    await world.remove(planes, { name: 'cables' })
    const waits = (plane: KubeObject) =>
      said(plane, 'Accepted') === 'False Deleting' && JSON.stringify(plane.status).includes('Waits for')
    await world.until('it says what it waits for', planes, { name: 'cables' }, waits)
    const served = await explained(world, 'data-plane-deleting-served', 'claim/web-0', 'well')
    assert.match(served, /^NetworkInterfaceClaim well\/web-0 is Ready\.\nnote: DataPlane cables is being deleted for /)
    await world.place('late')
    await world.create(claimOf('late', 'web-0'))
    await world.settled('late', 'web-0', 'False NoDataPlane')
    const late = await explained(world, 'data-plane-deleting', 'claim/web-0', 'late')
    assert.match(
      late,
      /^Broken at DataPlane cables: Accepted=False Deleting: .*\nWhat to do: Delete the claims that the message names/,
    )
  })
})
