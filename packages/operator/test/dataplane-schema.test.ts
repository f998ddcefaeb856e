// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the strings are templates of a DataPlane
/** Templates and reports against the schemas that the real API server publishes, as definitions change under them. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { annotations, NetworkContext, NetworkInterface, NetworkInterfaceClaim, Subnet } from '@nso/api'
import type { KubeObject } from 'kube-control-loop'
import { answers, scriptTransport } from 'kube-control-loop/testing'
import { eventually } from 'kube-localplane/testing'
import { isAtRest } from './support/at-rest.ts'
import {
  anyMap,
  conditionList,
  crdPath,
  mergeAt,
  planeCondition,
  readAt,
  ready,
  reportAt,
  text,
  whole,
  wireAt,
  wireCrd,
  wireGroup,
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
  location,
  type Running,
  remove,
  said,
  startWorld,
  type World,
} from './world.ts'

know(NetworkInterfaceClaim, NetworkContext, Subnet)

const accepted = 'True/Accepted'
const unknownField = 'False/UnknownField'
const openStatus = { type: 'object', properties: { conditions: conditionList, wire: text } }

let world: World
let nso: Running

before(async () => {
  world = await startWorld()
  await world.plane.apply([wireRole])
  nso = await world.startNso()
})
after(async () => {
  await world?.[Symbol.asyncDispose]()
})

const says = (name: string, wanted: string) => planeCondition(world.plane, name, 'Accepted', wanted)

describe('A DataPlane is refused', () => {
  const list = { type: 'array', items: { type: 'object', properties: { at: text } } }
  const schema = {
    mtu: whole,
    mode: { type: 'string', enum: ['tap', 'veth'] },
    ends: list,
    bag: anyMap,
    labels: { type: 'object', additionalProperties: text },
    port: { 'x-kubernetes-int-or-string': true },
    deep: { type: 'object', properties: { left: text } },
  }
  before(async () => {
    await world.plane.apply([wireCrd({ kind: 'Cable', versions: [{ spec: schema, status: openStatus }] })])
  })

  type Row = { says: string; spec?: object; report?: object; want: RegExp }
  const rows: Row[] = [
    {
      says: 'for a key that the schema lacks',
      spec: { mtuu: '${interface.spec.mtu}' },
      want: /^spec\.attachment\.spec\.mtuu: Cable \(wires\.example\.dev\/v1\) has no field spec\.mtuu: there it has .*mtu.*: correct the DataPlane, or install/,
    },
    {
      says: 'for one further down, in a list',
      spec: { ends: [{ at: 'a' }, { att: 'b' }] },
      want: /^spec\.attachment\.spec\.ends\[1\]\.att: .* has no field spec\.ends\[\]\.att: there it has at/,
    },
    {
      says: 'for a map where there is text',
      spec: { deep: { left: { more: 1 } } },
      want: /^spec\.attachment\.spec\.deep\.left: .* has text at spec\.deep\.left, not a map/,
    },
    { says: 'for text where there is a number', spec: { mtu: 'much' }, want: /has an integer at spec\.mtu, not text/ },
    {
      says: 'for text joined of expressions where there is a number',
      spec: { mtu: 'is ${interface.spec.mtu}' },
      want: /has an integer at spec\.mtu, not text/,
    },
    {
      says: 'for a value that is none of those listed',
      spec: { mode: 'pipe' },
      want: /takes one of tap, veth at spec\.mode, not "pipe"/,
    },
    {
      says: 'for a field that a report reads and that is never there',
      report: { vpc: 'x-${attachment.status.wyre}' },
      want: /^spec\.report\.vpc, column \d+: Cable .* has no field status\.wyre: there it has conditions, wire/,
    },
    {
      says: 'for a field of its own attachment that a template reads and that is never there',
      spec: { mode: '${attachment.spec.mood}' },
      want: /^spec\.attachment\.spec\.mode, column \d+: .* has no field spec\.mood/,
    },
  ]
  for (const { says: name, spec, report, want } of rows) {
    test(name, async () => {
      await world.plane.apply([wirePlane('refused', 'Cable', { spec: { port: 1, ...spec }, ...(report ? { report } : {}) })])
      assert.match(await says('refused', unknownField), want)
      assert.equal(nso.operator.planes.choose('refused-1')?.ref.name, 'toy', 'it takes no part')
    })
  }

  test('and not for what the schema leaves open, nor for what an expression yields', async () => {
    const spec = {
      bag: { whatever: { is: ['in', 1] } },
      labels: { any: 'text' },
      port: 80,
      mode: 'tap',
      ends: [{ at: '${interface.metadata.name}' }],
      mtu: '${interface.spec.mtu}',
      deep: '${{"left": "x"}}',
    }
    await world.plane.apply([wirePlane('refused', 'Cable', { spec, report: { vpc: '${attachment.status.wire}' } })])
    await says('refused', accepted)
  })

  test('for a kind without a place for conditions', async () => {
    const status = { type: 'object', properties: { phase: text } }
    await world.plane.apply([wireCrd({ kind: 'Mute', versions: [{ status }] }), wirePlane('mute', 'Mute')])
    const message = await says('mute', unknownField)
    assert.match(message, /^spec\.report\.prepared\.condition: Mute .* has no field status\.conditions: there it has phase/)
  })
})

test('a definition that gains the field heals the DataPlane within seconds, and without a write to it', async () => {
  await world.plane.apply([wireCrd({ kind: 'Late' }), wirePlane('late', 'Late', { spec: { colour: 'red' } })])
  await says('late', unknownField)
  await world.plane.apply([wireCrd({ kind: 'Late', versions: [{ spec: { mtu: whole, colour: text } }] })])
  await says('late', accepted)
})

describe('What each variable holds', () => {
  const everything = { facts: { type: 'object', additionalProperties: text } }
  before(async () => {
    await world.plane.apply([
      wireCrd({ kind: 'Net', versions: [{ spec: everything, status: { type: 'object', properties: { id: text } } }] }),
      wireCrd({ kind: 'Port', versions: [{ spec: everything, status: openStatus }] }),
    ])
  })

  test('is there in templates of attachments and in reports; in those of networks, what is there before any interface', async () => {
    const network = {
      apiVersion: `${wireGroup}/v1`,
      kind: 'Net',
      spec: {
        facts: {
          context: '${context.metadata.name}',
          subnets: '${subnets[0].cidr}',
          network: '${network.spec.ipam.mode}',
        },
      },
    }
    const spec = {
      facts: {
        context: '${context.metadata.name}',
        subnets: '${subnets[0].family}',
        network: '${network.spec.ipam.mode}',
        interface: '${interface.metadata.name}',
        claim: '${claim.metadata.labels.team}',
        networkObject: '${networkObject.status.id}',
        attachment: '${attachment.status.wire}',
      },
    }
    const report = {
      vpc: '${[context.metadata.name, subnets[0].family, network.spec.ipam.mode, interface.metadata.name, claim.metadata.name, networkObject.status.id, attachment.status.wire].map(x, string(x))[6]}-${networkObject.status.id}',
    }
    await world.plane.apply([wirePlane('all', 'Port', { here: true, network, spec, report })])
    await says('all', accepted)
    const namespace = await world.place()
    const net = wirePath('nets', namespace, 'net-here')
    assert.equal(await readAt(world.plane, net), undefined, 'the Network that the template reads is not there yet')
    const at = `/apis/networking.datumapis.com/v1alpha/namespaces/${namespace}/networks`
    const body = {
      apiVersion: 'networking.datumapis.com/v1alpha',
      kind: 'Network',
      metadata: { name: 'net' },
      spec: { ipam: { mode: 'Auto' } },
    }
    await world.plane.connection.must({ method: 'POST', path: at, body })
    const made = (await wireAt(world.plane, net)).spec
    assert.deepEqual(made, { facts: { context: 'net-here', subnets: 'fd20:0:0:1::/64', network: 'Auto' } })

    await reportAt(world.plane, net, { id: 'n-7' })
    const claim = aClaim(namespace, 'web')
    await create(world.client, { ...claim, metadata: { ...claim.metadata, labels: { team: 'blue' } } })
    const path = wirePath('ports', namespace, 'web')
    const attachment = await wireAt(world.plane, path)
    await reportAt(world.plane, path, { wire: 'w-1', conditions: [ready(attachment.metadata.generation)] })
    await eventually('its own report in the attachment', async () => {
      const stands = await wireAt(world.plane, path)
      const facts = (stands.spec as { facts: Record<string, string> }).facts
      assert.deepEqual(facts, {
        context: 'net-here',
        subnets: 'IPv6',
        network: 'Auto',
        interface: 'web',
        claim: 'blue',
        networkObject: 'n-7',
        attachment: 'w-1',
      })
      return stands
    })
    const nic = `/apis/networking.datumapis.com/v1alpha/namespaces/${namespace}/networkinterfaces/web`
    await eventually(
      'the identifier',
      async () => ((await readAt(world.plane, nic)) as NetworkInterface).status?.vpc === 'w-1-n-7',
    )
    await remove(world.client, NetworkInterfaceClaim, namespace, 'web')
    await gone(world.client, NetworkInterfaceClaim, namespace, 'web')
    await remove(world.client, nso.operator.caches.dataPlanes.kind, undefined, 'all')
  })

  for (const variable of ['interface', 'claim', 'attachment', 'networkObject']) {
    test(`a template of the network that reads ${variable} is refused when it is stored`, async () => {
      const facts = { x: `a-\${${variable}.metadata.name}` }
      const network = { apiVersion: `${wireGroup}/v1`, kind: 'Net', spec: { facts } }
      await world.plane.apply([wirePlane(`early-${variable.toLowerCase()}`, 'Port', { network, spec: { facts: {} } })])
      const message = await says(`early-${variable.toLowerCase()}`, 'False/InvalidTemplate')
      assert.match(
        message,
        new RegExp(
          `^spec\\.network\\.spec\\.facts\\.x, column 5: ${variable} is not there: .* only context, subnets and network`,
        ),
      )
    })
  }
})

describe('A definition that loses a field under live attachments', () => {
  const full = [{ spec: { mtu: whole, colour: text }, status: openStatus }]
  const crd = (versions: object[]) => wireCrd({ kind: 'Rope', versions })
  const from = { spec: { mtu: '${interface.spec.mtu}', colour: 'red' }, report: { vpc: '${attachment.status.wire}' } }
  let namespace: string
  let path: string
  const nic = async () =>
    (await readAt(
      world.plane,
      `/apis/networking.datumapis.com/v1alpha/namespaces/${namespace}/networkinterfaces/web`,
    )) as NetworkInterface

  /** Wakes the interface, whose pass would put the attachment right; writes nothing to that itself. */
  const touched = async (how: string) => {
    const claim = `/apis/networking.datumapis.com/v1alpha/namespaces/${namespace}/networkinterfaceclaims/web`
    await mergeAt(world.plane, claim, { metadata: { annotations: { touched: how } } })
    await eventually('the pass of the interface', async () => {
      const seen = nso.operator.caches.claims.get(`${namespace}/web`)?.metadata.annotations?.touched === how
      return seen && (await isIdle('networkinterface'))
    })
  }
  const isIdle = async (controller: string) => {
    const page = await nso.operator.manager.metrics.page()
    const value = (metric: string, label: string) =>
      Number(new RegExp(`^${metric}\\{[^}]*${label}="${controller}"[^}]*\\} (\\S+)$`, 'm').exec(page)?.[1] ?? 'NaN')
    return value('workqueue_depth', 'name') === 0 && value('controller_runtime_active_workers', 'controller') === 0
  }

  before(async () => {
    await world.plane.apply([crd(full), wirePlane('rope', 'Rope', { here: true, ...from })])
    await says('rope', accepted)
    namespace = await world.place()
    await create(world.client, aClaim(namespace, 'web'))
    path = wirePath('ropes', namespace, 'web')
    const { metadata } = await wireAt(world.plane, path)
    await reportAt(world.plane, path, { wire: 'w-1', conditions: [ready(metadata.generation)] })
    await claimSays(world.client, namespace, 'web', 'Ready', 'True Ready')
  })

  test('marks the DataPlane, and nobody writes the attachments: what was stored comes back with the field', async () => {
    const writes = await world.writesDuring(async () => {
      await world.plane.apply([crd([{ spec: { mtu: whole }, status: openStatus }])])
      assert.match(await says('rope', unknownField), /has no field spec\.colour/)
      await touched('1')
      assert.deepEqual((await readAt(world.plane, path))?.spec, { mtu: 1460 }, 'the server does not show it')
      assert.equal(said(await find(world.client, NetworkInterfaceClaim, namespace, 'web'), 'Ready'), 'True Ready')
      await world.plane.apply([crd(full)])
      await says('rope', accepted)
    })
    const ours = writes.filter(({ user }) => user === 'system:serviceaccount:nso-system:nso')
    assert.deepEqual(
      ours.filter(({ resource }) => resource === 'ropes').map(({ verb, code }) => `${verb} ${code}`),
      [],
    )
    assert.deepEqual((await readAt(world.plane, path))?.spec, { mtu: 1460, colour: 'red' })
  })

  test('one that loses what the report reads takes back nothing that was reported', async () => {
    const wasSaid = async () => {
      const claim = await find(world.client, NetworkInterfaceClaim, namespace, 'web')
      return [said(claim, 'Prepared'), said(claim, 'Ready'), (await nic()).status?.vpc]
    }
    assert.deepEqual(await wasSaid(), ['True AttachmentReady', 'True Ready', 'w-1'])
    await world.plane.apply([
      crd([{ spec: { mtu: whole, colour: text }, status: { type: 'object', properties: { phase: text } } }]),
    ])
    const message = await says('rope', unknownField)
    assert.match(message, /spec\.report\.vpc, column \d+: .* has no field status\.wire: there it has phase/)
    assert.match(message, /spec\.report\.prepared\.condition/)
    await touched('2')
    assert.deepEqual(await wasSaid(), ['True AttachmentReady', 'True Ready', 'w-1'])
    await world.plane.apply([crd(full)])
    await says('rope', accepted)
    assert.deepEqual(await wasSaid(), ['True AttachmentReady', 'True Ready', 'w-1'])
  })

  test('and such an attachment is removed like any other', async () => {
    await world.plane.apply([crd([{ spec: { mtu: whole }, status: openStatus }])])
    await says('rope', unknownField)
    await remove(world.client, NetworkInterfaceClaim, namespace, 'web')
    await gone(world.client, NetworkInterfaceClaim, namespace, 'web')
    assert.equal(await readAt(world.plane, path), undefined)
    await world.plane.connection.must({ method: 'DELETE', path: crdPath('ropes') })
  })
})

