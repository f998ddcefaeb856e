/** What the alerts are held against: sentences about a world, and who fires when in it. Minutes and values per minute throughout. */
import { leads, type Of, policyRows, writerRows } from './component-rows.ts'
import type { Row, World } from './promtool.ts'
import { bursts, fires, flat, growing, horizon, phases } from './series.ts'

const passes = (result: string, controller = 'networkinterfaceclaim') =>
  `controller_runtime_reconcile_total{controller="${controller}",result="${result}",namespace="nso-system"}`
const high = fires('ControllerReconcileErrorRatioHigh', { controller: 'networkinterfaceclaim' })
const critical = fires('ControllerReconcileErrorRatioCritical', { controller: 'networkinterfaceclaim' })

/** Fourteen passes every nine minutes, eight of which lose a race: what routine looks like. */
export const routineStorm = {
  /** The original counts a lost race as an error. */
  original: { [passes('success')]: bursts(9, 6), [passes('error')]: bursts(9, 8), [passes('requeue')]: flat(0) },
  /** Here it is a requeue; now and then something does fail. */
  ours: { [passes('success')]: bursts(9, 6), [passes('requeue')]: bursts(9, 8), [passes('error')]: bursts(60, 1) },
} satisfies Record<string, World>

export const controllerRows: readonly Row[] = [
  {
    says: 'passes succeed',
    world: { [passes('success')]: growing(100), [passes('error')]: flat(0) },
    at: [[60, []]],
  },
  {
    says: 'three of ten passes fail: a warning after fifteen minutes, and no more than that',
    world: { [passes('success')]: growing(7), [passes('error')]: growing(3) },
    at: [
      [14, []],
      [20, [high]],
      [90, [high]],
    ],
  },
  {
    says: 'one of seven passes fails: below both',
    world: { [passes('success')]: growing(6), [passes('error')]: growing(1) },
    at: [[90, []]],
  },
  {
    says: 'two of five passes fail, many a minute: not critical',
    world: { [passes('success')]: growing(30), [passes('error')]: growing(20) },
    at: [[60, [high]]],
  },
  {
    says: 'three of five passes fail: critical after ten minutes',
    world: { [passes('success')]: growing(4), [passes('error')]: growing(6) },
    at: [
      [9, []],
      [13, [critical]],
      [20, [critical, high]],
    ],
  },
  {
    says: 'all passes fail, one and a half a minute: critical',
    world: { [passes('success')]: flat(0), [passes('error')]: growing(1.5) },
    at: [[30, [critical, high]]],
  },
  {
    says: 'all passes of a controller at rest fail, seven in ten minutes: a warning, no emergency',
    world: { [passes('success')]: flat(0), [passes('error')]: growing(0.7) },
    at: [[60, [high]]],
  },
  {
    says: 'one controller fails beside a busy one: told by its name',
    world: {
      [passes('success')]: flat(0),
      [passes('error')]: growing(6),
      [passes('success', 'subnet')]: growing(1000),
      [passes('error', 'subnet')]: flat(0),
    },
    at: [[30, [critical, high]]],
  },
  {
    says: 'a fault that ends: both go on firing for half an hour, then not',
    world: { [passes('success')]: phases([60, 4], [120, 100]), [passes('error')]: phases([60, 6]) },
    at: [
      [59, [critical, high]],
      [85, [critical, high]],
      [110, []],
    ],
  },
  {
    says: 'a restart of the process starts the counters again: no fault',
    world: { [passes('success')]: `${growing(20).replace(String(horizon), '30')} 0+20x150`, [passes('error')]: '0+0x30 0+0x150' },
    at: [
      [32, []],
      [60, []],
    ],
  },
  {
    says: 'the routine race storm, as it is counted here, with an error now and then',
    world: routineStorm.ours,
    at: [30, 60, 90, 120, 170].map((minute) => [minute, []] as const),
  },
]

const nso: Of = {
  title: 'Nso',
  prefix: 'nso',
  lease: 'network-services-operator.networking.datumapis.com',
  controller: 'networkinterfaceclaim',
  resource: 'networkinterfaceclaims',
  field: 'conditions/Programmed',
}
const galactic: Of = {
  title: 'Galactic',
  prefix: 'galactic',
  lease: 'galactic.cloud.datumapis.com',
  controller: 'vpcattachment',
  resource: 'vpcattachments',
  field: 'conditions/Ready',
}

