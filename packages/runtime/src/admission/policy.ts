/**
 * From an ownership table to ValidatingAdmissionPolicies: whoever is not a documented writer of a path changes neither its value
 * nor who owns it in managedFields. A comparison of values alone lets a second owner in, which then keeps the first from removing
 * the field, and lets anybody wipe or rename the owner's entry. Source: KEP-3488; KEP-555 (field ownership).
 */
import type { Manifest } from '../manifest.ts'
import type { OwnershipTable } from '../ownership.ts'
import { anyOf, listOf, quoted } from './cel.ts'
import { type EnforcedKind, enforcedKinds, type Pass, type PathGroup, reservedManagers } from './enforced.ts'
import { ownWrite } from './own-write.ts'
import { isOneOf, mayPass, takenOf, usersOf, variablesOf } from './variables.ts'

export type OwnershipEnforcement = {
  /** Prefix of every name, e.g. `example`. */
  readonly app: string
  /** Where the parameters are. */
  readonly namespace: string
  readonly table: OwnershipTable
  /** The closed identities, whose paths are enforced, each with its users until an administrator says otherwise. */
  readonly identities: Readonly<Record<string, readonly string[]>>
}

export const admissionVersion = 'admissionregistration.k8s.io/v1'

export const parametersName = ({ app }: OwnershipEnforcement) => `${app}-ownership`

/** Name of the policy of one kind. */
export const policyName = ({ app }: Pick<OwnershipEnforcement, 'app'>, plural: string) => `${app}-owners-${plural}`

export const breakGlassParameter = 'breakGlassGroup'

/** Names the writers of a group, from the parameters as they are. */
function writers(passes: readonly Pass[], parameters: string): string {
  if (passes.length === 0) return quoted('nobody')
  const texts = passes.map(({ identity, managers: [manager], anyManager }) => {
    const users = usersOf(identity)
    const missing = `nobody until parameter ${identity} of ConfigMap ${parameters} names a user`
    const as = anyManager ? ' under a field manager of its own' : ` as ${manager}`
    return `(size(${users}) == 0 ? ${quoted(missing)} : ${users}.join(', ') + ${quoted(as)})`
  })
  return texts.join(` + ' or ' + `)
}

/** What a group asks of a write, and what is said when it is not so. */
type Judgement = { allows: string; fault: string }

function judgeGroup({ id, passes }: PathGroup, named: readonly string[]): Judgement {
  const [changed, joined] = [`variables.changed_${id}`, `variables.joined_${id}`]
  const same = `(size(${changed}) == 0 && size(${joined}) == 0)`
  const fault = [
    `(size(${changed}) > 0`,
    `  ? ${changed}.join(', ') + ' written only by ' + variables.writers_${id} + ', not by ' + variables.who`,
    `  : variables.who + ' would become a second owner of ' + ${joined}.join(', ') + ', or take it from its owner; written only by ' + variables.writers_${id})`,
  ].join('\n')
  return { allows: anyOf(...passes.map((pass) => mayPass(pass, named)), same), fault }
}

/** A manager name is the requester's own word: those of the table are kept for the identities that they belong to. */
function judgeName(identity: string, managers: readonly string[]): Judgement {
  const free = `!(variables.manager in ${listOf(managers)})`
  const users = `${usersOf(identity)}.join(', ')`
  const fault = `'field manager ' + variables.manager + ' is reserved for ' + ${users} + ', not for ' + request.userInfo.username`
  return { allows: anyOf(isOneOf(identity), free), fault }
}

/** Nor does anybody else leave ownership behind under such a name. */
function judgeEntries(identity: string): Judgement {
  const [taken, users] = [takenOf(identity), `${usersOf(identity)}.join(', ')`]
  const fault = `'field ownership as ' + ${taken}.join(', ') + ' is reserved for ' + ${users} + ', not for ' + variables.who`
  return { allows: anyOf(isOneOf(identity), `size(${taken}) == 0`), fault }
}

