/**
 * The alert rules, once: `npm run generate` writes them as plain rule files and as PrometheusRule objects. Names and thresholds
 * of the two about reconcile errors are the original's, so that silences and routes go on working.
 */

export type Alert = {
  name: string
  expr: string
  for?: string
  keepFiringFor?: string
  severity: 'info' | 'warning' | 'critical'
  /** One line; may use the labels that the expression keeps. */
  summary: string
  /** What it means and what to do first. */
  description: string
}

export type RuleFile = { name: string; groups: readonly { name: string; alerts: readonly Alert[] }[] }

/** What differs between the alerts of two components that are built on the same runtime. */
type Component = {
  name: string
  /** Before its alerts' names. */
  title: string
  /** Before its metrics' names, and its policies'. */
  prefix: string
  lease: string
  /** First command against a second writer. */
  owners: string
  explain: string
}

const target = 'cluster, namespace'

/** Sum over replicas and pods of what a counter gained per second. */
const perSecond = (series: string, window: string, by: string) => `sum by (${by}) (rate(${series}[${window}]))`

/**
 * Whether a counter rose, also when its series began to exist only then: `increase` alone does not see the first step, and
 * series with labels from outside begin at 1.
 */
const rose = (series: string, window: string, by: string) =>
  `sum by (${by}) (increase(${series}[${window}])) > 0 or sum by (${by}) (${series} unless ${series} offset ${window}) > 0`

const reconciles = 'controller_runtime_reconcile_total'
const byController = `${target}, controller`
const errorRatio = (window: string) =>
  `${perSecond(`${reconciles}{result="error"}`, window, byController)} / ${perSecond(reconciles, window, byController)}`

const controllers: RuleFile = {
  name: 'controllers',
  groups: [
    {
      name: 'controller-reconcile-errors',
      alerts: [
        {
          name: 'ControllerReconcileErrorRatioHigh',
          expr: `${errorRatio('30m')} > 0.20`,
          for: '15m',
          keepFiringFor: '30m',
          severity: 'warning',
          summary: 'Controller {{ $labels.controller }} fails in {{ $value | humanizePercentage }} of its passes',
          description:
            'More than 20 % of the passes of 30 minutes ended with an error. Lost write races and objects deleted meanwhile are no errors and are not in here. Read its log for "the pass failed": the error names object and request.',
        },
        {
          name: 'ControllerReconcileErrorRatioCritical',
          // The floor of one error a minute: a controller at rest has few passes, and one failing among them is no emergency.
          expr: `${errorRatio('10m')} > 0.50 and ${perSecond(`${reconciles}{result="error"}`, '10m', byController)} > 0.0166`,
          for: '10m',
          keepFiringFor: '30m',
          severity: 'critical',
          summary: 'Controller {{ $labels.controller }} fails in {{ $value | humanizePercentage }} of its passes',
          description:
            'More than half of the passes of 10 minutes ended with an error, and at least one a minute. Usually the API server refuses what the controller needs: permissions, a webhook, a missing definition. Read its log, then its role.',
        },
      ],
    },
  ],
}

/** Status writers, races, lease. */
function writerAlerts({ title, prefix, name, lease, owners }: Component): Alert[] {
  const races = `${prefix}_write_race_requeues_total`
  const rounds = `${prefix}_status_ownership_rounds_total`
  const conflicts = `${prefix}_status_ownership_conflicts_total`
  const leads = `leader_election_master_status{name="${lease}"}`
  const raceRate = perSecond(races, '5m', byController)
  return [
    {
      name: `${title}StatusWritersFighting`,
      expr: `sum by (${target}, resource) (increase(${rounds}[10m])) >= 5`,
      keepFiringFor: '15m',
      severity: 'warning',
      summary: `Another writer keeps changing status of {{ $labels.resource }} that ${name} is the documented writer of`,
      description: `${name} had to put its fields back {{ $value | humanize }} times in 10 minutes. What users read flips meanwhile. ${owners} Stop the other writer, or correct what it writes; the fields are right again at once.`,
    },
    {
      name: `${title}ForeignStatusWriter`,
      expr: rose(conflicts, '15m', `${target}, resource, field, manager`),
      severity: 'info',
      summary: 'Field manager "{{ $labels.manager }}" wrote {{ $labels.field }} of {{ $labels.resource }}',
      description: `Only ${name} documents this field as its own. It has taken the field back; the Warning event on the object names the other manager. ${owners}`,
    },
    {
      name: `${title}WriteRacesPersistent`,
      // A storm that heals pauses: within half an hour there are five minutes with next to none.
      expr: `${raceRate} > 0.05 and ${raceRate} / ${perSecond(reconciles, '5m', byController)} > 0.10`,
      for: '30m',
      severity: 'warning',
      summary: 'Controller {{ $labels.controller }} loses {{ $value | humanize }} write races a second without a pause',
      description: `A lost race is normal and heals by the next pass. For 30 minutes more than one pass in ten has lost one: somebody writes the same objects all the time. The labels resource, verb and cause of ${races} tell which. ${owners}`,
    },
    {
      name: `${title}LeaderMissing`,
      expr: `max by (${target}, name) (${leads}) == 0 or absent(${leads})`,
      for: '2m',
      severity: 'critical',
      summary: `No process of ${name} holds the lease {{ $labels.name }}`,
      description: `Nothing is reconciled: what is ready stays so, nothing new becomes ready. Are its pods running, and are they scraped? Then read the lease and the log for "campaign": kubectl get lease -A {{ $labels.name }}.`,
    },
  ]
}

