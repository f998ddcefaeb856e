/** What the dashboard shows: rows of panels. Rates are per second unless a panel says otherwise. */

type Target = { expr: string; legend: string }
type Unit = 'short' | 's' | 'percentunit' | 'ops' | 'bytes' | 'bool_yes_no'
export type Panel = {
  title: string
  /** What a reader should see in it, and when to worry. */
  description: string
  unit: Unit
  targets: readonly Target[]
  /** A number or a list of states instead of a line. */
  shown?: 'stat'
  width?: number
}
export type Row = { title: string; panels: readonly Panel[] }

const where = 'cluster=~"$cluster",job=~"$job"'
const of = (metric: string, more = '') => `${metric}{${where}${more && `,${more}`}}`
const perSecond = (metric: string, by: string, more = '') => `sum by (${by}) (rate(${of(metric, more)}[$__rate_interval]))`
/** Replicas report the same: they are not added up. */
const most = (metric: string, by: string, more = '') => `max by (${by}) (${of(metric, more)})`
const quantile = (q: number, metric: string, by: string) =>
  `histogram_quantile(${q}, ${perSecond(`${metric}_bucket`, ['le', by].filter(Boolean).join(', '))})`

/** The same counter of each component; their names differ in the prefix. */
const ofEach = (suffix: string, by: string, legend: string): Target[] =>
  ['nso', 'galactic', 'bridge'].map((prefix) => ({ expr: perSecond(`${prefix}_${suffix}`, by), legend: `${prefix}: ${legend}` }))

const percentiles = (metric: string, by: string, legend: string): Target[] =>
  [0.5, 0.9, 0.99].map((q) => ({ expr: quantile(q, metric, by), legend: `p${q * 100} ${legend}`.trim() }))

const claims: Row = {
  title: 'Claims',
  panels: [
    {
      title: 'Claims by readiness',
      description: 'Ready of every claim. Deleting: on their way out.',
      unit: 'short',
      targets: [{ expr: `sum by (ready) (${most('nso_claims', 'ready, reason')})`, legend: '{{ready}}' }],
    },
    {
      title: 'Claims that are not Ready, by reason',
      description: 'Which hop they wait for. A reason that grows has one cause: explain one of its claims.',
      unit: 'short',
      targets: [{ expr: most('nso_claims', 'reason', 'ready!="True"'), legend: '{{reason}}' }],
    },
    {
      title: 'Oldest claim that is not Ready, by reason',
      description: 'NsoClaimsNotReady fires above ten minutes, except for reasons that only the author of a claim can remove.',
      unit: 's',
      targets: [{ expr: most('nso_claim_oldest_not_ready_seconds', 'reason'), legend: '{{reason}}' }],
    },
    {
      title: 'Time to Ready',
      description: 'From the creation of a claim until its status said Ready.',
      unit: 's',
      targets: percentiles('nso_claim_ready_seconds', '', ''),
    },
    {
      title: 'Time to each hop, p90',
      description:
        'Bound: an interface is held. Prepared: a workload may start. Ready: traffic flows. The distance between two is that hop.',
      unit: 's',
      targets: [{ expr: quantile(0.9, 'nso_claim_hop_seconds', 'hop'), legend: '{{hop}}' }],
    },
    {
      title: 'Claims that became Ready',
      description: 'How many, per second.',
      unit: 'ops',
      targets: [{ expr: perSecond('nso_claim_ready_seconds_count', 'cluster'), legend: 'claims {{cluster}}' }],
    },
  ],
}

