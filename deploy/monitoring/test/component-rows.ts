/** Rows of everything that two components on the same runtime have in common. */
import type { Row } from './promtool.ts'
import { appears, bursts, fires, flat, growing, horizon, phases } from './series.ts'

export type Of = { title: string; prefix: string; lease: string; controller: string; resource: string; field: string }

export const leads = (lease: string, instance = 'a') => `leader_election_master_status{name="${lease}",instance="${instance}"}`

/** The rows of everything that the two components have in common. */
export function writerRows({ title, prefix, lease, controller, resource, field }: Of): Row[] {
  const all = (result: string) => `controller_runtime_reconcile_total{controller="${controller}",result="${result}"}`
  const races = `${prefix}_write_race_requeues_total{controller="${controller}",resource="${resource}",verb="patch",cause="stale"}`
  const rounds = `${prefix}_status_ownership_rounds_total{resource="${resource}"}`
  const conflicts = (manager: string) =>
    `${prefix}_status_ownership_conflicts_total{resource="${resource}",field="${field}",manager="${manager}"}`
  const led = { [leads(lease)]: flat(1) }
  const fighting = fires(`${title}StatusWritersFighting`, { resource })
  const foreign = (manager: string) => fires(`${title}ForeignStatusWriter`, { resource, field, manager })
  const racing = fires(`${title}WriteRacesPersistent`, { controller })
  const leaderless = fires(`${title}LeaderMissing`, { name: lease })
  return [
    { says: 'nothing but a leader', world: led, at: [[60, []]] },
    {
      says: 'two writers fight: named within minutes, until a quarter of an hour after their end',
      world: { ...led, [rounds]: `_x5 ${phases([20, 60])}`, [conflicts('rogue')]: appears(5) },
      at: [
        [4, []],
        [7, [fighting, foreign('rogue')]],
        [24, [fighting]],
        [40, [fighting]],
        [60, []],
      ],
    },
    {
      says: 'a slow fight, once in ninety seconds',
      world: { ...led, [rounds]: growing(0.7) },
      at: [[30, [fighting]]],
    },
    {
      says: 'somebody meddles three times in ten minutes: not a fight',
      world: { ...led, [rounds]: growing(0.3) },
      at: [[60, []]],
    },
    {
      says: 'one foreign write: named for a quarter of an hour',
      world: { ...led, [rounds]: appears(30), [conflicts('kubectl-edit')]: appears(30) },
      at: [
        [29, []],
        [31, [foreign('kubectl-edit')]],
        [44, [foreign('kubectl-edit')]],
        [46, []],
      ],
    },
    {
      says: 'a foreign writer that comes back: named again',
      world: { ...led, [conflicts('rogue')]: `1+0x59 2+0x${horizon}` },
      at: [
        [40, []],
        [61, [foreign('rogue')]],
        [90, []],
      ],
    },
    {
      says: 'one pass in six loses a race, for an hour without a pause',
      world: { ...led, [all('success')]: growing(50), [all('requeue')]: growing(10), [races]: growing(10) },
      at: [
        [28, []],
        [40, [racing]],
      ],
    },
    {
      says: 'lost races end: resolved at once',
      world: { ...led, [all('success')]: growing(50), [all('requeue')]: phases([60, 10]), [races]: phases([60, 10]) },
      at: [
        [59, [racing]],
        [66, []],
      ],
    },
    {
      says: 'one pass in fifteen loses a race, without a pause: much work, no fault',
      world: { ...led, [all('success')]: growing(140), [all('requeue')]: growing(10), [races]: growing(10) },
      at: [[90, []]],
    },
    {
      says: 'half of few passes lose a race: less than three a minute',
      world: { ...led, [all('success')]: growing(2), [all('requeue')]: growing(2), [races]: growing(2) },
      at: [[90, []]],
    },
    {
      says: 'four a minute',
      world: { ...led, [all('success')]: growing(12), [all('requeue')]: growing(4), [races]: growing(4) },
      at: [[90, [racing]]],
    },
    {
      says: 'the routine race storm: bursts of lost races every nine minutes, some errors among them',
      world: {
        ...led,
        [all('success')]: bursts(9, 240),
        [all('requeue')]: bursts(9, 60),
        [all('error')]: bursts(60, 2),
        [races]: bursts(9, 60),
        [`${prefix}_write_gone_total{controller="${controller}",resource="${resource}",verb="patch",cause="deleted"}`]: bursts(
          9,
          40,
        ),
      },
      at: [30, 45, 60, 90, 120, 170].map((minute) => [minute, []] as const),
    },
    {
      says: 'no process leads: after two minutes',
      world: { [leads(lease, 'a')]: `1+0x19 0+0x${horizon}`, [leads(lease, 'b')]: flat(0) },
      at: [
        [19, []],
        [21, []],
        [23, [leaderless]],
      ],
    },
    {
      says: 'the lease goes from one process to the other with a minute between',
      world: { [leads(lease, 'a')]: `1+0x19 0+0x${horizon}`, [leads(lease, 'b')]: `0+0x20 1+0x${horizon}` },
      at: [20, 21, 22, 23, 60].map((minute) => [minute, []] as const),
    },
    {
      says: 'no process is there to ask, while another component leads its own lease',
      world: { [leads('another.example.dev')]: flat(1) },
      at: [
        [1, []],
        [5, [leaderless]],
      ],
    },
  ]
}

export function policyRows({ title, prefix, lease, resource }: Of): Row[] {
  const led = { [leads(lease)]: flat(1) }
  const checks = (policy: string, action: string, error = 'no_error') =>
    `apiserver_validating_admission_policy_check_total{policy="${policy}",policy_binding="b",enforcement_action="${action}",error_type="${error}"}`
  const policy = `${prefix}-owners-${resource}`
  const attempted = fires(`${title}ForeignWriteAttempted`, { policy })
  return [
    ...['deny', 'audit'].map((action) => ({
      says: `a write of somebody who is not the documented writer: ${action}`,
      world: { ...led, [checks(policy, action)]: appears(20) },
      at: [
        [19, []],
        [21, [attempted]],
        [40, []],
      ] as const,
    })),
    {
      says: 'refused every minute',
      world: { ...led, [checks(policy, 'deny')]: growing(1) },
      at: [[60, [attempted]]],
    },
    {
      says: 'writes that the policy lets pass',
      world: { ...led, [checks(policy, 'allow')]: growing(10) },
      at: [[60, []]],
    },
    {
      says: 'break-glass writes, warned of and audited: told once',
      world: {
        ...led,
        [checks(`${prefix}-break-glass`, 'warn')]: appears(20),
        [checks(`${prefix}-break-glass`, 'audit')]: appears(20),
      },
      at: [
        [19, []],
        [21, [fires(`${title}BreakGlassUsed`, { policy: `${prefix}-break-glass` })]],
        [40, []],
      ],
    },
    {
      says: 'a policy that is over its budget',
      world: { ...led, [checks(policy, 'deny', 'out_of_budget')]: appears(20) },
      at: [
        [19, []],
        [21, [fires(`${title}OwnershipPolicyFailing`, { policy, error_type: 'out_of_budget' })]],
        [40, []],
      ],
    },
    {
      says: 'policies of others',
      world: {
        ...led,
        [checks('others', 'deny')]: growing(1),
        [checks('others', 'deny', 'compile_error')]: growing(1),
        [checks('others-break-glass', 'audit')]: growing(1),
      },
      at: [[60, []]],
    },
  ]
}
