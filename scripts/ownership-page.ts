/** docs/status-ownership.md from the ownership tables, the conditions and their texts. */
import {
  type ConditionStatus,
  type DocumentedOwnership,
  type KindDefinition,
  type ReasonText,
  type ReasonTexts,
  reasonStatuses,
} from 'kube-control-loop'
import type { Documentation } from 'kube-control-loop/testing'

export type Application = Omit<Documentation, 'table'> & {
  readonly title: string
  /** File of the table. */
  readonly source: string
  readonly table: readonly DocumentedOwnership[]
  readonly kinds: readonly KindDefinition[]
  readonly reasons: ReasonTexts
  /** Identity of the table → who that is, and whether policies hold others off. */
  readonly identities: Readonly<Record<string, { readonly who: string; readonly isEnforced: boolean }>>
}

const row = (...cells: string[]) => `| ${cells.map((text) => text.replaceAll('|', '\\|').replaceAll('<', '\\<')).join(' | ')} |`
const head = (...cells: string[]) => [row(...cells), row(...cells.map(() => '---'))]
const code = (text: string) => `\`${text}\``
const anchor = (title: string) => title.toLowerCase().replaceAll(' ', '-')

/** A writer that is known by what it is uses managers of its own. */
const manager = ({ writer, identity }: { writer: string; identity: string }) => (writer === identity ? 'its own' : code(writer))

function statusSection({ status, reserved = [], texts }: DocumentedOwnership): string[] {
  if (status.length === 0) return ['It has no status.', '']
  return [
    ...head('status', 'writer', 'identity', 'changes', 'comes from'),
    ...status.flatMap((owner) =>
      owner.owns.map((path) =>
        row(code(path), manager(owner), owner.identity, texts[path]?.when ?? '', texts[path]?.source ?? ''),
      ),
    ),
    ...reserved.map(({ path, why }) => row(code(path), 'nobody', '–', 'never', `reserved: ${why}`)),
    '',
  ]
}

/** The conditions that stand before anyone has spoken. */
function seedSection(kind: KindDefinition | undefined): string[] {
  const initial: unknown = kind?.status && 'default' in kind.status ? kind.status.default : undefined
  const { conditions = [] } = (initial ?? {}) as { conditions?: readonly { type: string }[] }
  if (conditions.length === 0) return []
  return [`Defaults of the CRD until their writer speaks: ${conditions.map(({ type }) => code(type)).join(', ')}.`, '']
}

function metadataSection({ metadata, foreign = [] }: DocumentedOwnership): string[] {
  const rows = metadata.map((owner) => {
    const keys = owner.keys ? `: ${owner.keys.map(code).join(', ')}` : ''
    const others = owner.shared ? '; others may write here too' : ''
    return row(`${code(owner.path)}${keys}`, manager(owner), owner.identity, `${owner.when}${others}`, owner.source)
  })
  const others = foreign.map(({ path, why }) => row(code(path), 'others', '–', '–', why))
  return [...head('spec and metadata', 'writer', 'identity', 'changes', 'comes from'), ...rows, ...others, '']
}

/** Names under which the same writers wrote before, and those of earlier software. */
function formerSection({ status, metadata, legacy = [] }: DocumentedOwnership): string[] {
  const former = [...new Set([...status, ...metadata].flatMap(({ formerly = [] }) => formerly))]
  const name = (manager: string) => (manager === '' ? 'requests without a field manager' : code(manager))
  return [
    ...(former.length > 0
      ? [`Accepted from the same identities, as the previous release wrote: ${former.map(name).join(', ')}.`, '']
      : []),
    ...(legacy.length > 0
      ? [`Moved to the documented writers at migration: \`Update\` entries of ${legacy.map(name).join(', ')}.`, '']
      : []),
  ]
}

type Told = { reason: string; text: ReasonText; on: Map<string, ConditionStatus[]> }

/** Each reason with each of its meanings once, in the order of the conditions. */
function reasonsOf({ conditions, reasons }: Application, kind: string): Told[] {
  const told = new Map<string, Told>()
  for (const [type, definition] of Object.entries(conditions[kind] ?? {}))
    for (const status of reasonStatuses)
      for (const reason of definition.reasons[status]) {
        const text = reasons[kind]?.[type]?.[status]?.[reason]
        if (!text) throw new Error(`${kind}.conditions/${type} ${status} ${reason} has no text`)
        const id = `${reason} ${text.means} ${text.remedy}`
        const one = told.get(id) ?? { reason, text, on: new Map() }
        one.on.set(type, [...(one.on.get(type) ?? []), status])
        told.set(id, one)
      }
  return [...told.values()]
}

