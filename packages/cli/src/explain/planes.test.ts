/** Chains through data planes: what NSO finds wrong with them, whom it is up to, and planes that nobody has heard of. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  condition,
  deleting,
  entry,
  explained,
  type Loose,
  lease,
  notPrepared,
  says,
  stored,
  type World,
} from '../../test/example-chain.ts'
import { plain } from '../tree.ts'
import { renderExplanation } from './render.ts'

const ours = 'networking.datumapis.com/v1alpha'

/** NSO says the same of a part on interface and claim. */
function nsoSays(w: World, status: string, reason: string, message: string, type = 'Prepared'): void {
  for (const object of [w.claim, w.nic]) says(object, { ...condition(type, status, reason), message })
  says(w.claim, condition('Ready', status === 'Unknown' ? 'Unknown' : 'False', `Not${type}`))
}

const unmade = (w: World) => delete w.attachment

/** A claim that was turned away has no interface. */
function turnedAway(w: World, reason: string, message: string): void {
  delete w.nic
  delete w.attachment
  delete w.claim?.status?.networkInterfaceRef
  for (const type of ['Bound', 'Allocated', 'Ready']) says(w.claim, { ...condition(type, 'False', reason), message })
}

const table: { says: string; given: (w: World) => void; want: RegExp; remedy: RegExp | undefined }[] = [
  {
    says: 'the data plane does not offer the mode',
    given: (w) =>
      turnedAway(
        w,
        'AttachmentModeNotSupported',
        'DataPlane galactic does not offer attachment mode Hypervisor; it offers Netns.',
      ),
    want: /^Broken at DataPlane galactic: DataPlane galactic does not offer attachment mode Hypervisor; it offers Netns \(Bound=False AttachmentModeNotSupported\)\.$/,
    remedy: /^Make a new claim with a mode that the message names, or serve the location with another data plane\.$/,
  },
  {
    says: 'the data plane does not carry the family',
    given: (w) => turnedAway(w, 'AddressFamilyNotSupported', 'DataPlane galactic does not carry IPv4; it carries IPv6.'),
    want: /^Broken at DataPlane galactic: .*does not carry IPv4; it carries IPv6 \(/,
    remedy: /^Make a new claim for families that the message names/,
  },
  {
    says: 'the API server refuses the attachment',
    given: (w) => {
      unmade(w)
      nsoSays(w, 'False', 'AttachmentRefused', 'DataPlane galactic: the API server refuses it: spec.mtu is too small')
    },
    want: /^Broken at VPCAttachment default\/web-0: it does not exist; NSO says Prepared=False AttachmentRefused: DataPlane galactic: the API server refuses it: spec\.mtu is too small\.$/,
    remedy: /^The message has the server’s words\. Correct the templates of the DataPlane/,
  },
  {
    says: 'the API server refuses a change of the attachment',
    given: (w) => nsoSays(w, 'False', 'AttachmentRefused', 'the API server refuses it: spec.mtu is immutable'),
    want: /^Broken at VPCAttachment default\/web-0: the API server refuses what the templates of DataPlane galactic would make of it: .*immutable\.$/,
    remedy: /^The message has the server’s words/,
  },
  {
    says: 'somebody else’s object has the name of the network object',
    given: (w) => {
      unmade(w)
      Object.assign(w.vpc?.metadata ?? {}, {
        ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'y', controller: true }],
      })
      nsoSays(w, 'False', 'NetworkObjectForeign', 'VPC default/net-here exists and is not this context’s: it is not taken over')
    },
    want: /^Broken at VPC default\/net-here: it belongs to ConfigMap x, and is not of NetworkContext default\/net-here: NSO leaves it alone, and attaches nothing to it\.$/,
    remedy: /^Remove the object that the message names, or use another network name\.$/,
  },
  {
    says: 'a report that breaks the contract is the data plane’s fault',
    given: (w) => {
      says(w.attachment, { ...condition('Ready', 'Maybe', 'Perhaps') })
      nsoSays(
        w,
        'Unknown',
        'ContractViolation',
        'VPCAttachment default/web-0 (galactic): condition Ready has a status other than True, False or Unknown',
      )
    },
    want: /^Broken at VPCAttachment default\/web-0: Galactic reports in a form that breaks the contract \(.*status other than True, False or Unknown\); NSO says Prepared=Unknown ContractViolation until it reports otherwise\.$/,
    remedy: /^Report it to the makers of the data plane/,
  },
  {
    says: 'a stale report',
    given: (w) => {
      Object.assign(w.attachment?.metadata ?? {}, { generation: 2 })
      nsoSays(
        w,
        'Unknown',
        'ReportStale',
        'VPCAttachment default/web-0 (galactic): reported for generation 1, the attachment is at 2',
      )
    },
    want: /^Broken at VPCAttachment default\/web-0: its report is stale: it speaks of generation 1, the object is at 2/,
    remedy: /^Wait for the data plane to catch up/,
  },
  {
    says: 'a reason of the data plane’s own, by its own table',
    given: (w) => {
      says(w.attachment, condition('Ready', 'False', 'AttachmentDefinitionConflict'))
      nsoSays(w, 'False', 'AttachmentDefinitionConflict', 'x')
    },
    want: /^Broken at VPCAttachment default\/web-0: Galactic says Ready=False AttachmentDefinitionConflict/,
    remedy: /^Delete or rename that definition\.$/,
  },
  {
    says: 'no data plane',
    given: (w) => {
      for (const name of ['plane', 'attachment'] as const) delete w[name]
      delete w.nic?.metadata.annotations?.['networking.datumapis.com/data-plane']
      nsoSays(w, 'False', 'NoDataPlane', 'No accepted DataPlane serves location here')
    },
    want: /^Broken at DataPlane \(none\): there is none/,
    remedy: /^See kubectl get dataplanes: install one/,
  },
  {
    says: 'all is well, and nothing is to be done',
    given: () => {},
    want: /is Ready\.$/,
    remedy: undefined,
  },
]