test('A DataPlane with an unknown field stays refused while a new process cannot read the schema: nobody is given it, and nothing is said anew', async () => {
  const crd = (spec: object) => wireCrd({ kind: 'Twine', versions: [{ spec: { mtu: whole, ...spec }, status: openStatus }] })
  const spec = { mtu: '${interface.spec.mtu}', colour: 'red' }
  await world.plane.connection.must({ method: 'DELETE', path: '/apis/networking.datumapis.com/v1alpha/dataplanes/rope' })
  await eventually('the location is free', () => nso.operator.planes.choose(location)?.ref.name === 'toy')
  await world.plane.apply([crd({}), wirePlane('twine', 'Twine', { here: true, spec })])
  await says('twine', unknownField)
  await nso.stop()
  const before = await planes()
  nso = await world.startNso({
    wrap: (transport) => {
      const script = scriptTransport(transport)
      script.on({ method: 'GET', path: /^\/openapi\/v3/ }, { times: Number.MAX_SAFE_INTEGER }).answer(answers.internalError())
      return script
    },
  })
  const namespace = await world.place()
  const writes = await world.writesDuring(async () => {
    await create(world.client, aClaim(namespace, 'web'))
    await eventually('the kind is used', () => nso.operator.planes.get('twine')?.plane.attachments?.state === 'synced')
    await claimSays(world.client, namespace, 'web', 'Ready', 'True Ready')
    await eventually('nothing is in hand', () => isAtRest(nso.operator))
  })
  const nic = await find(world.client, NetworkInterface, namespace, 'web')
  assert.match(nic?.metadata.annotations?.[annotations.dataPlane] ?? '', /^toy/)
  assert.deepEqual(await planes(), before)
  assert.deepEqual(
    writes.filter(({ resource }) => ['dataplanes', 'twines', 'events'].includes(resource)),
    [],
  )
  await world.plane.apply([crd({ colour: text })])
  assert.equal(nso.operator.planes.choose(location)?.ref.name, 'toy')
  await nso.stop()
  nso = await world.startNso()
  await says('twine', accepted)
})

async function planes(): Promise<string[]> {
  const path = '/apis/networking.datumapis.com/v1alpha/dataplanes'
  const { items } = (await world.plane.connection.must({ method: 'GET', path })) as { items: KubeObject[] }
  return items.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`)
}
