// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the strings are templates of a DataPlane
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { KubeObject } from 'kube-control-loop'
import { celScope } from './cel.ts'
import { compileObject, type ObjectTemplate } from './render.ts'
import type { TemplateScope } from './types.ts'

/** The attachment template of the first data plane. */
const galactic: ObjectTemplate = {
  apiVersion: 'cloud.datumapis.com/v1alpha1',
  kind: 'VPCAttachment',
  metadata: { labels: '${interface.metadata.labels}', finalizers: ['cloud.datumapis.com/finalizer'] },
  spec: {
    vpc: { name: '${context.metadata.name}' },
    interfaceRef: { name: '${interface.metadata.name}' },
    interface: {
      name: '${interface.spec.interfaceName}',
      mode: '${interface.spec.attachmentMode}',
      mtu: '${interface.spec.mtu}',
      addresses: '${interface.spec.addresses.map(a, a.address)}',
      gateways: '${interface.spec.addresses.filter(a, has(a.gateway)).map(a, a.gateway)}',
    },
  },
}

const nic: KubeObject = {
  apiVersion: 'networking.datumapis.com/v1alpha',
  kind: 'NetworkInterface',
  metadata: { name: 'web-0', namespace: 'shop', uid: 'u-1', labels: { 'compute.datumapis.com/instance': 'web-0' } },
  spec: {
    interfaceName: 'eth0',
    attachmentMode: 'Hypervisor',
    mtu: 1460,
    addresses: [{ family: 'IPv6', address: 'fd20::1:0:0/96', gateway: 'fd20::1', primary: true }],
  },
}

function render(template: ObjectTemplate, owner = nic) {
  const scope = { interface: owner, context: { metadata: { name: 'default-lax' } }, subnets: [] } as unknown as TemplateScope
  return compileObject(template, 'spec.attachment').render(owner, celScope(scope))
}

test('an attachment is rendered under the interface’s name, owned by it, with the plane’s finalizer', () => {
  assert.deepEqual(render(galactic).body, {
    apiVersion: 'cloud.datumapis.com/v1alpha1',
    kind: 'VPCAttachment',
    metadata: {
      name: 'web-0',
      namespace: 'shop',
      labels: { 'compute.datumapis.com/instance': 'web-0' },
      finalizers: ['cloud.datumapis.com/finalizer'],
      ownerReferences: [
        {
          apiVersion: 'networking.datumapis.com/v1alpha',
          kind: 'NetworkInterface',
          name: 'web-0',
          uid: 'u-1',
          controller: true,
          blockOwnerDeletion: false,
        },
      ],
    },
    spec: {
      vpc: { name: 'default-lax' },
      interfaceRef: { name: 'web-0' },
      interface: { name: 'eth0', mode: 'Hypervisor', mtu: 1460, addresses: ['fd20::1:0:0/96'], gateways: ['fd20::1'] },
    },
  })
})

test('what the interface lacks is left out, and named', () => {
  const bare: KubeObject = {
    ...nic,
    metadata: { name: 'web-0', namespace: 'shop', uid: 'u-1' },
    spec: { interfaceName: 'eth0', attachmentMode: 'Netns' },
  }
  const { body, leftOut } = render(galactic, bare)
  assert.deepEqual((body.spec as { interface: unknown }).interface, { name: 'eth0', mode: 'Netns' })
  assert.equal('labels' in body.metadata, false)
  assert.deepEqual(leftOut.toSorted(), ['/spec/interface/addresses', '/spec/interface/gateways', '/spec/interface/mtu'])
})

describe('a rendering is refused', () => {
  const table: { says: string; given: Partial<ObjectTemplate>; want: string }[] = [
    {
      says: 'when labels are no map',
      given: { metadata: { labels: '${interface.metadata.name}' } },
      want: 'spec.attachment.metadata.labels: must yield a map',
    },
    {
      says: 'when a label is no text',
      given: { metadata: { labels: { a: 1 } } },
      want: 'spec.attachment.metadata.labels.a: must yield text',
    },
    {
      says: 'when finalizers are no list',
      given: { metadata: { finalizers: 'x' } },
      want: 'spec.attachment.metadata.finalizers: must yield a list of texts',
    },
    {
      says: 'when a finalizer is no text',
      given: { metadata: { finalizers: ['x', 1] } },
      want: 'spec.attachment.metadata.finalizers: must yield a list of texts',
    },
    { says: 'when the body is no map', given: { spec: '${interface.spec.mtu}' }, want: 'spec.attachment.spec: must yield a map' },
  ]
  for (const { says, given, want } of table)
    test(says, () => assert.throws(() => render({ ...galactic, ...given }), { message: want }))
})

test('errors of every part of a template are told', () => {
  const { errors } = compileObject(
    { ...galactic, metadata: { labels: '${x}', finalizers: ['${y}'] }, spec: { z: '${z}' } },
    'spec.network',
  )
  assert.deepEqual(errors.map(({ path }) => path).toSorted(), [
    'spec.network.metadata.finalizers[0]',
    'spec.network.metadata.labels',
    'spec.network.spec.z',
  ])
})