/** What the API server says of the admission policies that enforce who writes what. */
function policyAlerts({ title, prefix, name }: Component): Alert[] {
  const checks = (matchers: string) => `apiserver_validating_admission_policy_check_total{${matchers}}`
  const owners = `policy=~"${prefix}-owners-.*"`
  return [
    {
      name: `${title}ForeignWriteAttempted`,
      expr: rose(checks(`${owners},enforcement_action=~"deny|audit",error_type="no_error"`), '15m', 'cluster, policy'),
      severity: 'info',
      summary: 'Policy {{ $labels.policy }} met a write by somebody who is not the documented writer',
      description:
        'With mode Deny it was refused and the writer was told whose field it is; with Audit it passed and is in the audit log under validation.policy.admission.k8s.io/validation_failure. Find the writer there before changing Audit to Deny.',
    },
    {
      name: `${title}BreakGlassUsed`,
      expr: rose(checks(`policy="${prefix}-break-glass"`), '15m', 'cluster, policy'),
      severity: 'warning',
      summary: `Somebody writes with the break-glass group: ownership of ${name}'s fields is not enforced for them`,
      description:
        'Every such write is counted under {{ $labels.policy }}. The audit log names user and object. Take the group, or the right to impersonate it, away again when the repair is done.',
    },
    {
      name: `${title}OwnershipPolicyFailing`,
      expr: rose(checks(`policy=~"${prefix}-.*",error_type!="no_error"`), '15m', 'cluster, policy, error_type'),
      severity: 'critical',
      summary: 'Policy {{ $labels.policy }} cannot be evaluated: {{ $labels.error_type }}',
      description:
        'Writes that it covers are refused, also those of the documented writers. Was the policy or its parameters changed by hand? Apply the generated files again; until then set the mode to Audit, or delete the binding.',
    },
  ]
}

/** Reasons of Ready by which a claim waits for whoever made it, not for whoever runs the system. */
export const requestersReasons = [
  'NetworkNotAvailableInLocation',
  'AddressFamilyNotCarried',
  'InterfaceHeldByAnotherClaim',
  'NetworkMismatch',
  'InterfaceNameMismatch',
  'AddressFamilyMissing',
  'AddressClassMissing',
  'ReclaimPolicyMismatch',
] as const

const nsoComponent: Component = {
  name: 'NSO',
  title: 'Nso',
  prefix: 'nso',
  lease: 'network-services-operator.networking.datumapis.com',
  owners: 'First: nso owners --check.',
  explain: 'nso explain claim/NAME',
}

const nso: RuleFile = {
  name: 'nso',
  groups: [
    { name: 'nso-writers', alerts: writerAlerts(nsoComponent) },
    {
      name: 'nso-claims',
      alerts: [
        {
          name: 'NsoClaimsNotReady',
          expr: `max by (${target}, reason) (nso_claim_oldest_not_ready_seconds{reason!~"${requestersReasons.join('|')}"}) > 600`,
          for: '5m',
          severity: 'warning',
          summary: 'A claim has not been Ready for {{ $value | humanizeDuration }}: {{ $labels.reason }}',
          description: `Reasons that only the claim's author can remove are left out. First: kubectl get networkinterfaceclaims -A | grep {{ $labels.reason }}, then ${nsoComponent.explain}, which names the first broken hop. Reason Deleting: a claim is not let go; its interface or attachment still stands.`,
        },
        {
          name: 'NsoDataPlaneSilent',
          expr: `max by (${target}, data_plane) (nso_attachment_oldest_unreported_seconds) > 300`,
          for: '2m',
          severity: 'warning',
          summary: 'Data plane {{ $labels.data_plane }} has said nothing of an attachment for {{ $value | humanizeDuration }}',
          description: `The attachment stands, and its report is missing or older than it. Claims wait; their Prepared says Pending or ReportStale. Does the data plane run and lead? Then: ${nsoComponent.explain} names the attachment.`,
        },
        {
          name: 'NsoDataPlaneUnusable',
          expr: `min by (${target}, data_plane) (nso_data_plane_usable) == 0`,
          for: '10m',
          severity: 'warning',
          summary: 'Data plane {{ $labels.data_plane }} cannot be asked for attachments',
          description:
            'First: kubectl get dataplane {{ $labels.data_plane }} -o yaml. Its conditions Accepted, Installed and Permitted name the template, kind or permission that is missing.',
        },
        {
          name: 'NsoDataPlaneBreaksContract',
          expr: `max by (${target}, data_plane) (nso_data_plane_contract_violations) > 0`,
          for: '5m',
          severity: 'warning',
          summary: 'Data plane {{ $labels.data_plane }} reports on {{ $value | humanize }} attachments against the contract',
          description:
            'Their claims say ContractViolation, which begins with the attachment and says what is wrong: a condition without status, of a wrong type, twice, or with a reason that is no word. It is a fault of the data plane: tell who maintains it. Was it, or its definition, just changed? Then go back.',
        },
      ],
    },
    { name: 'nso-ownership', alerts: policyAlerts(nsoComponent) },
  ],
}