const bridge: Of = {
  title: 'Bridge',
  prefix: 'bridge',
  lease: 'bridge.datumapis.com',
  controller: 'bridgeattachment',
  resource: 'bridgeattachments',
  field: 'conditions/Programmed',
}

const nsoLed = { [leads(nso.lease)]: flat(1) }
const galacticLed = { [leads(galactic.lease)]: flat(1) }
const waits = (reason: string, instance = 'a') => `nso_claim_oldest_not_ready_seconds{reason="${reason}",instance="${instance}"}`
const waitsFor = (reason: string) => fires('NsoClaimsNotReady', { reason })
const plane = (metric: string, instance = 'a') => `nso_${metric}{data_plane="toy",instance="${instance}"}`
const ofPlane = (name: string) => fires(name, { data_plane: 'toy' })

export const nsoRows: readonly Row[] = [
  ...writerRows(nso),
  ...policyRows(nso),
  {
    says: 'a claim waits for its data plane: told after a quarter of an hour, until it is Ready',
    world: { ...nsoLed, [waits('NotPrepared')]: '0+60x60 _x100' },
    at: [
      [14, []],
      [17, [waitsFor('NotPrepared')]],
      [60, [waitsFor('NotPrepared')]],
      [68, []],
    ],
  },
  {
    says: 'both replicas say so: told once',
    world: { ...nsoLed, [waits('NotPrepared', 'a')]: growing(60), [waits('NotPrepared', 'b')]: growing(60) },
    at: [[60, [waitsFor('NotPrepared')]]],
  },
  {
    says: 'claims come and go, none waits for long',
    world: {
      ...nsoLed,
      [waits('NotPrepared')]: flat(400),
      [waits('Pending')]: flat(2),
      'nso_claims{ready="True"}': flat(10_000),
    },
    at: [[120, []]],
  },
  {
    says: 'the pool is empty, and a claim cannot be let go',
    world: { ...nsoLed, [waits('AddressPoolExhausted')]: growing(60), [waits('Deleting')]: growing(60) },
    at: [[60, [waitsFor('AddressPoolExhausted'), waitsFor('Deleting')]]],
  },
  {
    says: 'claims wait a quarter of an hour at most',
    world: { ...nsoLed, [waits('NotProgrammed')]: flat(900) },
    at: [[60, [waitsFor('NotProgrammed')]]],
  },
  ...['AddressFamilyNotCarried', 'NetworkMismatch', 'ReclaimPolicyMismatch', 'NetworkNotAvailableInLocation'].map((reason) => ({
    says: `a claim asks for what there is not (${reason}): its author’s business`,
    world: { ...nsoLed, [waits(reason)]: growing(60) },
    at: [[120, []]] as const,
  })),
  {
    says: 'an attachment without a report: its data plane is named after minutes, until the report is there',
    world: {
      ...nsoLed,
      [plane('attachment_oldest_unreported_seconds')]: `0+60x20 0+0x${horizon}`,
      [plane('data_plane_usable')]: flat(1),
    },
    at: [
      [6, []],
      [9, [ofPlane('NsoDataPlaneSilent')]],
      [20, [ofPlane('NsoDataPlaneSilent')]],
      [23, []],
    ],
  },
  {
    says: 'reports take their time, but come',
    world: { ...nsoLed, [plane('attachment_oldest_unreported_seconds')]: flat(200) },
    at: [[60, []]],
  },
  {
    says: 'reports take nine minutes',
    world: { ...nsoLed, [plane('attachment_oldest_unreported_seconds')]: flat(540) },
    at: [[60, [ofPlane('NsoDataPlaneSilent')]]],
  },
  {
    says: 'a data plane whose kind is gone; the replica that does not lead has not noticed',
    world: { ...nsoLed, [plane('data_plane_usable', 'a')]: `1+0x19 0+0x${horizon}`, [plane('data_plane_usable', 'b')]: flat(1) },
    at: [
      [28, []],
      [32, [ofPlane('NsoDataPlaneUnusable')]],
    ],
  },
  {
    says: 'a data plane is installed in some minutes',
    world: { ...nsoLed, [plane('data_plane_usable')]: `0+0x5 1+0x${horizon}` },
    at: [4, 12, 60].map((minute) => [minute, []] as const),
  },
  {
    says: 'a data plane whose new version reports nonsense, until it is taken back',
    world: { ...nsoLed, [plane('data_plane_contract_violations')]: `0+0x9 3+0x20 0+0x${horizon}` },
    at: [
      [12, []],
      [17, [ofPlane('NsoDataPlaneBreaksContract')]],
      [29, [ofPlane('NsoDataPlaneBreaksContract')]],
      [32, []],
    ],
  },
  {
    says: 'a data plane that puts a bad report right by itself',
    world: { ...nsoLed, [plane('data_plane_contract_violations')]: `0+0x9 1+0x2 0+0x${horizon}` },
    at: [12, 16, 60].map((minute) => [minute, []] as const),
  },
]

