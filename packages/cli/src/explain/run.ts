/** `nso explain`: gather or read a dump, explain, print. */
import { type Cluster, openCluster } from '../cluster.ts'
import { Explained } from '../failure.ts'
import { type Format, formatted } from '../output.ts'
import { type Paint, plain } from '../tree.ts'
import type { Target } from './chain.ts'
import { namespacesWith, readDump, writeDump } from './dump.ts'
import { explain, targetKinds } from './explain.ts'
import { nameOf } from './facts.ts'
import { gather, namesThereAre } from './gather.ts'
import { renderExplanation } from './render.ts'
import { findIn, gapOf, kindOf, type Snapshot, sameKind } from './snapshot.ts'
import { type Asked, parseTarget } from './target.ts'

export type ExplainFlags = {
  namespace?: string
  kubeconfig?: string
  /** `dump`: what was read, for `filename`. */
  output: Format | 'dump'
  /** A dump instead of a cluster; `-`: standard input. */
  filename?: string
}

const patienceMs = 30_000

/** What is printed. Rejects with `Explained` when what is asked for is not there or cannot be read. */
export async function answerExplain(words: readonly string[], flags: ExplainFlags, paint: Paint = plain): Promise<string> {
  const asked = parseTarget(words)
  const { snapshot, target } = flags.filename === undefined ? await live(asked, flags) : offline(asked, flags, flags.filename)
  const explanation = explain(snapshot, target)
  if (!explanation) throw new Explained(notThere(snapshot, target, []))
  const { output } = flags
  if (output === 'dump') return writeDump(snapshot).trimEnd()
  return formatted(output, explanation, (shown) => renderExplanation(shown, paint).join('\n'))
}

type Read = { snapshot: Snapshot; target: Target }

async function live(asked: Asked, flags: ExplainFlags): Promise<Read> {
  const cluster = await openCluster({ kubeconfig: flags.kubeconfig })
  try {
    const target = { ...asked, namespace: flags.namespace ?? cluster.namespace }
    const signal = AbortSignal.timeout(patienceMs)
    const snapshot = await gather(cluster, target, signal)
    if (!explain(snapshot, target)) throw new Explained(notThere(snapshot, target, await others(cluster, target, signal)))
    return { snapshot, target }
  } finally {
    await cluster.close()
  }
}

const others = (cluster: Cluster, target: Target, signal: AbortSignal) =>
  namesThereAre(cluster, targetKinds[target.kind], target.namespace, signal)

/** The namespace may be left out where the dump has the name only once. */
function offline(asked: Asked, { namespace }: ExplainFlags, file: string): Read {
  const snapshot = readDump(file)
  const found = namespacesWith(snapshot, targetKinds[asked.kind], asked.name)
  const [only] = found
  const target = { ...asked, namespace: namespace ?? (found.length === 1 && only !== undefined ? only : 'default') }
  if (explain(snapshot, target)) return { snapshot, target }
  const names = snapshot.objects
    .filter((object) => sameKind(kindOf(object), targetKinds[asked.kind]))
    .map(({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name}`)
  throw new Explained(notThere(snapshot, target, names))
}

function notThere(snapshot: Snapshot, { kind, namespace, name }: Target, names: readonly string[]): string {
  const gap = gapOf(snapshot, targetKinds[kind], namespace)
  if (gap) return `${kind} ${namespace}/${name} cannot be explained: ${gap.message}`
  const [near, far] = [
    names.filter((each) => each.startsWith(`${namespace}/`)),
    names.filter((each) => !each.startsWith(`${namespace}/`)),
  ]
  const shown = (each: readonly string[]) => `${each.slice(0, most).join(', ')}${each.length > most ? ', …' : ''}`
  const elsewhere = far.length > 0 ? `there is none in namespace ${namespace}; elsewhere: ${shown(far)}` : 'there is none'
  const there = near.length > 0 ? `there are: ${shown(near)}` : elsewhere
  return `${kind} ${namespace}/${name} does not exist${snapshot.origin === 'dump' ? ' in the dump' : ''}; ${there}.${retained(snapshot, { kind, namespace, name })}`
}

const most = 10

/** An interface may outlive its claim. */
function retained(snapshot: Snapshot, { kind, namespace, name }: Target): string {
  const nic = kind === 'claim' ? findIn(snapshot, targetKinds.interface, { namespace, name }) : undefined
  return nic ? ` ${nameOf({ kind: nic.kind, namespace, name })} stands: nso explain interface/${name}` : ''
}
