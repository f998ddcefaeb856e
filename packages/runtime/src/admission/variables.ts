/**
 * The variables of a policy, each computed at most once for a request and only when something asks for it: who writes, what
 * changed on a group of paths, and on which of them field ownership changed. Source: KEP-3488, KEP-555.
 */
import { anyOf, identifier, listOf, quoted, sumOf } from './cel.ts'
import type { EnforcedKind, Pass, PathGroup } from './enforced.ts'

export type Variable = { readonly name: string; readonly expression: string }

/** Said in place, since a variable costs more than these. */
const onStatus = `request.?subResource.orValue('') == 'status'`
const isNew = `request.operation == 'CREATE'`

export const usersOf = (identity: string) => `variables.users_${identifier(identity)}`

export const isOneOf = (identity: string) => `variables.is_${identifier(identity)}`

/** Whether the request may change a group's paths; names before values, since this is all that the documented writer pays. */
export function mayPass({ identity, managers, anyManager }: Pass, named: readonly string[]): string {
  const manager = anyManager ? `!(variables.manager in ${listOf(named)})` : `variables.manager in ${listOf(managers)}`
  return `(${manager} && ${isOneOf(identity)})`
}

/** The collector takes references to what is gone out of an object, as its own account or as that of all controllers. */
const collectors = ['system:serviceaccount:kube-system:generic-garbage-collector', 'system:kube-controller-manager']

const ancient = 'ancient-changes'

/**
 * An entry as `who` it is of and what it covers. When the server gathers the entries of many Update managers into one, which it
 * does from the eleventh on, the names of Update managers say nothing any more: then only whether there is one.
 */
const owners = (entries: string) =>
  [
    `${entries}.map(e, {`,
    `  'who': dyn(e.?operation.orValue('') == 'Update' && variables.isGathered`,
    `    ? 'Update' : e.?manager.orValue('') + ' ' + e.?operation.orValue('') + ' ' + e.?subresource.orValue('')),`,
    `  'isApply': dyn(e.?operation.orValue('') == 'Apply'),`,
    `  'set': dyn(e.?fieldsV1.orValue({}))})`,
  ].join('\n')

const hasStatus = (e: string) => `${e}[?'fieldsV1'][?'f:status'].hasValue()`

const hasMetadata = (e: string) => `(${e}[?'fieldsV1'][?'f:metadata'].hasValue() || ${e}[?'fieldsV1'][?'f:spec'].hasValue())`

function identityVariables(identity: string): Variable[] {
  const parameter = `params.?data[?${quoted(identity)}].orValue('')`
  const user = 'request.userInfo.username'
  const users = `${parameter}.replace(',', '\\n').split('\\n').map(u, u.trim()).filter(u, u != '')`
  return [
    { name: `users_${identifier(identity)}`, expression: users },
    {
      name: `is_${identifier(identity)}`,
      // Most often there is one user, and nothing to take apart; nor is there for somebody who is nowhere in it.
      expression: `${parameter} == ${user} || (${parameter}.contains(${user}) && ${user} in ${usersOf(identity)})`,
    },
  ]
}

function common(identities: readonly string[]): Variable[] {
  return [
    { name: 'manager', expression: `request.?options.?fieldManager.orValue('')` },
    {
      name: 'who',
      expression: `request.userInfo.username + (variables.manager == '' ? ' (no field manager)' : ' as ' + variables.manager)`,
    },
    ...identities.flatMap(identityVariables),
    { name: 'now', expression: 'dyn(object)' },
    { name: 'was', expression: `${isNew} ? dyn({}) : dyn(oldObject)` },
    { name: 'entriesBefore', expression: 'variables.was.?metadata.?managedFields.orValue([])' },
    {
      // What the server itself writes when an object without any ownership is applied to for the first time.
      name: 'entries',
      expression: [
        `${isNew} || size(variables.entriesBefore) > 0`,
        '? variables.now.?metadata.?managedFields.orValue([])',
        `: variables.now.?metadata.?managedFields.orValue([]).filter(e, e.?manager.orValue('') != 'before-first-apply' || e.?operation.orValue('') != 'Update')`,
      ].join('\n'),
    },
    { name: 'isGathered', expression: `variables.entries.exists(e, e.?manager.orValue('') == '${ancient}')` },
    {
      name: 'ownEntry',
      expression: `variables.manager + ' Apply ' + request.?subResource.orValue('')`,
    },
  ]
}