for (const { says: what, given, want, remedy } of table) {
  test(`the verdict: ${what}`, () => {
    const { verdict } = explained(given)
    assert.match(verdict.sentence, want)
    if (remedy) assert.match(verdict.remedy ?? '(none)', remedy)
    else assert.equal(verdict.remedy, undefined)
  })
}

for (const [reason, remedy] of [
  ['UnknownField', /install the version of the data plane’s CRDs that has the field/],
  ['ContractUnsupported', /^Install a newer NSO/],
  ['InvalidTemplate', /^Correct what the message names/],
] as const) {
  test(`the verdict: a DataPlane that is not accepted, ${reason}`, () => {
    const { verdict } = explained((w) => {
      unmade(w)
      notPrepared(w)
      says(w.plane, condition('Accepted', 'False', reason))
    })
    assert.match(verdict.sentence, new RegExp(`^Broken at DataPlane galactic: Accepted=False ${reason}: `))
    assert.match(verdict.remedy ?? '', remedy)
  })
}

test('a DataPlane that is being deleted is no fault of those it serves, and told to the others', () => {
  const going = (w: World) => {
    deleting(w.plane, 'networking.datumapis.com/data-plane-in-use')
    says(w.plane, {
      ...condition('Accepted', 'False', 'Deleting'),
      message: 'Waits for 1 interface: default/web-0 of claim web-0',
    })
  }
  const well = explained(going)
  assert.equal(well.verdict.state, 'ready')
  assert.deepEqual(well.notes, ['DataPlane galactic is being deleted for 60 s'])
  const text = renderExplanation(well, plain).join('\n')
  assert.match(text, /finalizer networking\.datumapis\.com\/data-plane-in-use: removed by nso-dataplane \(NSO\)/)

  const late = explained((w) => {
    going(w)
    unmade(w)
    delete w.nic?.metadata.annotations?.['networking.datumapis.com/data-plane']
    nsoSays(w, 'False', 'NoDataPlane', 'No accepted DataPlane serves location here')
  })
  assert.match(late.verdict.sentence, /^Broken at DataPlane galactic: Accepted=False Deleting: Waits for 1 interface: /)
  assert.match(late.verdict.remedy ?? '', /^Delete the claims that the message names/)
})