const galacticComponent: Component = {
  name: 'Galactic',
  title: 'Galactic',
  prefix: 'galactic',
  lease: 'galactic.cloud.datumapis.com',
  owners: 'First: kubectl get vpcs,vpcattachments -A --show-managed-fields -o yaml.',
  explain: 'kubectl describe vpcattachment NAME',
}

const galactic: RuleFile = {
  name: 'galactic',
  groups: [
    { name: 'galactic-writers', alerts: writerAlerts(galacticComponent) },
    {
      name: 'galactic-attachments',
      alerts: [
        {
          name: 'GalacticAttachmentsNotReady',
          expr: `max by (${target}, reason) (galactic_attachment_oldest_not_ready_seconds) > 600`,
          for: '5m',
          severity: 'warning',
          summary: 'An attachment has not been Ready for {{ $value | humanizeDuration }}: {{ $labels.reason }}',
          description: `First: kubectl get vpcattachments -A, then ${galacticComponent.explain}: the message of Ready names what is missing. Reason Deleting: the node still advertises it, or its network definition is not gone.`,
        },
      ],
    },
    { name: 'galactic-ownership', alerts: policyAlerts(galacticComponent) },
  ],
}

const bridgeComponent: Component = {
  name: 'the bridge data plane',
  title: 'Bridge',
  prefix: 'bridge',
  lease: 'bridge.datumapis.com',
  owners: 'First: kubectl get bridgenetworks,bridgeattachments -A --show-managed-fields -o yaml.',
  explain: 'kubectl describe bridgeattachment NAME',
}

/** Reasons of Programmed that are never in order for long; that no Pod has an interface may be. */
export const misreported = ['AddressesDiffer', 'ReportUnreadable', 'PodsForbidden'] as const

const bridge: RuleFile = {
  name: 'bridge',
  groups: [
    { name: 'bridge-writers', alerts: writerAlerts(bridgeComponent) },
    {
      name: 'bridge-attachments',
      alerts: [
        {
          name: 'BridgeAttachmentsNotReady',
          expr: `max by (${target}, reason) (bridge_attachment_oldest_not_ready_seconds) > 600`,
          for: '5m',
          severity: 'warning',
          summary: 'An attachment has not been Ready for {{ $value | humanizeDuration }}: {{ $labels.reason }}',
          description: `First: kubectl get bridgeattachments -A, then ${bridgeComponent.explain}: the message of Ready names what is missing. Reason Deleting: a Pod still uses it, or its network definition is not gone.`,
        },
        {
          name: 'BridgeAttachmentsMisreported',
          expr: `max by (${target}, reason) (bridge_attachment_oldest_not_programmed_seconds{reason=~"${misreported.join('|')}"}) > 600`,
          for: '5m',
          severity: 'warning',
          summary:
            'What Multus reports on an attachment has been wrong for {{ $value | humanizeDuration }}: {{ $labels.reason }}',
          description: `A Pod has the interface with other addresses than were asked for, or its report cannot be read. First: ${bridgeComponent.explain}: the message of Programmed names the Pod. A Pod keeps what it started with: start it again.`,
        },
      ],
    },
    { name: 'bridge-ownership', alerts: policyAlerts(bridgeComponent) },
  ],
}

export const ruleFiles: readonly RuleFile[] = [controllers, nso, galactic, bridge]

/** Section of docs/monitoring.md. */
export const runbookOf = (alert: Pick<Alert, 'name'>): string => `docs/monitoring.md#${alert.name.toLowerCase()}`

/** As Prometheus reads it. */
export function rulesOf({ groups }: RuleFile): object {
  return {
    groups: groups.map(({ name, alerts }) => ({
      name,
      rules: alerts.map((alert) => ({
        alert: alert.name,
        expr: alert.expr,
        ...(alert.for === undefined ? {} : { for: alert.for }),
        ...(alert.keepFiringFor === undefined ? {} : { keep_firing_for: alert.keepFiringFor }),
        labels: { severity: alert.severity },
        annotations: { summary: alert.summary, description: alert.description, runbook_url: runbookOf(alert) },
      })),
    })),
  }
}

/** The same for the Prometheus operator; without a namespace, since it belongs where that operator looks. */
export function prometheusRuleOf(file: RuleFile): object {
  return {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    metadata: {
      name: `${file.name}-alerts`,
      labels: { 'app.kubernetes.io/name': file.name, 'app.kubernetes.io/component': 'monitoring' },
    },
    spec: rulesOf(file),
  }
}