const planes: Row = {
  title: 'Data planes',
  panels: [
    {
      title: 'Usable',
      description:
        'Templates sound, kinds served, permissions given. The conditions of the DataPlane object say what is missing.',
      unit: 'bool_yes_no',
      shown: 'stat',
      targets: [{ expr: `min by (data_plane) (${of('nso_data_plane_usable')})`, legend: '{{data_plane}}' }],
    },
    {
      title: 'Attachments, and those without a report',
      description: 'A report that says no is a report: what counts here is silence, and what cannot be read.',
      unit: 'short',
      targets: [
        { expr: most('nso_attachments', 'data_plane'), legend: '{{data_plane}}' },
        { expr: most('nso_attachments_unreported', 'data_plane'), legend: '{{data_plane}}: no report' },
        { expr: most('nso_data_plane_contract_violations', 'data_plane'), legend: '{{data_plane}}: against the contract' },
      ],
    },
    {
      title: 'Oldest attachment without a report',
      description: 'NsoDataPlaneSilent fires above five minutes.',
      unit: 's',
      targets: [{ expr: most('nso_attachment_oldest_unreported_seconds', 'data_plane'), legend: '{{data_plane}}' }],
    },
    {
      title: 'Galactic: attachments by readiness',
      description: 'Ready as Galactic itself reports it.',
      unit: 'short',
      targets: [{ expr: `sum by (ready) (${most('galactic_attachments', 'ready, reason')})`, legend: '{{ready}}' }],
    },
    {
      title: 'Galactic: oldest attachment that is not Ready, by reason',
      description: 'GalacticAttachmentsNotReady fires above ten minutes.',
      unit: 's',
      targets: [{ expr: most('galactic_attachment_oldest_not_ready_seconds', 'reason'), legend: '{{reason}}' }],
    },
    {
      title: 'Galactic: attachments let go while still advertised',
      description: 'A node did not withdraw in time. More than a few: look at its router.',
      unit: 'ops',
      targets: [{ expr: perSecond('galactic_detach_grace_expired_total', 'job'), legend: '{{job}}' }],
    },
    {
      title: 'Bridge: attachments by readiness and by report',
      description: 'Ready and Programmed as the bridge data plane reports them. No Pod, no report: False.',
      unit: 'short',
      targets: [
        { expr: `sum by (ready) (${most('bridge_attachments_by_ready', 'ready, reason')})`, legend: 'ready: {{ready}}' },
        {
          expr: `sum by (programmed) (${most('bridge_attachments_by_programmed', 'programmed, reason')})`,
          legend: 'programmed: {{programmed}}',
        },
      ],
    },
    {
      title: 'Bridge: oldest attachment that is not Ready or not Programmed, by reason',
      description:
        'BridgeAttachmentsNotReady fires above ten minutes, BridgeAttachmentsMisreported too where what is reported is wrong. NotAttached is in order while no Pod runs.',
      unit: 's',
      targets: [
        { expr: most('bridge_attachment_oldest_not_ready_seconds', 'reason'), legend: 'not ready: {{reason}}' },
        { expr: most('bridge_attachment_oldest_not_programmed_seconds', 'reason'), legend: 'not programmed: {{reason}}' },
      ],
    },
    {
      title: 'Bridge: attachments let go while a Pod used them',
      description: 'A Pod did not end in time. More than a few: whoever deletes attachments should delete their Pods first.',
      unit: 'ops',
      targets: [{ expr: perSecond('bridge_detach_grace_expired_total', 'job'), legend: '{{job}}' }],
    },
  ],
}

const writes: Row = {
  title: 'Writes and who else writes',
  panels: [
    {
      title: 'Writes',
      description: 'Requests that change something, by process, method and answer. None at rest, save renewals of leases.',
      unit: 'ops',
      targets: [
        {
          expr: perSecond('rest_client_requests_total', 'host, method, code', 'method!="GET"'),
          legend: '{{host}} {{method}} {{code}}',
        },
      ],
    },
    {
      title: 'Lost write races',
      description: 'Each is taken again with backoff; bursts are normal, a level that never pauses is not.',
      unit: 'ops',
      targets: ofEach('write_race_requeues_total', 'controller, resource, cause', '{{controller}} {{resource}} {{cause}}'),
    },
    {
      title: 'Writes to what was deleted meanwhile',
      description: 'No-ops, seen where many claims go at once.',
      unit: 'ops',
      targets: ofEach('write_gone_total', 'controller, resource', '{{controller}} {{resource}}'),
    },
    {
      title: 'Second writers: episodes',
      description: 'Somebody else wrote a documented status field. Zero in normal operation.',
      unit: 'ops',
      targets: ofEach('status_ownership_conflicts_total', 'resource, field, manager', '{{resource}} {{field}} by {{manager}}'),
    },
    {
      title: 'Second writers: rounds',
      description: 'How often fields were taken back. Rising: they fight.',
      unit: 'ops',
      targets: ofEach('status_ownership_rounds_total', 'resource', '{{resource}}'),
    },
    {
      title: 'Admission policies: refused, audited and broken',
      description: 'From the API server. error_type other than no_error: the policy itself fails.',
      unit: 'ops',
      targets: [
        {
          expr: 'sum by (policy, enforcement_action, error_type) (rate(apiserver_validating_admission_policy_check_total{cluster=~"$cluster",policy=~"(nso|galactic|bridge)-.*"}[$__rate_interval]))',
          legend: '{{policy}} {{enforcement_action}} {{error_type}}',
        },
      ],
    },
  ],
}