test('a report without a well-formed reason is believed, and told', () => {
  const { verdict, notes } = explained((w) => {
    for (const object of [w.claim, w.nic]) says(object, condition('Programmed', 'True', 'ContractViolation'))
  })
  assert.equal(verdict.state, 'ready')
  assert.deepEqual(notes, [
    'VPCAttachment default/web-0 reports Programmed in a form that breaks the contract (no well-formed reason); it is believed all the same',
  ])
})

type Plane = {
  name: string
  apiVersion: string
  kind: string
  networkKind?: string
  manager: string
  report: { prepared: { condition: string }; [key: string]: unknown }
  status: object
}

/** The chain goes through another data plane. */
function through({ name, apiVersion, kind, networkKind, manager, report, status }: Plane, w: World): Loose {
  const owner = { apiVersion: ours, kind: 'NetworkInterface', name: 'web-0', uid: 'uid-of-NetworkInterface', controller: true }
  const attachment = stored({
    ...{ apiVersion, kind, name: 'web-0', manager },
    status: { observedGeneration: 1, ...status } as never,
    meta: { ownerReferences: [owner] },
  })
  const network = networkKind ? { network: { apiVersion, kind: networkKind } } : {}
  Object.assign(w.plane?.metadata ?? {}, { name })
  Object.assign(w.plane ?? {}, { spec: { locations: ['*'], ...network, attachment: { apiVersion, kind }, report } })
  Object.assign(w.nic?.metadata.annotations ?? {}, { 'networking.datumapis.com/data-plane': `${name}/uid-of-DataPlane` })
  delete w.vpc
  w.attachment = attachment
  const object = { apiVersion, kind, name: 'web-0', uid: `uid-of-${kind}` }
  const prepared = { type: 'Prepared', dataPlane: name, object, generation: 1, condition: report.prepared.condition, manager }
  Object.assign(w.claim?.status ?? {}, { conditionSources: [prepared] })
  return attachment
}

const bridge: Plane = {
  ...{ name: 'bridge', apiVersion: 'bridge.datumapis.com/v1alpha1', kind: 'BridgeAttachment', manager: 'bridge-attachment' },
  report: {
    ...{ prepared: { condition: 'Ready' }, programmed: { condition: 'Programmed' } },
    podNetwork: '$' + '{attachment.status.networkAttachmentDefinition}',
  },
  status: {
    networkAttachmentDefinition: 'web-0',
    conditions: [condition('Ready', 'True', 'DefinitionReady'), condition('Programmed', 'True', 'Attached')],
  },
}

test('a chain through the bridge: its definition, its writers, whether it runs', () => {
  const { tree, verdict, foreign, leaders } = explained((w) => {
    through(bridge, w)
    Object.assign(w.definition?.metadata ?? {}, {
      labels: { 'bridge.datumapis.com/bridge': 'br-1' },
      managedFields: [
        {
          ...entry('bridge-attachment', []),
          operation: 'Update',
          subresource: undefined,
          fieldsV1: { 'f:spec': { 'f:config': {} } },
        },
      ],
    })
    delete w.galacticLease
  })
  assert.equal(verdict.state, 'ready')
  assert.deepEqual(foreign, [])
  const attachment = tree.children[0]?.children[0]
  assert.equal(attachment?.kind, 'BridgeAttachment')
  assert.deepEqual(
    attachment?.children.map(({ kind, notes }) => [kind, notes]),
    [['NetworkAttachmentDefinition', ['its spec is written by bridge-attachment (Bridge)']]],
  )
  assert.deepEqual(
    leaders.map(({ component, state }) => [component, state]),
    [
      ['NSO', 'leading'],
      ['Bridge', 'none'],
    ],
  )
})

