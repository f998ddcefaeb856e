/** A claim and all that stands for it, as an indented tree for people. Pure. */
import type { KubeObject } from 'kube-control-loop'

export type TreeNode = { object: KubeObject; notes?: readonly string[]; children: readonly TreeNode[] }

type ConditionLike = { type?: unknown; status?: unknown; reason?: unknown; message?: unknown }

export type Paint = (text: string, tone: 'good' | 'bad' | 'dim' | 'strong') => string

export const plain: Paint = (text) => text

export function renderTree(node: TreeNode, paint: Paint = plain): string[] {
  return lines(node, '', '', paint)
}

function lines({ object, notes = [], children }: TreeNode, first: string, rest: string, paint: Paint): string[] {
  const { namespace, name } = object.metadata
  const title = `${paint(object.kind, 'strong')} ${namespace ? `${namespace}/` : ''}${name}`
  const inner = `${rest}${children.length > 0 ? '│  ' : '   '}`
  const own = [...notes.map((note) => paint(note, 'dim')), ...conditionsOf(object).map((one) => conditionLine(one, paint))]
  return [
    `${first}${title}`,
    ...own.map((text) => `${inner}${text}`),
    ...children.flatMap((child, index) => {
      const last = index === children.length - 1
      return lines(child, `${rest}${last ? '└─ ' : '├─ '}`, `${rest}${last ? '   ' : '│  '}`, paint)
    }),
  ]
}

export function conditionsOf(object: KubeObject): ConditionLike[] {
  const status = object.status as { conditions?: ConditionLike[] } | undefined
  return status?.conditions ?? []
}

function conditionLine({ type, status, reason, message }: ConditionLike, paint: Paint): string {
  const tone = status === 'True' ? 'good' : status === 'False' ? 'bad' : 'dim'
  return `${String(type).padEnd(15)} ${paint(String(status).padEnd(7), tone)} ${String(reason)}${message ? paint(` · ${String(message)}`, 'dim') : ''}`
}
