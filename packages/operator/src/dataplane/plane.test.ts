// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the strings are templates of a DataPlane
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { DataPlane, NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import type { FollowedCache, KubeObject } from 'kube-control-loop'
import { aClaim, aContext, anInterface } from '../../test/objects.ts'
import type { DynamicKinds, FollowedKind } from './kinds.ts'
import { compileSpec, createPlane, isAllowed } from './plane.ts'
import { TemplateError } from './template.ts'
import type { TemplateScope } from './types.ts'

const spec: DataPlane['spec'] = {
  contract: 'v1',
  locations: ['*'],
  attachment: {
    apiVersion: 'planes.example.dev/v1',
    kind: 'Wire',
    spec: { mtu: '${interface.spec.mtu}', to: '${context.metadata.name}' },
  },
  report: { prepared: { condition: 'Ready' }, vpc: '${attachment.status.wire}' },
}

/** A kind in one state, as its cache would show it. */
const followed = (state: FollowedKind['state'], cacheState?: string): FollowedKind => ({
  ref: { apiVersion: 'planes.example.dev/v1', kind: 'Wire' },
  state,
  kind: undefined,
  cache: cacheState ? ({ state: cacheState } as unknown as FollowedCache) : undefined,
  reporterOf: (_, condition) => `${condition}-reporter`,
})

type Given = {
  spec?: Partial<DataPlane['spec']>
  kind?: FollowedKind
  /** Of the objects of networks, where it differs. */
  network?: FollowedKind
  denied?: string
  refused?: string
  status?: NonNullable<DataPlane['status']>
}

function planeOf(given: Given = {}) {
  const object = {
    ...{ apiVersion: 'x', kind: 'DataPlane', metadata: { name: 'toy', uid: 'p-1', generation: 1 } },
    spec: { ...spec, ...given.spec },
    ...(given.status ? { status: given.status } : {}),
  }
  const asked: string[] = []
  const kinds = {
    follow: (ref: { kind: string }) => {
      asked.push(ref.kind)
      const kind = ref.kind === 'Net' ? (given.network ?? given.kind) : given.kind
      return kind ?? followed('served', 'synced')
    },
  } as unknown as DynamicKinds
  const compiled = compileSpec(object.spec)
  return {
    plane: createPlane({ object, compiled, kinds, denied: () => given.denied, refused: () => given.refused }),
    compiled,
    asked,
  }
}

const said = {
  conditions: [
    {
      type: 'Prepared',
      status: 'True' as const,
      reason: 'AttachmentReady',
      message: 'said',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    },
    {
      type: 'Programmed',
      status: 'False' as const,
      reason: 'Withdrawn',
      message: 'said',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    },
  ],
  vpc: 'jU',
  attachmentRef: { apiGroup: 'planes.example.dev', kind: 'Wire', name: 'web-0' },
}

const wire = (nic: NetworkInterface, status: unknown): KubeObject => ({
  apiVersion: 'planes.example.dev/v1',
  kind: 'Wire',
  metadata: {
    name: nic.metadata.name,
    namespace: 'default',
    uid: 'wire-uid',
    generation: 1,
    ownerReferences: [
      { apiVersion: 'x', kind: 'NetworkInterface', name: 'web-0', uid: nic.metadata.uid ?? '', controller: true },
    ],
  },
  spec: {},
  status,
})

describe('what a plane says of an interface', () => {
  const nic = anInterface({ status: said })
  const scope: TemplateScope = { interface: nic, context: aContext(), subnets: [] }

  test('is what stands, as long as its attachments are not listed: a new process takes nothing back', () => {
    for (const kind of [followed('unknown'), followed('served'), followed('served', 'starting')]) {
      const report = planeOf({ kind }).plane.translate({ interface: nic, attachment: undefined, scope })
      assert.deepEqual(report, {
        prepared: { status: 'True', reason: 'AttachmentReady', message: 'said' },
        programmed: { status: 'False', reason: 'Withdrawn', message: 'said' },
        vpc: 'jU',
        attachmentRef: said.attachmentRef,
        podNetwork: undefined,
      })
    }
  })

  test('is, for a claim, what the claim said of this interface, which may be newer than what the interface says', () => {
    const kind = followed('unknown')
    const conditions = said.conditions.map((one) => ({ ...one, status: 'True' as const, reason: 'Newer' }))
    const reasonTo = (status: NetworkInterfaceClaim['status']) =>
      planeOf({ kind }).plane.translate({ interface: nic, attachment: undefined, scope, speaker: aClaim({ status }) }).programmed
        .reason
    assert.equal(reasonTo({ networkInterfaceRef: { name: nic.metadata.name }, conditions }), 'Newer')
    assert.equal(reasonTo({ networkInterfaceRef: { name: 'another' }, conditions }), 'Withdrawn')
    assert.equal(reasonTo({ conditions }), 'Withdrawn', 'it was bound to nothing')
    assert.equal(reasonTo({ networkInterfaceRef: { name: nic.metadata.name }, conditions: [] }), 'Withdrawn')
  })

  test('comes, meanwhile, from where it came', () => {
    const from = {
      dataPlane: 'toy',
      object: { apiVersion: 'planes.example.dev/v1', kind: 'Wire', name: 'web-0', uid: 'w-1' },
      generation: 3,
      condition: 'Ready',
    }
    const before = anInterface({ status: { ...said, conditionSources: [{ type: 'Prepared', ...from }] } })
    const { prepared, programmed } = planeOf({ kind: followed('unknown') }).plane.translate({
      interface: before,
      attachment: undefined,
      scope,
    })
    assert.deepEqual([prepared.from, programmed.from], [from, undefined])
  })

  test('says which condition of which object it was read from, and who had set that', () => {
    const ready = { conditions: [{ type: 'Ready', status: 'True', reason: 'R', message: 'up', observedGeneration: 1 }] }
    const attachment = wire(nic, ready)
    const report = planeOf().plane.translate({ interface: nic, attachment, scope })
    const from = {
      dataPlane: 'toy',
      object: { apiVersion: 'planes.example.dev/v1', kind: 'Wire', name: 'web-0', uid: 'wire-uid' },
      generation: 1,
      condition: 'Ready',
      manager: 'Ready-reporter',
    }
    assert.deepEqual([report.prepared.from, report.programmed.from], [from, from], 'a plane without programming: one condition')
  })

  test('is Pending for a new interface meanwhile', () => {
    const fresh = anInterface()
    const report = planeOf({ kind: followed('unknown') }).plane.translate({ interface: fresh, attachment: undefined, scope })
    assert.deepEqual([report.prepared.status, report.prepared.reason], ['Unknown', 'Pending'])
  })

  test('is that the attachment is missing, once they are listed', () => {
    const { plane } = planeOf()
    const report = plane.translate({ interface: nic, attachment: undefined, scope })
    assert.deepEqual([report.prepared.reason, report.vpc], ['Pending', undefined])
  })

  test('is that the kind is not installed, also right after a start', () => {
    const { plane } = planeOf({ kind: followed('unserved') })
    assert.equal(plane.translate({ interface: nic, attachment: undefined, scope }).prepared.reason, 'DataPlaneNotInstalled')
  })

  test('names what the interface itself lacks for its template', () => {
    const { plane } = planeOf({
      spec: { attachment: { ...spec.attachment, spec: { x: '${[1, 2].map(i, interface.spec.mtu / 0)}' } } },
    })
    const { prepared } = plane.translate({ interface: nic, attachment: undefined, scope })
    assert.match(prepared.message, /does not exist yet: spec\.attachment\.spec\.x, column \d+: /)
  })

  test('names someone else’s object under the name of the network, as long as it is not prepared', () => {
    const { plane } = planeOf()
    const message = 'Net default/net-here exists and is not this context’s: it is not taken over'
    const networkObject = { apiVersion: 'x', kind: 'Net', metadata: { name: 'net-here', namespace: 'default' }, spec: {} }
    const taken = { ...scope, networkObject }
    const missing = plane.translate({ interface: nic, attachment: undefined, scope: taken })
    assert.equal(
      missing.prepared.message,
      `DataPlane toy: nothing is made for default/web-0: ${message}: remove that object, or use another network name`,
    )
    assert.deepEqual([missing.prepared.status, missing.prepared.reason], ['False', 'NetworkObjectForeign'])
    assert.equal(missing.programmed.message, missing.prepared.message, 'a plane that reports no programming: they are one')
    const silent = plane.translate({ interface: nic, attachment: wire(nic, {}), scope: taken })
    assert.ok(
      silent.prepared.message.endsWith(`: no report yet; ${message}: wait for the data plane, and see that it runs`),
      silent.prepared.message,
    )
    const ready = { conditions: [{ type: 'Ready', status: 'True', reason: 'R', message: 'up', observedGeneration: 1 }] }
    assert.match(plane.translate({ interface: nic, attachment: wire(nic, ready), scope: taken }).prepared.message, /up$/)
  })

  test('says what NSO waits for before it makes the network object, as long as it is not prepared', () => {
    const network = { apiVersion: 'planes.example.dev/v1', kind: 'Net', spec: {} }
    const { plane } = planeOf({ spec: { network } })
    const both = { ...scope, context: aContext({ spec: { ipFamilies: ['IPv6', 'IPv4'] } }) }
    const waits = { conditions: [{ type: 'Ready', status: 'False', reason: 'NoNet', message: 'no net', observedGeneration: 1 }] }
    const messageIn = (given: typeof both, of = plane) =>
      of.translate({ interface: nic, attachment: wire(nic, waits), scope: given }).prepared.message
    const note = 'NSO makes Net net-here when network context net-here has a Subnet of'
    assert.ok(messageIn(both).endsWith(`no net; ${note} IPv6 and of IPv4`), messageIn(both))
    const subnets = [{ cidr: 'fd20::/64', family: 'IPv6', gateway: undefined }]
    assert.ok(messageIn({ ...both, subnets }).endsWith(`; ${note} IPv4`))
    const networkObject = { apiVersion: 'x', kind: 'Net', metadata: { name: 'net-here', namespace: 'default' }, spec: {} }
    assert.ok(!messageIn({ ...both, networkObject } as typeof both).includes('a Subnet'), 'it is there')
    const all = [...subnets, { cidr: '10.0.0.0/20', family: 'IPv4', gateway: undefined }]
    assert.ok(!messageIn({ ...both, subnets: all }).includes('a Subnet'), 'it is about to be made')
    assert.ok(!messageIn(both, planeOf().plane).includes('a Subnet'), 'a plane without network objects')
    const ready = { conditions: [{ type: 'Ready', status: 'True', reason: 'R', message: 'up', observedGeneration: 1 }] }
    assert.match(plane.translate({ interface: nic, attachment: wire(nic, ready), scope: both }).prepared.message, /up$/)
  })

  test('is what stands also where that was never anything but Unknown: it keeps the time of the seed', () => {
    const [prepared, programmed] = said.conditions
    assert.ok(prepared && programmed)
    const seed = { status: 'Unknown' as const, lastTransitionTime: '1970-01-01T00:00:00Z' }
    const reasonOf = (more: object) => {
      const before = anInterface({ status: { ...said, conditions: [prepared, { ...programmed, ...seed, ...more }] } })
      return planeOf({ kind: followed('unknown') }).plane.translate({ interface: before, attachment: undefined, scope }).prepared
        .reason
    }
    assert.equal(reasonOf({ observedGeneration: 1 }), 'AttachmentReady')
    assert.equal(reasonOf({}), 'Pending', 'nobody said it')
  })

  const saidBefore = (reason: string, message: string) => {
    const conditions = said.conditions.map((one) => ({ ...one, status: 'False' as const, reason, message }))
    return anInterface({ status: { ...said, conditions } })
  }
  const refusal = 'DataPlane toy: Wire default/web-0: the API server refuses it: no: correct it'

  test('is that the API server refuses the attachment, until a new process has its answer', () => {
    const refused = saidBefore('AttachmentRefused', refusal)
    const reportOf = (given: Given, of = refused) =>
      planeOf(given).plane.translate({ interface: of, attachment: undefined, scope }).prepared
    assert.deepEqual(reportOf({}), { status: 'False', reason: 'AttachmentRefused', message: refusal })
    assert.match(reportOf({ refused: 'no longer so' }).message, /: no longer so: correct the templates/)
    assert.equal(reportOf({ denied: 'NSO may not' }).reason, 'Pending', 'something else hinders it')
    for (const message of ['DataPlane other: Wire default/web-0: no', 'DataPlane toy: Rope default/web-0: no']) {
      const { reason } = reportOf({}, saidBefore('AttachmentRefused', message))
      assert.equal(reason, 'Pending', 'it was about another attachment')
    }
    const conditions = refused.status?.conditions ?? []
    const speaker = aClaim({ status: { networkInterfaceRef: { name: nic.metadata.name }, conditions } })
    const ofClaim = planeOf().plane.translate({ interface: nic, attachment: undefined, scope, speaker })
    assert.equal(ofClaim.prepared.reason, 'AttachmentRefused')
  })

  test('is what stands, as long as network objects are not listed', () => {
    const network = { apiVersion: 'planes.example.dev/v1', kind: 'Net', spec: {} }
    const foreign = saidBefore('NetworkObjectForeign', 'of another')
    const reasonWith = (kind: FollowedKind) =>
      planeOf({ spec: { network }, network: kind }).plane.translate({ interface: foreign, attachment: undefined, scope }).prepared
        .reason
    for (const kind of [followed('asking'), followed('unknown'), followed('served'), followed('served', 'starting')]) {
      assert.equal(reasonWith(kind), 'NetworkObjectForeign')
    }
    assert.equal(reasonWith(followed('served', 'synced')), 'Pending')
    assert.equal(reasonWith(followed('unserved')), 'Pending')
  })

  test('takes nothing back, meanwhile, that was read from a network object, and does not say that there is none', () => {
    const network = { apiVersion: 'planes.example.dev/v1', kind: 'Net', spec: {} }
    const both = { ...scope, context: aContext({ spec: { ipFamilies: ['IPv6'] } }) }
    const waits = { conditions: [{ type: 'Ready', status: 'False', reason: 'NoNet', message: 'no net', observedGeneration: 1 }] }
    const of = (kind: FollowedKind, vpc: string, given: TemplateScope = both) => {
      const { plane } = planeOf({ spec: { network, report: { ...spec.report, vpc } }, network: kind })
      const { prepared, vpc: told } = plane.translate({
        interface: nic,
        attachment: wire(nic, { ...waits, wire: 'w-7' }),
        scope: given,
      })
      return [prepared.message.replace(/.*: /, ''), told]
    }
    const note = 'no net; NSO makes Net net-here when network context net-here has a Subnet of IPv6'
    const [starting, synced] = [followed('served', 'starting'), followed('served', 'synced')]
    const fromNetwork = '${networkObject.status.id}'
    assert.deepEqual(of(starting, fromNetwork), ['no net', 'jU'])
    assert.deepEqual(of(starting, '${attachment.status.wire}'), ['no net', 'w-7'])
    assert.deepEqual(of(synced, fromNetwork), [note, undefined])
    const owner = { apiVersion: 'x', kind: 'NetworkContext', name: 'net-here', uid: both.context.metadata.uid ?? '' }
    const metadata = { name: 'net-here', namespace: 'default', ownerReferences: [{ ...owner, controller: true }] }
    const networkObject = { apiVersion: 'x', kind: 'Net', metadata, spec: {}, status: { id: 'n-1' } }
    assert.deepEqual(of(starting, fromNetwork, { ...both, networkObject }), ['no net', 'n-1'], 'it was just made')
  })

  test('has the identifiers of its own attachment only', () => {
    const { plane } = planeOf()
    const status = { wire: 'w-7', conditions: [] }
    assert.equal(plane.translate({ interface: nic, attachment: wire(nic, status), scope }).vpc, 'w-7')
    const other = anInterface({ metadata: { uid: 'other' } })
    assert.equal(plane.translate({ interface: other, attachment: wire(nic, status), scope }).vpc, undefined)
  })

  test('survives a report that the templates cannot read', () => {
    const { plane } = planeOf({ spec: { report: { ...spec.report, vpc: '${attachment.status.wire + 1}' } } })
    assert.equal(plane.translate({ interface: nic, attachment: wire(nic, { wire: 'w-7' }), scope }).vpc, undefined)
  })
})

describe('a plane is hindered', () => {
  const table: { says: string; given: Parameters<typeof planeOf>[0]; want: RegExp | undefined }[] = [
    { says: 'not at all when all is well', given: {}, want: undefined },
    { says: 'not by what is not known yet', given: { kind: followed('unknown') }, want: undefined },
    {
      says: 'by a template',
      given: { spec: { attachment: { ...spec.attachment, spec: { a: '${b}' } } } },
      want: /^spec\.attachment\.spec\.a/,
    },
    {
      says: 'by a kind that is not served',
      given: { kind: followed('unserved') },
      want: /^kind Wire \(planes\.example\.dev\/v1\) is not served$/,
    },
    { says: 'by a kind that is not namespaced', given: { kind: followed('not-namespaced') }, want: /is not namespaced$/ },
    { says: 'by lack of permission', given: { denied: 'NSO may not' }, want: /^NSO may not$/ },
  ]
  for (const { says, given, want } of table) {
    test(says, () => {
      const { plane } = planeOf(given)
      if (want) assert.match(plane.hindrance ?? '', want)
      else assert.equal(plane.hindrance, undefined)
    })
  }
})

describe('kinds that would lend out NSO’s rights', () => {
  const refused = [
    'v1',
    'apps/v1',
    'rbac.authorization.k8s.io/v1',
    'admissionregistration.k8s.io/v1',
    'apiextensions.k8s.io/v1',
    'k8s.cni.cncf.io/v1',
    'networking.datumapis.com/v1alpha',
  ]
  for (const apiVersion of refused) {
    test(`${apiVersion} is refused, not followed, and nothing is rendered`, () => {
      const { plane, compiled, asked } = planeOf({ spec: { attachment: { ...spec.attachment, apiVersion, kind: 'Thing' } } })
      assert.equal(isAllowed({ apiVersion }), false)
      assert.deepEqual(compiled.refusedKinds, [`Thing (${apiVersion})`])
      assert.match(plane.hindrance ?? '', /is not allowed$/)
      assert.equal(plane.attachments, undefined)
      assert.deepEqual(asked, [])
      assert.throws(() => plane.renderAttachment({ interface: anInterface(), context: aContext(), subnets: [] }), TemplateError)
    })
  }
  test('others are not', () => assert.ok(isAllowed({ apiVersion: 'cloud.datumapis.com/v1alpha1' })))
})

test('a DataPlane that an older schema let in gives errors and harms nothing', () => {
  for (const odd of [undefined, null, {}, { attachment: {} }, { attachment: { apiVersion: 'a.b/v1', kind: 'C' }, report: {} }]) {
    const { errors } = compileSpec(odd as unknown as DataPlane['spec'])
    assert.ok(errors.length > 0, JSON.stringify(odd))
  }
})

describe('a plane whose published schema speaks against its templates', () => {
  const schemaOf = (spec: string[], status: string[]) => {
    const map = (names: string[]) => ({ type: 'object', properties: Object.fromEntries(names.map((name) => [name, {}])) })
    return { type: 'object', properties: { spec: map(spec), status: map(status) } }
  }
  const known = (spec: string[], status: string[]) =>
    ({ ...followed('served', 'synced'), schema: schemaOf(spec, status) }) satisfies FollowedKind
  const nic = anInterface({ status: { ...said, vpc: 'told before' } })
  const owner = { apiVersion: 'x', kind: 'NetworkInterface', name: 'web-0', uid: 'nic-uid', controller: true }
  const attachment = (status: object): KubeObject => ({
    apiVersion: 'planes.example.dev/v1',
    kind: 'Wire',
    metadata: { name: 'web-0', namespace: 'default', uid: 'a-1', generation: 1, ownerReferences: [owner] },
    spec: {},
    status,
  })
  const translated = (kind: FollowedKind, status: object) => {
    const { plane } = planeOf({ kind })
    return plane.translate({ interface: nic, attachment: attachment(status), scope: { interface: nic, subnets: [] } })
  }
  const conditions = [{ type: 'Ready', status: 'False', reason: 'Busy', message: 'x', observedGeneration: 1 }]

  test('is hindered by the first of them, and sound again with another schema', () => {
    const { plane } = planeOf({ kind: known(['mtu'], ['conditions', 'wire']) })
    assert.deepEqual(
      plane.unknownFields.map(({ path }) => path),
      ['spec.attachment.spec.to'],
    )
    assert.match(plane.hindrance ?? '', /^spec\.attachment\.spec\.to: Wire .* has no field spec\.to/)
    assert.equal(plane.unknownFields, plane.unknownFields, 'it is checked once')
    assert.equal(planeOf({ kind: known(['mtu', 'to'], ['conditions', 'wire']) }).plane.hindrance, undefined)
  })
  test('still says what is reported', () => {
    const report = translated(known(['mtu'], ['conditions', 'wire']), { conditions, wire: 'w-1' })
    assert.deepEqual([report.prepared.status, report.prepared.reason, report.vpc], ['False', 'Busy', 'w-1'])
  })
  test('repeats the identifier that can no longer be read, and no condition', () => {
    const report = translated(known(['mtu', 'to'], ['conditions']), { conditions })
    assert.deepEqual([report.prepared.status, report.prepared.reason, report.vpc], ['False', 'Busy', 'told before'])
  })
  test('repeats everything when there is no place for conditions', () => {
    const report = translated(known(['mtu', 'to'], ['wire']), {})
    assert.deepEqual([report.prepared.status, report.prepared.reason, report.vpc], ['True', 'AttachmentReady', 'told before'])
  })
  test('but nothing about an attachment that is not there', () => {
    const { plane } = planeOf({ kind: known(['mtu', 'to'], ['wire']) })
    const report = plane.translate({ interface: nic, attachment: undefined, scope: { interface: nic, subnets: [] } })
    assert.deepEqual([report.prepared.status, report.prepared.reason], ['Unknown', 'Pending'])
  })
})

describe('a plane in which an earlier process found unknown fields, whose schema has not come yet,', () => {
  const refusal = 'spec.attachment.spec.to: Wire has no field spec.to: correct the DataPlane'
  const accepted = { type: 'Accepted', status: 'False' as const, reason: 'UnknownField', message: refusal }
  const status = { conditions: [{ ...accepted, observedGeneration: 1, lastTransitionTime: '2026-01-01T00:00:00Z' }] }
  const nic = anInterface({ status: said })
  const scope: TemplateScope = { interface: nic, context: aContext(), subnets: [] }
  const { plane } = planeOf({ status })
  const reportOf = (attachment: KubeObject | undefined) => plane.translate({ interface: nic, attachment, scope })
  const ready = { type: 'Ready', status: 'False', reason: 'Busy', message: 'x', observedGeneration: 1 }

  test('stays refused, in the same words, and makes nothing', () => {
    assert.deepEqual([plane.standingRefusal, plane.hindrance], [refusal, refusal])
  })
  test('is judged anew where the spec was changed, the kind is not served, the schema is there, or it was refused for another reason', () => {
    const schema = { ...followed('served', 'synced'), schema: {} }
    const [condition] = status.conditions
    assert.ok(condition)
    const others: Given[] = [
      { status: { conditions: [{ ...condition, observedGeneration: 0 }] } },
      { status, kind: followed('unserved') },
      { status, kind: schema },
      { status: { conditions: [{ ...condition, reason: 'InvalidTemplate' }] } },
      {},
    ]
    for (const given of others) assert.equal(planeOf(given).plane.standingRefusal, undefined, JSON.stringify(given))
    const network = { apiVersion: 'planes.example.dev/v1', kind: 'Net', spec: {} }
    const half = planeOf({ status, kind: schema, network: followed('served', 'synced'), spec: { network } })
    assert.equal(half.plane.standingRefusal, refusal, 'one of its kinds')
  })
  test('does not hide that nothing is known while the kind is asked for', () => {
    assert.equal(planeOf({ status, kind: followed('asking') }).plane.hindrance, undefined)
  })
  test('takes back nothing that was said of an interface', () => {
    for (const attachment of [undefined, wire(nic, {}), wire(nic, { phase: 'x' })]) {
      const { prepared, vpc } = reportOf(attachment)
      assert.deepEqual([prepared.reason, vpc], ['AttachmentReady', 'jU'])
    }
  })
  test('and still says what is reported', () => {
    const { prepared, vpc } = reportOf(wire(nic, { conditions: [ready] }))
    assert.deepEqual([prepared.reason, vpc], ['Busy', 'jU'])
    assert.equal(reportOf(wire(nic, { conditions: [ready], wire: 'w-7' })).vpc, 'w-7')
  })
})

test('a template of the network sees what is there before any interface', () => {
  const network = (facts: object) => ({ network: { apiVersion: 'planes.example.dev/v1', kind: 'Net', spec: { facts } } })
  const errors = (facts: object) => compileSpec({ ...spec, ...network(facts) }).errors.map(({ message }) => message)
  assert.deepEqual(errors({ a: '${context.metadata.name}${subnets.size()}${network.metadata.name}' }), [])
  assert.deepEqual(errors({ a: '${subnets.map(interface, interface.cidr)}' }), [], 'a name that a macro binds')
  for (const variable of ['interface', 'claim', 'attachment', 'networkObject']) {
    const why = 'the object of a network is made before any interface: only context, subnets and network are there'
    assert.deepEqual(errors({ a: `\${${variable}.metadata.name}` }), [
      `spec.network.spec.facts.a, column 3: ${variable} is not there: ${why}`,
    ])
  }
  assert.match(errors({ a: '${nobody}' })[0] ?? '', /Unknown variable: nobody/)
  assert.equal(planeOf({ spec: network({ a: '${network.metadata.name}' }) }).plane.readsNetwork, true)
  assert.equal(planeOf({ spec: network({ a: '${context.metadata.name}' }) }).plane.readsNetwork, false)
})