test('a bridge that does not run, and what a Pod lacks', () => {
  const silent = explained((w) => {
    delete through(bridge, w).status
    notPrepared(w)
  })
  assert.match(
    silent.verdict.sentence,
    /^Broken at BridgeAttachment default\/web-0: Bridge has reported nothing for 60 s \(no status written by bridge-attachment\); Bridge is not running: there is no Lease bridge-system\//,
  )
  const unattached = explained((w) => {
    says(through(bridge, w), { ...condition('Programmed', 'False', 'NotAttached'), message: 'no Pod has it' })
    nsoSays(w, 'False', 'NotAttached', 'BridgeAttachment default/web-0 (bridge): no Pod has it', 'Programmed')
  })
  assert.match(
    unattached.verdict.sentence,
    /^Broken at BridgeAttachment default\/web-0: Bridge says Programmed=False NotAttached for 60 s: no Pod has it; NSO waits for its condition Programmed\.$/,
  )
  assert.match(unattached.verdict.remedy ?? '', /^Normal before the Pod starts/)
})

const unknown: Plane = {
  ...{ name: 'cables', apiVersion: 'cables.example.dev/v1', kind: 'Cable', networkKind: 'Duct', manager: 'python-requests' },
  report: { prepared: { condition: 'Up' } },
  status: { conditions: [condition('Up', 'True', 'Plugged')] },
}

test('a chain through a data plane that nobody has heard of', () => {
  const duct = (w: World) => {
    const owner = { apiVersion: ours, kind: 'NetworkContext', name: 'net-here', uid: 'uid-of-NetworkContext', controller: true }
    w.vpc = stored({
      ...{ apiVersion: unknown.apiVersion, kind: 'Duct', name: 'net-here', manager: 'python-requests' },
      status: { conditions: [condition('Dug', 'True', 'Dug')] },
      meta: { ownerReferences: [owner] },
    })
  }
  const programmed = (w: World) => {
    for (const object of [w.claim, w.nic]) says(object, condition('Programmed', 'True', 'NotReported'))
  }
  const well = explained((w) => {
    through(unknown, w)
    duct(w)
    programmed(w)
    delete w.galacticLease
  })
  assert.equal(well.verdict.state, 'ready')
  assert.deepEqual(well.foreign, [])
  assert.deepEqual(
    well.leaders.map(({ component }) => component),
    ['NSO'],
  )
  const cable = well.tree.children[0]?.children[0]
  assert.deepEqual(
    [cable?.kind, cable?.conditions.map(({ type }) => type), cable?.children.map(({ kind }) => kind)],
    ['Cable', ['Up'], ['Duct']],
  )
  assert.deepEqual(
    well.tree.conditions
      .find(({ type }) => type === 'Prepared')
      ?.from?.map(({ kind, says: said, manager }) => [kind, said, manager]),
    [['Cable', 'Up=True Plugged', 'python-requests']],
  )

  const down = explained((w) => {
    says(through(unknown, w), { ...condition('Up', 'False', 'Cut'), message: 'a digger was here' })
    duct(w)
    nsoSays(w, 'False', 'Cut', 'Cable default/web-0 (cables): a digger was here')
  })
  assert.equal(
    down.verdict.sentence,
    'Broken at Cable default/web-0: data plane cables says Up=False Cut for 60 s: a digger was here; NSO waits for its condition Up.',
  )
  assert.equal(down.verdict.remedy, undefined)

  const silent = explained((w) => {
    delete through(unknown, w).status
    duct(w)
    notPrepared(w)
  })
  assert.match(
    silent.verdict.sentence,
    /^Broken at Cable default\/web-0: data plane cables has reported nothing for 60 s \(no status\); NSO waits for its condition Up\.$/,
  )
})

test('a Lease of a component that the chain does not need is shown only where it stands', () => {
  const components = (change: (w: World) => void) => explained(change).leaders.map(({ component }) => component)
  assert.deepEqual(
    components(() => {}),
    ['NSO', 'Galactic'],
  )
  assert.deepEqual(
    components((w) => void through(unknown, w)),
    ['NSO', 'Galactic'],
  )
  assert.deepEqual(
    components((w) => {
      w.extra = lease('bridge-system', 'bridge.datumapis.com')
    }),
    ['NSO', 'Galactic', 'Bridge'],
  )
})