const rules = ({ kind, hasStatus }: EnforcedKind) => ({
  resourceRules: [
    {
      apiGroups: [kind.group],
      apiVersions: [kind.version],
      operations: ['CREATE', 'UPDATE'],
      resources: hasStatus ? [kind.plural, `${kind.plural}/status`] : [kind.plural],
    },
  ],
})

const breakGlassGroup = `params.?data.?${breakGlassParameter}.orValue('').trim()`

/** A parameter without a group names nobody, whatever groups a credential may bring. */
const isBreakGlass = `(${breakGlassGroup} in request.userInfo.?groups.orValue([]) && ${breakGlassGroup} != '')`

/** Bindings find the parameters by labels, which whoever may make ConfigMaps can give to one of its own: that says nothing. */
const isNoParameter = (enforcement: OwnershipEnforcement) => `params.metadata.name != ${quoted(parametersName(enforcement))}`

/** Objects of others of a kind that is told by a label are nobody's business, unless the write gives or takes the label. */
function isForeign({ marked }: EnforcedKind): string[] {
  if (marked === undefined) return []
  const has = (object: string) => `${quoted(marked)} in ${object}.?metadata.?labels.orValue({})`
  return [`!(${has('variables.now')} || ${has('variables.was')})`]
}

const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' }

/**
 * One validation for all groups, and a message that is empty unless it fails: the server evaluates the message of every write,
 * allowed or not, and each expression has a price of its own.
 */
function kindPolicy(enforced: EnforcedKind, enforcement: OwnershipEnforcement): Manifest {
  const { table, identities, namespace } = enforcement
  const closed = Object.keys(identities)
  const reserved = reservedManagers(table, closed)
  const named = [...reserved.values()].flat()
  const parameters = `${namespace}/${parametersName(enforcement)}`
  const judgements = [
    ...[...reserved].map(([identity, managers]) => judgeName(identity, managers)),
    ...enforced.groups.map((group) => judgeGroup(group, named)),
    ...[...reserved.keys()].map(judgeEntries),
  ]
  const allows = judgements.map((each) => `(${each.allows})`).join('\n&& ')
  const isAllowed = [isNoParameter(enforcement), ...isForeign(enforced), `(${allows})`].join('\n|| ')
  const faults = judgements.map((each) => `!(${each.allows}) ?\n${each.fault}`)
  const own = ownWrite(enforced, reserved)
  return {
    apiVersion: admissionVersion,
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: policyName(enforcement, enforced.kind.plural) },
    spec: {
      failurePolicy: 'Fail',
      paramKind,
      matchConstraints: rules(enforced),
      ...(own ? { matchConditions: [{ name: 'is-not-plainly-the-writers-own', expression: `!(${own})` }] } : {}),
      variables: [
        ...variablesOf(enforced, identitiesOf(enforced, closed, reserved), reserved),
        ...enforced.groups.map(({ id, passes }) => ({ name: `writers_${id}`, expression: writers(passes, parameters) })),
      ],
      validations: [
        {
          expression: `${isAllowed}\n|| ${isBreakGlass}`,
          messageExpression: [`${isAllowed}\n? ""`, ...faults, '""'].join('\n: '),
          message: 'a path of this object has a documented writer, which is somebody else',
          reason: 'Forbidden',
        },
      ],
    },
  }
}

/** Those that a kind's policy speaks of. */
const identitiesOf = ({ groups }: EnforcedKind, closed: readonly string[], reserved: ReadonlyMap<string, unknown>) =>
  closed.filter(
    (identity) => reserved.has(identity) || groups.some(({ passes }) => passes.some((pass) => pass.identity === identity)),
  )

