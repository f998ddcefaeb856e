/** From what was read to the explanation. Pure: the same snapshot always gives the same. */
import { NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import { findingsOn } from '../owners/findings.ts'
import { textAt } from '../owners/stored.ts'
import { type Component, rowOf } from '../owners/table.ts'
import { type Chain, chainOf, type Target } from './chain.ts'
import { dumpCommand } from './dump.ts'
import { ageOf, type Facts, nameOf, refOf } from './facts.ts'
import { leadersIn } from './leaders.ts'
import type { Explanation, Node, Verdict, Written } from './model.ts'
import { besideOf, treeOf } from './nodes.ts'
import { findIn, type Snapshot, tellsWriters } from './snapshot.ts'
import { verdictOn } from './verdict.ts'
import { violationsIn } from './verdict-contract.ts'

/** The kind of a target. */
export const targetKinds = { claim: NetworkInterfaceClaim, interface: NetworkInterface } as const

/** Undefined when what is asked for is not there. */
export function explain(snapshot: Snapshot, target: Target): Explanation | undefined {
  const found = findIn(snapshot, targetKinds[target.kind], target)
  if (!found) return undefined
  const chain = chainOf(snapshot, target)
  const leaders = leadersIn(snapshot, componentIn(chain))
  const facts: Facts = { snapshot, chain, leaders, tells: tellsWriters(snapshot) }
  const [tree, beside, verdict] = [treeOf(facts), besideOf(facts), verdictOn(facts)]
  const { namespace, name } = target
  return {
    target: { apiVersion: found.apiVersion, kind: found.kind, namespace, name },
    origin: snapshot.origin,
    at: snapshot.at.toISOString(),
    verdict,
    foreign: [...[tree, ...beside].flatMap(complaintsIn), ...besidesStatus(facts)],
    notes: notesOn(facts, verdict, [tree, ...beside]),
    ...{ tree, beside, leaders },
  }
}

/** The component that reports on the chain's attachment, or would on that of the plane on offer; of most planes none is known. */
function componentIn({ attachment, offer }: Chain): Component | undefined {
  const [apiVersion, kind] = ['apiVersion', 'kind'].map((field) => textAt(offer?.spec, 'attachment', field))
  const asked = attachment?.wanted ?? (apiVersion !== undefined && kind !== undefined ? { apiVersion, kind } : undefined)
  return asked && rowOf(asked)?.component
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

/** Findings on spec and metadata of the objects of the chain: of statuses each value says it in its place. */
function besidesStatus({ chain }: Facts): string[] {
  const { claim, interface: nic, attachment, networkObject, made, network, context } = chain
  const objects = [claim, nic, attachment, networkObject, ...made, network, context].flatMap((link) => link?.object ?? [])
  return objects.flatMap((object) => {
    const row = rowOf(object)
    const found = row ? findingsOn(row, object).filter(({ path }) => !path.startsWith('status.')) : []
    return found.map(({ path, says }) => `${nameOf(refOf(object))} ${path}: ${says}`)
  })
}

/** A chain that holds, and will not for long. */
function goingIn(facts: Facts, node: Node): string[] {
  const since = ageOf(facts, node.deletion?.since)
  const own = node.deletion ? [`${nameOf(node)} is being deleted${since === undefined ? '' : ` for ${since}`}`] : []
  return [...own, ...node.children.flatMap((child) => goingIn(facts, child))]
}

function notesOn(facts: Facts, verdict: Verdict, nodes: readonly Node[]): string[] {
  const { snapshot, tells, chain } = facts
  const going = verdict.state === 'ready' ? nodes.flatMap((node) => goingIn(facts, node)) : []
  const unread = snapshot.gaps
    .filter(({ why }) => why === 'forbidden' || why === 'failed')
    .map(({ kind, message }) => `${kind} could not be read, so nothing is said of it: ${message}`)
  const others = [...going, ...violationsIn(facts), ...unread, ...(snapshot.remarks ?? [])]
  if (tells) return others
  const how = snapshot.origin === 'dump' ? ` A better one: ${dumpCommand(chain.target.namespace, chain.planes)}.` : ''
  return [
    `Who wrote what is not in the ${snapshot.origin === 'dump' ? 'dump' : 'answers'}: it has no managedFields.${how}`,
    ...others,
  ]
}
