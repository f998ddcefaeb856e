/** An explanation as text for people. Pure. */
import type { Paint } from '../tree.ts'
import { age } from './ages.ts'
import { nameOf } from './facts.ts'
import type { ConditionView, Explanation, FieldView, FinalizerView, Node, Source, Written } from './model.ts'
import { writerName } from './written.ts'

type Ink = { paint: Paint; at: Date }

/** The verdict first, then what is wrong with writers, the chain, what is beside it, and who runs. */
export function renderExplanation(explanation: Explanation, paint: Paint): string[] {
  const { verdict, foreign, notes, tree, beside, leaders } = explanation
  const ink = { paint, at: new Date(explanation.at) }
  return [
    paint(verdict.sentence, verdict.state === 'ready' ? 'good' : 'bad'),
    ...(verdict.remedy === undefined ? [] : [`What to do: ${verdict.remedy}`]),
    ...foreign.map((each) => paint(`! ${each}`, 'bad')),
    ...notes.map((each) => paint(`note: ${cut(each, 4 * longestMessage)}`, 'dim')),
    '',
    ...nodeLines(tree, { first: '', rest: '' }, ink),
    ...(beside.length > 0 ? ['', paint('Beside it', 'strong')] : []),
    ...beside.flatMap((each) => nodeLines(each, { first: '  ', rest: '  ' }, ink)),
    '',
    ...leaders.map(({ state, says }) => paint(says, state === 'leading' || state === 'unknown' ? 'dim' : 'bad')),
  ]
}

type Indent = { first: string; rest: string }

function nodeLines(node: Node, { first, rest }: Indent, ink: Ink): string[] {
  const inner = `${rest}${node.children.length > 0 ? '│  ' : '   '}`
  const own = [
    ...node.notes
      .filter((note) => note !== 'does not exist')
      .map((note) => ink.paint(note, node.state === 'missing' || node.state === 'not known' ? 'bad' : 'dim')),
    ...(node.deletion?.finalizers ?? []).map((each) => finalizerLine(each, ink)),
    ...node.conditions.slice(0, mostConditions).flatMap((each) => conditionLines(each, ink)),
    ...moreLine(node.conditions.length - mostConditions, ink),
    ...node.fields.map((each) => fieldLine(each, ink)),
  ]
  return [
    `${first}${titleOf(node, ink)}`,
    ...own.map((line) => `${inner}${line}`),
    ...node.children.flatMap((child, at) => {
      const isLast = at === node.children.length - 1
      return nodeLines(child, { first: `${rest}${isLast ? '└─ ' : '├─ '}`, rest: `${rest}${isLast ? '   ' : '│  '}` }, ink)
    }),
  ]
}

function titleOf(node: Node, { paint, at }: Ink): string {
  const name = paint(nameOf(node), 'strong')
  if (node.state === 'missing') return `${name} ${paint('MISSING', 'bad')}`
  if (node.state === 'not known') return `${name} ${paint('not known', 'bad')}`
  const old = age(at, node.created)
  const since = age(at, node.deletion?.since)
  const facts = [
    ...(node.generation === undefined ? [] : [`generation ${node.generation}`]),
    ...(old === undefined ? [] : [`${old} old`]),
  ]
  const deleting = node.deletion ? ` ${paint(`being deleted${since === undefined ? '' : ` for ${since}`}`, 'bad')}` : ''
  return `${name}${facts.length > 0 ? paint(` (${facts.join(', ')})`, 'dim') : ''}${deleting}`
}

function finalizerLine({ name, removedBy, component, addedBy }: FinalizerView, { paint }: Ink): string {
  const who =
    removedBy === undefined
      ? 'removed by nobody that is documented'
      : `removed by ${removedBy}${component ? ` (${component})` : ''}`
  const by = removedBy === undefined && addedBy.length > 0 ? `, put there by ${addedBy.join(', ')}` : ''
  return paint(`finalizer ${name}: ${who}${by}`, 'bad')
}

/** A text at a length that leaves the rest readable; `-o json` has all of it. */
const cut = (text: string, longest: number): string => (text.length > longest ? `${text.slice(0, longest - 1)}…` : text)

const longestMessage = 300
const longestValue = 100
/** Undocumented conditions may be anybody's, and as many as fit. */
const mostConditions = 30

const tones = { True: 'good', False: 'bad' } as const

function conditionLines(view: ConditionView, ink: Ink): string[] {
  const { type, status, reason, message, since, written, from, freshness, waitsFor } = view
  const { paint, at } = ink
  const tone = tones[status as keyof typeof tones] ?? 'dim'
  const head =
    `${type.padEnd(15)} ${paint(status.padEnd(7), tone)} ${reason ?? ''}${message ? paint(` · ${cut(message, longestMessage)}`, 'dim') : ''}`.trimEnd()
  const held = age(at, since)
  const facts = [
    ...(held === undefined ? [] : [`for ${held}`]),
    showWritten(written, ink),
    ...(freshness.state === 'current' ? ['current'] : []),
    ...(freshness.state === 'stale' ? [paint(`STALE: ${freshness.why ?? ''}`, 'bad')] : []),
  ]
  return [
    head,
    `    ${facts.join(' · ')}`,
    ...(from ?? []).map(
      (source) => `    from ${showSource(source)}${source.complaint ? ` ${paint(`! ${source.complaint}`, 'bad')}` : ''}`,
    ),
    ...(waitsFor === undefined ? [] : [`    waits for ${waitsFor}`]),
  ]
}

function showSource(source: Source): string {
  const { uid, generation, condition, says, manager, writtenBy, known } = source
  if (known === 'computed') return `its condition ${says ?? condition ?? ''}`
  const details = [
    ...(uid === undefined ? [] : [`uid ${uid}`]),
    ...(generation === undefined ? [] : [`generation ${generation}`]),
  ]
  const of = details.length > 0 ? ` (${details.join(', ')})` : ''
  const by = writtenBy ? `, written by ${writtenBy.join(', ')}` : manager === undefined ? '' : `, then written by "${manager}"`
  const what = condition === undefined ? '' : ` condition ${says ?? condition}${by}`
  return `${nameOf(source)}${of}${what}`
}

function showWritten({ by, writers, documented, complaint }: Written, { paint, at }: Ink): string {
  const should = documented ? `${documented.writer}${documented.component ? ` (${documented.component})` : ''}` : undefined
  switch (by) {
    case 'CRD default':
      return should === undefined ? 'CRD default' : `CRD default: ${should} has not written it`
    case 'absent':
      return `written by nobody${should === undefined ? '' : ` (to be written by ${should})`}`
    case 'not in the dump':
      return 'who wrote it is not in the dump'
    case 'nobody':
      return paint('nobody (no trace)', 'bad')
    case 'manager': {
      const names = writers.map((writer) => {
        const since = age(at, writer.time)
        const how = [writer.operation, ...(since === undefined ? [] : [`${since} ago`])].join(', ')
        return `${writerName(writer)} ${paint(`[${how}]`, 'dim')}${writer.holdsValue ? '' : ' in part'}`
      })
      return `by ${names.join(', ')}${complaint ? ` ${paint(`! ${complaint}`, 'bad')}` : ''}`
    }
  }
}

const moreLine = (count: number, { paint }: Ink): string[] =>
  count > 0 ? [paint(`and ${count} more conditions: -o json has them all`, 'dim')] : []

function fieldLine({ path, value, written }: FieldView, ink: Ink): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return `${path} = ${cut(text, longestValue)} ${ink.paint('·', 'dim')} ${showWritten(written, ink)}`
}