/** Tells whoever uses the break-glass group, and counts each of its writes under the policy's name. */
function breakGlassPolicy(kinds: readonly EnforcedKind[], { app }: OwnershipEnforcement): Manifest {
  return {
    apiVersion: admissionVersion,
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: `${app}-break-glass` },
    spec: {
      failurePolicy: 'Ignore',
      paramKind,
      matchConstraints: { resourceRules: kinds.flatMap((kind) => rules(kind).resourceRules) },
      matchConditions: [{ name: 'is-break-glass', expression: isBreakGlass }],
      validations: [
        {
          expression: 'false',
          messageExpression: `request.userInfo.username + ' writes with break-glass rights: ownership of fields is not enforced, and the documented writers may write over it'`,
          message: 'a write with break-glass rights: ownership of fields is not enforced',
        },
      ],
    },
  }
}

export type OwnershipMode = 'Deny' | 'Audit' | 'Off'

/** The label of the parameters that says whether writes are refused or only counted: the one setting. */
export const modeLabel = 'mode'

const nameLabel = 'app.kubernetes.io/name'

function bindingsOf(policy: string, enforcement: OwnershipEnforcement): Manifest[] {
  const name = parametersName(enforcement)
  const modes = (operator: 'In' | 'NotIn', ...values: OwnershipMode[]) => ({ key: modeLabel, operator, values })
  const binding = (mode: OwnershipMode, selected: ReturnType<typeof modes>, validationActions: readonly string[]): Manifest => ({
    apiVersion: admissionVersion,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: `${policy}-${mode.toLowerCase()}` },
    spec: {
      policyName: policy,
      validationActions,
      paramRef: {
        namespace: enforcement.namespace,
        selector: { matchLabels: { [nameLabel]: name }, matchExpressions: [selected] },
        // In the other mode these are not found, and that is no reason to refuse.
        parameterNotFoundAction: 'Allow',
      },
    },
  })
  // A mode that is misspelt or missing refuses: what is not enforced must have been asked for.
  return [binding('Deny', modes('NotIn', 'Audit', 'Off'), ['Deny', 'Audit']), binding('Audit', modes('In', 'Audit'), ['Audit'])]
}

function breakGlassBinding(enforcement: OwnershipEnforcement): Manifest {
  const name = `${enforcement.app}-break-glass`
  return {
    apiVersion: admissionVersion,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name },
    spec: {
      policyName: name,
      validationActions: ['Warn', 'Audit'],
      paramRef: { namespace: enforcement.namespace, name: parametersName(enforcement), parameterNotFoundAction: 'Allow' },
    },
  }
}

/** A policy with two bindings for each kind that has enforced paths, and one that tells of break-glass writes. */
export function ownershipPolicies(enforcement: OwnershipEnforcement): Manifest[] {
  const kinds = enforcedKinds(enforcement.table, Object.keys(enforcement.identities))
  return [
    ...kinds.flatMap((kind) => [
      kindPolicy(kind, enforcement),
      ...bindingsOf(policyName(enforcement, kind.kind.plural), enforcement),
    ]),
    breakGlassPolicy(kinds, enforcement),
    breakGlassBinding(enforcement),
  ]
}

/** The parameters of all these policies, the one object that an administrator edits. */
export function ownershipParameters(enforcement: OwnershipEnforcement, mode: OwnershipMode): Manifest {
  const name = parametersName(enforcement)
  const users = Object.entries(enforcement.identities).map(([identity, names]) => [identity, names.join('\n')])
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: enforcement.namespace, labels: { [nameLabel]: name, [modeLabel]: mode } },
    data: { ...Object.fromEntries(users), [breakGlassParameter]: 'ownership:break-glass' },
  }
}

/** For whoever edits the parameters. */
export const aboutParameters: readonly string[] = [
  'Defaults of the parameters of the ownership policies. Edit what is installed: an installation keeps what stands there.',
  'Label "mode": Deny (refuse; so does any other word, or none), Audit (only count) or Off.',
  'Without this ConfigMap nothing is enforced; others with its labels say nothing.',
  'Each identity: its users, one a line. Without users nobody may write what is its.',
  'breakGlassGroup: members of this group are not judged; each of their writes is told to them and counted.',
]