const attachmentWaits = (reason: string) => `galactic_attachment_oldest_not_ready_seconds{reason="${reason}"}`

export const galacticRows: readonly Row[] = [
  ...writerRows(galactic),
  ...policyRows(galactic),
  {
    says: 'an attachment waits: told after a quarter of an hour, until it is ready',
    world: { ...galacticLed, [attachmentWaits('IdentifiersExhausted')]: '0+60x60 _x100' },
    at: [
      [14, []],
      [17, [fires('GalacticAttachmentsNotReady', { reason: 'IdentifiersExhausted' })]],
      [68, []],
    ],
  },
  {
    says: 'attachments take up to seven minutes',
    world: { ...galacticLed, [attachmentWaits('AwaitingVPC')]: flat(420) },
    at: [[60, []]],
  },
  {
    says: 'attachments take a quarter of an hour',
    world: { ...galacticLed, [attachmentWaits('AwaitingVPC')]: flat(900) },
    at: [[60, [fires('GalacticAttachmentsNotReady', { reason: 'AwaitingVPC' })]]],
  },
]

const bridgeLed = { [leads(bridge.lease)]: flat(1) }
const bridgeWaits = (type: string, reason: string) => `bridge_attachment_oldest_not_${type}_seconds{reason="${reason}"}`
const misreported = (reason: string) => fires('BridgeAttachmentsMisreported', { reason })

export const bridgeRows: readonly Row[] = [
  ...writerRows(bridge),
  ...policyRows(bridge),
  {
    says: 'an attachment waits: told after a quarter of an hour, until it is ready',
    world: { ...bridgeLed, [bridgeWaits('ready', 'DefinitionConflict')]: '0+60x60 _x100' },
    at: [
      [14, []],
      [17, [fires('BridgeAttachmentsNotReady', { reason: 'DefinitionConflict' })]],
      [68, []],
    ],
  },
  {
    says: 'attachments take up to seven minutes',
    world: { ...bridgeLed, [bridgeWaits('ready', 'AwaitingNetwork')]: flat(420) },
    at: [[60, []]],
  },
  {
    says: 'attachments take a quarter of an hour',
    world: { ...bridgeLed, [bridgeWaits('ready', 'AwaitingNetwork')]: flat(900) },
    at: [[60, [fires('BridgeAttachmentsNotReady', { reason: 'AwaitingNetwork' })]]],
  },
  {
    says: 'no Pod has an interface for an hour: nobody has started one',
    world: { ...bridgeLed, [bridgeWaits('programmed', 'NotAttached')]: '0+60x60 _x100' },
    at: [[50, []]],
  },
  {
    says: 'a Pod has other addresses than were asked for: told after a quarter of an hour, until it is started again',
    world: { ...bridgeLed, [bridgeWaits('programmed', 'AddressesDiffer')]: '0+60x60 _x100' },
    at: [
      [14, []],
      [17, [misreported('AddressesDiffer')]],
      [68, []],
    ],
  },
  {
    says: 'Pods may not be read, and a report that nobody can read',
    world: {
      ...bridgeLed,
      [bridgeWaits('programmed', 'PodsForbidden')]: flat(900),
      [bridgeWaits('programmed', 'ReportUnreadable')]: flat(900),
    },
    at: [[60, ['PodsForbidden', 'ReportUnreadable'].map(misreported)]],
  },
  {
    says: 'Multus puts its report right within seven minutes',
    world: { ...bridgeLed, [bridgeWaits('programmed', 'ReportUnreadable')]: flat(420) },
    at: [[60, []]],
  },
]

export const rowsOf: Readonly<Record<string, readonly Row[]>> = {
  controllers: controllerRows,
  nso: nsoRows,
  galactic: galacticRows,
  bridge: bridgeRows,
}
