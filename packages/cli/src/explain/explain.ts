/** From what was read to the explanation. Pure: the same snapshot always gives the same. */
import { NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import { chainOf, type Target } from './chain.ts'
import { dumpCommand } from './dump.ts'
import { type Facts, nameOf } from './facts.ts'
import { leadersIn } from './leaders.ts'
import type { Explanation, Node, Written } from './model.ts'
import { besideOf, treeOf } from './nodes.ts'
import { findIn, type Snapshot, tellsWriters } from './snapshot.ts'
import { verdictOn } from './verdict.ts'

/** The kind of a target. */
export const targetKinds = { claim: NetworkInterfaceClaim, interface: NetworkInterface } as const

/** Undefined when what is asked for is not there. */
export function explain(snapshot: Snapshot, target: Target): Explanation | undefined {
  const found = findIn(snapshot, targetKinds[target.kind], target)
  if (!found) return undefined
  const leaders = leadersIn(snapshot)
  const facts: Facts = { snapshot, chain: chainOf(snapshot, target), leaders, tells: tellsWriters(snapshot) }
  const [tree, beside] = [treeOf(facts), besideOf(facts)]
  const { namespace, name } = target
  return {
    target: { apiVersion: found.apiVersion, kind: found.kind, namespace, name },
    origin: snapshot.origin,
    at: snapshot.at.toISOString(),
    verdict: verdictOn(facts),
    foreign: [tree, ...beside].flatMap(complaintsIn),
    notes: notesOn(facts, target),
    ...{ tree, beside, leaders },
  }
}

function complaintsIn(node: Node): string[] {
  const about = (path: string, { complaint }: Written) => (complaint ? [`${nameOf(node)} ${path}: ${complaint}`] : [])
  return [
    ...node.conditions.flatMap(({ type, written, from = [] }) => [
      ...about(`condition ${type}`, written),
      ...from.flatMap(({ complaint }) => (complaint ? [`${nameOf(node)} condition ${type}: ${complaint}`] : [])),
    ]),
    ...node.fields.flatMap(({ path, written }) => about(`status.${path}`, written)),
    ...node.children.flatMap(complaintsIn),
  ]
}

function notesOn({ snapshot, tells }: Facts, { namespace }: Target): string[] {
  const unread = snapshot.gaps
    .filter(({ why }) => why === 'forbidden' || why === 'failed')
    .map(({ kind, message }) => `${kind} could not be read, so nothing is said of it: ${message}`)
  if (tells) return unread
  const how = snapshot.origin === 'dump' ? ` A better one: ${dumpCommand(namespace)}.` : ''
  return [
    `Who wrote what is not in the ${snapshot.origin === 'dump' ? 'dump' : 'answers'}: it has no managedFields.${how}`,
    ...unread,
  ]
}
