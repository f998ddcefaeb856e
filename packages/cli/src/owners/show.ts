/** The ownership tables and what a check has found, as text. Pure. */
import type { Paint } from '../tree.ts'
import type { Checked } from './check.ts'
import type { Finding } from './findings.ts'
import { componentNames, componentOf, isNamed, type Owner, type Row, userOf } from './table.ts'

/** One line of `nso owners`: its fields are those of `-o json|yaml`. */
export type OwnerLine = {
  apiGroup: string
  kind: string
  /** As in the tables; status paths with `status.` before them. */
  path: string
  /** Field manager, or who it is where each uses one of its own. Absent: written by nobody, or by `others`. */
  writer?: string
  /** It is not of whoever the table is of: no writer of the table touches it. */
  others?: true
  /** The component; absent for a role that permissions give. */
  component?: string
  /** `system:serviceaccount:…` or the role. */
  identity?: string
  /** When it is written; for a reserved path why it is not. */
  when: string
  /** Whether the API server refuses everybody else where the admission policies are in force. */
  enforced: boolean
}

function lineOf({ kind: { group, kind } }: Row, path: string, owner: Owner): OwnerLine {
  const { writer, identity, when } = owner
  const component = componentOf(identity)
  return {
    ...{ apiGroup: group, kind, path, writer },
    ...(component ? { component } : {}),
    ...{ identity: userOf(identity), when, enforced: !owner.shared && (isNamed(owner) || owner.anyManager === true) },
  }
}

/** All documented paths of these rows. */
export function ownerLines(rows: readonly Row[]): OwnerLine[] {
  return rows.flatMap((row) => [
    ...row.status.flatMap((owner) => owner.owns.map((path) => lineOf(row, `status.${path}`, owner))),
    ...row.metadata.map((owner) => lineOf(row, owner.path, owner)),
    ...(row.reserved ?? []).map(({ path, why }) => ({
      ...{ apiGroup: row.kind.group, kind: row.kind.kind, path: `status.${path}` },
      ...{ when: `never: ${why}`, enforced: true },
    })),
    ...(row.foreign ?? []).map(({ path, why }) => ({
      ...{ apiGroup: row.kind.group, kind: row.kind.kind, path, others: true as const, when: why, enforced: false },
    })),
  ])
}

function padded(lines: readonly (readonly string[])[]): string[] {
  const widths = lines.reduce<number[]>((all, line) => line.map((cell, at) => Math.max(cell.length, all[at] ?? 0)), [])
  return lines.map((line) =>
    line
      .map((cell, at) => (at === line.length - 1 ? cell : cell.padEnd(widths[at] ?? 0)))
      .join('  ')
      .trimEnd(),
  )
}

/** One block for each kind. */
export function renderOwners(lines: readonly OwnerLine[], paint: Paint): string[] {
  const blocks = Map.groupBy(lines, ({ apiGroup, kind }) => `${kind}.${apiGroup}`)
  return [...blocks].flatMap(([kind, of], at) => {
    const cells = of.map(({ path, writer, component, others, enforced, when }) => {
      const nobody = others ? 'others' : 'nobody'
      const who = writer === undefined ? nobody : component ? `${writer} (${component})` : `the ${writer}`
      return [`  ${path}`, `${who}${enforced ? '' : ' *'}`, when]
    })
    return [...(at === 0 ? [] : ['']), paint(kind, 'strong'), ...padded(cells)]
  })
}

export const renderedOwnersNote = [
  `${componentNames.map((name) => `${name} is ${userOf(name.toLowerCase())}`).join(', ')}.`,
  '* left to permissions. Everything else is refused to others where the admission policies are in force.',
].join('\n')

const key = ({ kind, namespace, name }: Finding): string => `${kind} ${namespace ? `${namespace}/` : ''}${name}`

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

/** All is right: one line. Else the findings by object, and what could not be read. */
export function renderChecked(checked: Checked, paint: Paint): string[] {
  const { findings, unread, unserved, objects, kinds } = checked
  const unknown = unread.map(({ kind, message }) => paint(`${kind}: could not be read: ${message}`, 'bad'))
  if (kinds.length === 0) return [...unknown, paint(nothingLooked(checked), 'bad')]
  const looked = `${counted(objects, 'object')} of ${counted(kinds.length, 'kind')}`
  const missing = unserved.length > 0 ? ` (not served: ${unserved.join(', ')})` : ''
  if (findings.length === 0) {
    const right = `Every documented path of ${looked} is its documented writer’s${missing}.`
    return unknown.length === 0 ? [right] : [...unknown, `${right} Of the kinds above nothing is known.`]
  }
  const blocks = [...Map.groupBy(findings, key)].flatMap(([object, of]) => [
    paint(object, 'strong'),
    ...of.map(({ path, finding, says }) => `  ${path}: ${paint(says, finding === 'former' ? 'dim' : 'bad')}`),
  ])
  return [...blocks, ...unknown, `${counted(findings.length, 'path')} not as documented, in ${looked}${missing}.`]
}

const nothingLooked = ({ unread }: Checked): string =>
  unread.length > 0 ? 'Nothing could be looked at.' : 'Nothing was looked at: none of the kinds is served by this cluster.'