export const takenOf = (identity: string) => `variables.taken_${identifier(identity)}`

/**
 * Reserved names under which this write leaves an entry that was not there, or that covers more of the status than it did: a
 * request without a field manager writes under the name that its user agent begins with, and managedFields can be edited.
 */
function takenVariable(identity: string, managers: readonly string[], hasStatus: boolean): Variable {
  const same = ['manager', 'operation', 'subresource', 'apiVersion', 'time'].map((field) => `b.?${field} == e.?${field}`)
  const inStatus = (entry: string) => `${entry}[?'fieldsV1'][?'f:status']`
  const within = [inStatus, (entry: string) => `${inStatus(entry)}[?'f:conditions']`].map(
    (fields) => `${fields('e')}.orValue({}).all(k, k in ${fields('b')}.orValue({}))`,
  )
  const stood = [...same, ...(hasStatus ? within : [])].join(' && ')
  return {
    name: `taken_${identifier(identity)}`,
    expression: [
      `variables.entries.filter(e, e.?manager.orValue('') in ${listOf(managers)} && !variables.entriesBefore.exists(b,`,
      `  ${stood})).map(e, e.manager)`,
    ].join('\n'),
  }
}

/** The entries that cover a part of the object: of others and of the requester's own name, and what they say. */
function entryVariables(part: 'status' | 'metadata', has: (e: string) => string): Variable[] {
  const isMine = `e.?manager.orValue('') == variables.manager`
  return ['', 'Before'].flatMap((when) => [
    { name: `${part}Others${when}`, expression: `variables.entries${when}.filter(e, ${has('e')} && !(${isMine}))` },
    { name: `${part}Mine${when}`, expression: `variables.entries${when}.filter(e, ${has('e')} && ${isMine})` },
    { name: `${part}Owners${when}`, expression: owners(`variables.entries${when}.filter(e, ${has('e')})`) },
  ])
}

/**
 * Nobody's ownership of a group's paths changed, without looking path by path: entries of others are as they were, and none of
 * the requester's own covers one of the paths or did.
 */
function isQuiet(part: 'status' | 'metadata', covers: (fields: string) => string): string {
  const none = ['', 'Before'].map((when) => `!variables.${part}Mine${when}.exists(e, ${covers('e.fieldsV1')})`)
  return `(variables.${part}Others == variables.${part}OthersBefore && ${none.join(' && ')})`
}

/** Owners of one key of `set` among these, with what an apply owns of it; the part of an Update's changes with every write. */
const owning = (list: string, has: string, part: string) =>
  `${list}.filter(e, ${has}).map(e, [e.who, e.isApply ? dyn(${part}) : dyn('')])`

/** `has`: whether a set of fields covers the path; `part`: what the entry `e` of the owners covers of it. */
type Covering = { has: (fields: { set: string }) => string; part: string }

/**
 * Whether the owners of a path are others than before. An apply that only withdraws its own manager is no change: whoever became
 * a second owner while nothing was enforced can leave again.
 */
function ownersDiffer(list: 'statusOwners' | 'metadataOwners', { has, part }: Covering, mayWithdraw: boolean): string {
  const [now, before] = [`variables.${list}`, `variables.${list}Before`]
  const withdrawn = `!(e.who == variables.ownEntry && !${now}.exists(n, n.who == e.who && ${has({ set: 'n.set' })}))`
  const stayed = mayWithdraw ? `${has({ set: 'e.set' })} && ${withdrawn}` : has({ set: 'e.set' })
  return `!sets.equivalent(\n    ${owning(now, has({ set: 'e.set' }), part)},\n    ${owning(before, stayed, part)})`
}

