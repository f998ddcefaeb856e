/**
 * Which writes are so plainly a documented writer's own that the policy need not be evaluated: most of all there are. The server
 * prepares the request anew for a policy's validations, messages and annotations each, so one look before is the cheapest.
 * It only lets through what the validation would. Source: KEP-3488 (matchConditions, which know no variables).
 */
import { listOf, quoted } from './cel.ts'
import type { EnforcedKind, PathGroup } from './enforced.ts'

const manager = `request.?options.?fieldManager.orValue('')`

/** One user is the rule; where an identity has several, the validation finds them. */
const isUser = (identity: string) => `params.?data[?${quoted(identity)}].orValue('') == request.userInfo.username`

const entries = 'object.?metadata.?managedFields.orValue([])'

const conditionPrefix = 'conditions/'

/** Neither the values of these paths changed nor does the writer come to own one of them. */
function isUntouched({ paths }: PathGroup, writer: string): string[] {
  const types = paths.filter((path) => path.startsWith(conditionPrefix)).map((path) => path.slice(conditionPrefix.length))
  const fields = paths.filter((path) => !path.startsWith(conditionPrefix))
  const ofType = (object: string) => `${object}.?status.?conditions.orValue([]).filter(c, c.?type.orValue('') == t)`
  const status = `e[?'fieldsV1'][?'f:status']`
  const covers = (keys: readonly string[], set: string) =>
    `!${entries}.exists(e, e.?manager.orValue('') == ${quoted(writer)} && ${listOf(keys)}.exists(k, k in ${set}.orValue({})))`
  const sameFields = `${listOf(fields)}.all(f, object.?status[?f] == oldObject.?status[?f])`
  const sameTypes = `${listOf(types)}.all(t, ${ofType('object')} == ${ofType('oldObject')})`
  const fieldKeys = fields.map((field) => `f:${field}`)
  const itemKeys = types.map((type) => `k:${JSON.stringify({ type })}`)
  return [
    ...(fields.length > 0 ? [sameFields, covers(fieldKeys, status)] : []),
    ...(types.length > 0 ? [sameTypes, covers(itemKeys, `${status}[?'f:conditions']`)] : []),
  ]
}

/** The writer of one group sends a status; everybody else's paths in it are as they were. */
function ownStatus(group: PathGroup, groups: readonly PathGroup[]): string[] {
  return group.passes
    .filter(({ anyManager }) => !anyManager)
    .map(({ identity, managers: [writer] }) => {
      const others = groups.filter((each) => each !== group && each.on === 'status')
      const own = [`request.?subResource.orValue('') == 'status'`, `${manager} == ${quoted(writer)}`, isUser(identity)]
      return [...own, ...others.flatMap((each) => isUntouched(each, writer))].join(' && ')
    })
}

const isFinalizer = (path: string) => path.startsWith('metadata.finalizers/')

/** Somebody makes the object who writes all that is enforced of a new one, and brings no ownership of a status. */
function ownCreation(groups: readonly PathGroup[]): string[] {
  const concerned = groups.filter(({ on, paths }) => on === 'metadata' && !paths.every(isFinalizer))
  const [first, ...rest] = concerned
  const writers = first?.passes.filter(
    ({ anyManager, identity, managers: [writer] }) =>
      !anyManager &&
      rest.every(({ passes }) => passes.some((pass) => pass.identity === identity && pass.managers.includes(writer))),
  )
  return (writers ?? []).map(({ identity, managers: [writer] }) =>
    [
      `request.operation == 'CREATE'`,
      `${manager} == ${quoted(writer)}`,
      isUser(identity),
      `!${entries}.exists(e, e[?'fieldsV1'][?'f:status'].hasValue())`,
    ].join(' && '),
  )
}

/** Anybody makes an object of which nothing but finalizers is enforced, under no reserved name and without a part in its status. */
function plainCreation(groups: readonly PathGroup[], names: readonly string[]): string[] {
  if (groups.some(({ on, paths }) => on === 'metadata' && !paths.every(isFinalizer))) return []
  const isReserved = (name: string) => `${name} in ${listOf(names)}`
  const taken = `e[?'fieldsV1'][?'f:status'].hasValue() || ${isReserved(`e.?manager.orValue('')`)}`
  return [`request.operation == 'CREATE' && !(${isReserved(manager)}) && !${entries}.exists(e, ${taken})`]
}

/**
 * CEL that is true of such writes; undefined where there are none to tell. Only where one identity has reserved names: an entry
 * under another's would have to be looked for.
 */
export function ownWrite({ groups }: EnforcedKind, reserved: ReadonlyMap<string, readonly string[]>): string | undefined {
  if (reserved.size !== 1) return undefined
  const status = groups.filter(({ on }) => on === 'status').flatMap((group) => ownStatus(group, groups))
  const own = [...status, ...ownCreation(groups), ...plainCreation(groups, [...reserved.values()].flat())]
  return own.length > 0 ? own.map((each) => `(${each})`).join('\n|| ') : undefined
}