const places = (on: Told['on']) => [...on].map(([type, statuses]) => `${type} ${statuses.join('/')}`).join(', ')

function openReasons({ conditions }: Application, kind: string): string[] {
  const open = Object.values(conditions[kind] ?? {}).filter((each) => each.open.length > 0)
  if (open.length === 0) return []
  const on = places(new Map(open.map(({ type, open }) => [type, [...open]])))
  return [
    row('any other', on, 'The reason of the one who reports, passed on as it is.', 'Look it up in the reporter’s own table.'),
  ]
}

function reasonSection(application: Application, kind: string): string[] {
  const told = reasonsOf(application, kind)
  if (told.length === 0) return []
  return [
    ...head('reason', 'on', 'means', 'what to do'),
    ...told.map(({ reason, text, on }) => row(code(reason), places(on), text.means, text.remedy)),
    ...openReasons(application, kind),
    '',
  ]
}

/** Of a kind that several applications write, each has a section of its own. */
export function headingOf(applications: readonly Application[], { title }: Application, { kind }: DocumentedOwnership): string {
  const isShared = applications.filter(({ table }) => table.some((row) => row.kind.kind === kind.kind)).length > 1
  return isShared ? `${kind.kind} of ${title}` : kind.kind
}

function kindSection(application: Application, heading: string, resource: DocumentedOwnership): string[] {
  const { kind, marked } = resource
  const definition = application.kinds.find((each) => each.group === kind.group && each.kind === kind.kind)
  return [
    `### ${heading}`,
    '',
    `${code(`${kind.plural}.${kind.group}`)}. ${definition?.description ?? ''}`.trimEnd(),
    '',
    ...(marked ? [`Only objects with the label ${code(marked)} are meant; others of this kind are anyone’s.`, ''] : []),
    ...statusSection(resource),
    ...seedSection(definition),
    ...metadataSection(resource),
    ...formerSection(resource),
    ...reasonSection(application, kind.kind),
  ]
}

function applicationSection(applications: readonly Application[], application: Application): string[] {
  const { title, source, table, identities } = application
  return [
    `## ${title}`,
    '',
    `From ${code(source)}.`,
    '',
    ...head('identity', 'who that is', 'held to it by'),
    ...Object.entries(identities).map(([name, { who, isEnforced }]) =>
      row(name, who, isEnforced ? 'admission policies and permissions' : 'permissions only'),
    ),
    '',
    ...table.flatMap((resource) => kindSection(application, headingOf(applications, application, resource), resource)),
  ]
}

const introduction = [
  'Every status field and condition has one documented writer. The writer is a field manager of server-side apply, used under one',
  'identity. This page, the field descriptions (`kubectl explain`), the roles and the admission policies come from the same tables.',
  '',
  '- `conditions/X` is the condition of type X. Its reasons stand below the kind, with what each means and what to do.',
  '- A condition that is still `Unknown` with reason `Pending` and the time 1970-01-01T00:00:00Z is a default of the CRD: no manager',
  '  wrote it, and nobody has looked at the object yet.',
  '- `Ready=False` on a claim? Its reason names the first condition that does not hold. Read on at that one; where it repeats a',
  '  data plane’s report, `status.conditionSources` names the object, its condition and who had set that.',
  '- Reserved fields are in the schema for compatibility; nobody writes them.',
  '- *Its own* as writer: each process of that identity uses a field manager of its own choice.',
  '- Identities are resolved to users at installation. Policies refuse a write by another identity or manager (mode `Deny`), or only',
  '  report it (mode `Audit`): [enforcement](enforcement.md).',
]

/** The page: one section per application, one per kind. */
export function ownershipPage(applications: readonly Application[]): string {
  const contents = applications.flatMap((application) => [
    `- [${application.title}](#${anchor(application.title)})`,
    ...application.table
      .map((resource) => headingOf(applications, application, resource))
      .map((heading) => `  - [${heading}](#${anchor(heading)})`),
  ])
  const lines = [
    '<!-- Generated by npm run generate. Do not edit. -->',
    '# Who writes what',
    '',
    ...introduction,
    '',
    ...contents,
    '',
    ...applications.flatMap((application) => applicationSection(applications, application)),
  ]
  return `${lines.join('\n').trimEnd()}\n`
}