function statusVariables({ id, paths, passes }: PathGroup): Variable[] {
  const prefix = 'conditions/'
  const types = paths.filter((path) => path.startsWith(prefix)).map((path) => path.slice(prefix.length))
  const fields = paths.filter((path) => !path.startsWith(prefix))
  const mayWithdraw = !passes.some(({ anyManager }) => anyManager)
  const condition: Covering = {
    has: ({ set }) => `'k:{"type":"' + t + '"}' in ${set}['f:status'][?'f:conditions'].orValue({})`,
    part: `e.set['f:status']['f:conditions']['k:{"type":"' + t + '"}']`,
  }
  const field: Covering = { has: ({ set }) => `('f:' + f) in ${set}['f:status']`, part: `e.set['f:status']['f:' + f]` }
  const named = (kept: string, v: string, text: string) => `${kept}.map(${v}, ${text})`
  const changed = [
    ...(fields.length > 0
      ? [named(`${listOf(fields)}.filter(f, variables.now.?status[?f] != variables.was.?status[?f])`, 'f', `'status.' + f`)]
      : []),
    ...(types.length > 0
      ? [
          named(
            `${listOf(types)}.filter(t, variables.conditions.filter(c, c.?type.orValue('') == t) != variables.conditionsBefore.filter(c, c.?type.orValue('') == t))`,
            't',
            `'status.conditions[' + t + ']'`,
          ),
        ]
      : []),
  ]
  const joined = [
    ...(fields.length > 0
      ? [named(`${listOf(fields)}.filter(f, ${ownersDiffer('statusOwners', field, mayWithdraw)})`, 'f', `'status.' + f`)]
      : []),
    ...(types.length > 0
      ? [
          named(
            `${listOf(types)}.filter(t, ${ownersDiffer('statusOwners', condition, mayWithdraw)})`,
            't',
            `'status.conditions[' + t + ']'`,
          ),
        ]
      : []),
  ]
  return [
    { name: `changed_${id}`, expression: `${onStatus}\n? ${sumOf(...changed)}\n: []` },
    {
      name: `joined_${id}`,
      expression: `${anyOf(...mayMove(passes), isQuiet('status', coversStatus(fields, types)))}\n? []\n: ${sumOf(...joined)}`,
    },
  ]
}

/** Whether fields of an entry cover one of these. */
const coversStatus = (fields: readonly string[], types: readonly string[]) => (set: string) => {
  const status = `${set}['f:status']`
  const keys = fields.map((field) => `f:${field}`)
  const items = types.map((type) => `k:${JSON.stringify({ type })}`)
  return anyOf(
    ...(keys.length > 0 ? [`${listOf(keys)}.exists(k, k in ${status})`] : []),
    ...(items.length > 0 ? [`${listOf(items)}.exists(k, k in ${status}[?'f:conditions'].orValue({}))`] : []),
  )
}

/** On the main resource the owning identity, under any of its managers, may put ownership right: migration, end of a fight. */
const mayMove = (passes: readonly Pass[]) =>
  [...new Set(passes.map(({ identity }) => identity))].map((identity) => `(!(${onStatus}) && ${isOneOf(identity)})`)

type MetadataPath = { differs: (now: string, was: string) => string; covering: Covering; unless: string }

const maps = ['labels', 'annotations', 'finalizers'] as const

const unequal = (value: (object: string) => string) => (now: string, was: string) => `${value(now)} != ${value(was)}`

/** The keys of a map that begin with `prefix`. Of an apply only how many it owns: the server fixes no order of them. */
function keysWithPrefix(map: string, prefix: string): MetadataPath {
  const pairs = (object: string) => {
    const all = `${object}.?metadata.?${map}.orValue({})`
    return `${all}.filter(k, k.startsWith(${quoted(prefix)})).map(k, [k, ${all}[k]])`
  }
  const items = (set: string) => `${set}[?'f:metadata'][?'f:${map}'].orValue({})`
  const isOne = `k.startsWith(${quoted(`f:${prefix}`)})`
  return {
    differs: (now, was) => `!sets.equivalent(${pairs(now)}, ${pairs(was)})`,
    covering: {
      has: ({ set }) => `${items(set)}.exists(k, ${isOne})`,
      part: `size(${items('e.set')}.filter(k, ${isOne}))`,
    },
    unless: 'false',
  }
}