const loops: Row = {
  title: 'Controllers',
  panels: [
    {
      title: 'Passes by result',
      description: 'requeue: lost races. requeue_after: waits for a time that nothing watches.',
      unit: 'ops',
      targets: [
        { expr: perSecond('controller_runtime_reconcile_total', 'controller, result'), legend: '{{controller}} {{result}}' },
      ],
    },
    {
      title: 'Share of passes that fail',
      description: 'ControllerReconcileErrorRatioHigh fires above 20 % of half an hour, Critical above 50 % of ten minutes.',
      unit: 'percentunit',
      targets: [
        {
          expr: `${perSecond('controller_runtime_reconcile_errors_total', 'controller')} / ${perSecond('controller_runtime_reconcile_total', 'controller')}`,
          legend: '{{controller}}',
        },
      ],
    },
    {
      title: 'Time of a pass, p99',
      description: 'With everything it asked the API server.',
      unit: 's',
      targets: [{ expr: quantile(0.99, 'controller_runtime_reconcile_time_seconds', 'controller'), legend: '{{controller}}' }],
    },
    {
      title: 'Keys waiting',
      description: 'Depth of each queue. It should come back to zero.',
      unit: 'short',
      targets: [{ expr: most('workqueue_depth', 'controller'), legend: '{{controller}}' }],
    },
    {
      title: 'Time in the queue, p99',
      description: 'How long a key waits for a free worker.',
      unit: 's',
      targets: [{ expr: quantile(0.99, 'workqueue_queue_duration_seconds', 'controller'), legend: '{{controller}}' }],
    },
    {
      title: 'Longest pass in work',
      description: 'A pass that hangs is aborted at its limit and counted as an error.',
      unit: 's',
      targets: [{ expr: most('workqueue_longest_running_processor_seconds', 'controller'), legend: '{{controller}}' }],
    },
  ],
}

const processes: Row = {
  title: 'Processes',
  panels: [
    {
      title: 'Leaders',
      description: 'How many processes hold each lease: one.',
      unit: 'short',
      shown: 'stat',
      targets: [{ expr: `sum by (name) (${of('leader_election_master_status')})`, legend: '{{name}}' }],
    },
    {
      title: 'Watches that ended, and lists',
      description: 'Lists beyond the first of each kind mean that a watch could not be resumed.',
      unit: 'ops',
      targets: [
        ...ofEach('cache_stream_ends_total', 'resource, how', '{{resource}} watch {{how}}'),
        ...ofEach('cache_lists_total', 'resource, why', '{{resource}} listed {{why}}'),
      ],
    },
    {
      title: 'Events',
      description: 'created, repeated; dropped and failed are lost.',
      unit: 'ops',
      targets: ofEach('events_total', 'what', '{{what}}'),
    },
    {
      title: 'CPU',
      description: 'Seconds of CPU per second. One process uses one core.',
      unit: 'short',
      targets: [{ expr: perSecond('process_cpu_seconds_total', 'job, instance'), legend: '{{job}} {{instance}}' }],
    },
    {
      title: 'Memory',
      description: 'Resident. Flat when the number of objects is.',
      unit: 'bytes',
      targets: [{ expr: most('process_resident_memory_bytes', 'job, instance'), legend: '{{job}} {{instance}}' }],
    },
    {
      title: 'Event loop lag, p99',
      description: 'How late the process comes to its work. Above 0.1 s everything is slower by that much.',
      unit: 's',
      targets: [{ expr: most('nodejs_eventloop_lag_p99_seconds', 'job, instance'), legend: '{{job}} {{instance}}' }],
    },
  ],
}

export const rows: readonly Row[] = [claims, planes, writes, loops, processes]