/** How one documented metadata path is read from an object and found in managedFields. */
function metadataPath(path: string): MetadataPath {
  if (path === 'spec') {
    const covering = { has: ({ set }: { set: string }) => `'f:spec' in ${set}`, part: `e.set['f:spec']` }
    return { differs: unequal((o) => `${o}.?spec`), covering, unless: 'false' }
  }
  const field = path.slice('metadata.'.length)
  const map = maps.find((name) => field.startsWith(`${name}/`))
  const inside = (set: string, name: string) => `${set}[?'f:metadata'][?'f:${name}']`
  if (map === undefined) {
    const covering = {
      has: ({ set }: { set: string }) => `${inside(set, field)}.hasValue()`,
      part: `e.set['f:metadata']['f:${field}']`,
    }
    const empty = field === 'ownerReferences' || field === 'finalizers' ? '[]' : '{}'
    const unless = field === 'ownerReferences' ? `request.userInfo.username in ${listOf(collectors)}` : 'false'
    return { differs: unequal((o) => `${o}.?metadata.?${field}.orValue(${empty})`), covering, unless }
  }
  const key = field.slice(map.length + 1)
  if (key.endsWith('*')) return keysWithPrefix(map, key.slice(0, -1))
  const item = quoted(map === 'finalizers' ? `v:${JSON.stringify(key)}` : `f:${key}`)
  const covering = {
    has: ({ set }: { set: string }) => `${item} in ${inside(set, map)}.orValue({})`,
    part: `e.set['f:metadata']['f:${map}'][${item}]`,
  }
  if (map !== 'finalizers')
    return { differs: unequal((o) => `${o}.?metadata.?${map}[?${quoted(key)}]`), covering, unless: 'false' }
  // Its owner's body, somebody's on the owner's behalf, or an admission policy brings it at creation.
  return { differs: unequal((o) => `(${quoted(key)} in ${o}.?metadata.?finalizers.orValue([]))`), covering, unless: isNew }
}

function metadataVariables({ id, paths, passes }: PathGroup): Variable[] {
  const each = paths.map((path) => ({ path, ...metadataPath(path) }))
  const when = (unless: string, test: string) => (unless === 'false' ? test : `!(${unless}) && ${test}`)
  const changed = each.map(
    ({ path, differs, unless }) => `(${when(unless, differs('variables.now', 'variables.was'))} ? [${quoted(path)}] : [])`,
  )
  const joined = each.map(
    ({ path, covering, unless }) => `(${when(unless, ownersDiffer('metadataOwners', covering, true))} ? [${quoted(path)}] : [])`,
  )
  const quiet = isQuiet('metadata', (set) => anyOf(...each.map(({ covering }) => covering.has({ set }))))
  // Of a write to the status the server takes nothing outside it, entries included.
  const always = [onStatus, ...(each.every(({ unless }) => unless === isNew) ? [isNew] : [])]
  return [
    { name: `changed_${id}`, expression: `${anyOf(...always)}\n? []\n: ${sumOf(...changed)}` },
    {
      name: `joined_${id}`,
      expression: `${anyOf(...always, ...mayMove(passes), quiet)}\n? []\n: ${sumOf(...joined)}`,
    },
  ]
}

/** All variables of a kind's policy, in an order in which each knows those it uses. */
export function variablesOf(
  { groups, hasStatus: isJudged }: EnforcedKind,
  identities: readonly string[],
  reserved: ReadonlyMap<string, readonly string[]>,
): Variable[] {
  return [
    ...common(identities),
    ...[...reserved].map(([identity, managers]) => takenVariable(identity, managers, isJudged)),
    ...(isJudged
      ? [
          { name: 'conditions', expression: 'variables.now.?status.?conditions.orValue([])' },
          { name: 'conditionsBefore', expression: 'variables.was.?status.?conditions.orValue([])' },
          ...entryVariables('status', hasStatus),
        ]
      : []),
    ...(groups.some(({ on }) => on === 'metadata') ? entryVariables('metadata', hasMetadata) : []),
    ...groups.flatMap((group) => (group.on === 'status' ? statusVariables(group) : metadataVariables(group))),
  ]
}
