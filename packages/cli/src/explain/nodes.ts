/** The chain as a tree of what stands, with who wrote it. Pure. */
import { annotations } from '@nso/api'
import type { KubeObject } from 'kube-control-loop'
import { metadataWriters } from '../owners/judge.ts'
import { conditionOf, conditionsOf, isFields, textAt } from '../owners/stored.ts'
import { componentOf, documentedConditions, finalizerOwnerOf, rowOf } from '../owners/table.ts'
import type { Chain, Link, Wanted } from './chain.ts'
import { type Facts, missing, observedBy, refOf, reportOf } from './facts.ts'
import type { ConditionView, FieldView, FinalizerView, Node } from './model.ts'
import { freshnessOf, sourcesOf } from './sources.ts'
import { waitsFor } from './waits.ts'
import { writerName, writtenOn, writtenOnAbsent } from './written.ts'

type Shape = { role: string; notes?: readonly string[]; children?: readonly Node[]; expects?: readonly string[] }

/** One object and what hangs on it; `expects` are conditions that are shown also while they do not stand. */
function node(facts: Facts, link: Link, { role, notes = [], children = [], expects = [] }: Shape): Node {
  const { wanted, object } = link
  if (!object) {
    const { isKnown, says } = missing(facts, link)
    const state = isKnown ? 'missing' : 'not known'
    return { ...wanted, role, state, notes: [says, ...notes], conditions: [], fields: [], children: [...children] }
  }
  const { uid, generation, creationTimestamp: created, deletionTimestamp: since } = object.metadata
  return {
    ...refOf(object),
    ...{ role, state: since ? 'deleting' : 'stands', notes: [...notes] },
    ...(uid === undefined ? {} : { uid }),
    ...(generation === undefined ? {} : { generation }),
    ...(created === undefined ? {} : { created }),
    ...(since === undefined ? {} : { deletion: { since, finalizers: finalizersOf(object) } }),
    conditions: conditionViews(facts, object, expects),
    fields: fieldViews(facts, object),
    children: [...children],
  }
}

/** Finalizers of an object, with who removes them and who has put them there. */
export function finalizersOf(object: KubeObject): FinalizerView[] {
  const row = rowOf(object)
  return (object.metadata.finalizers ?? []).map((name) => {
    const owner = finalizerOwnerOf(row, name)
    const component = owner && componentOf(owner.identity)
    return {
      name,
      ...(owner ? { removedBy: owner.writer } : {}),
      ...(component ? { component } : {}),
      addedBy: metadataWriters(object, `metadata.finalizers/${name}`).map(writerName),
    }
  })
}

/** In the order of the table, then as stored. */
function typesOf(object: KubeObject, expects: readonly string[]): string[] {
  const stored = conditionsOf(object).flatMap(({ type }) => type ?? [])
  const all = [...new Set([...documentedConditions(object), ...stored, ...expects])]
  return all.filter((type) => stored.includes(type) || expects.includes(type))
}

function conditionViews(facts: Facts, object: KubeObject, expects: readonly string[]): ConditionView[] {
  return typesOf(object, expects).map((type) => {
    const stored = conditionOf(object, type)
    const waiting = waitsFor(facts, object, type, stored)
    const waits = waiting === undefined ? {} : { waitsFor: waiting }
    const path = `conditions/${type}`
    if (!stored) {
      return { type, status: 'absent', written: writtenOnAbsent(object, path), freshness: { state: 'not told' }, ...waits }
    }
    const { status = '', reason, message, lastTransitionTime: since } = stored
    const from = sourcesOf(facts, object, type)
    const observed = observedBy(object, stored)
    return {
      ...{ type, status },
      ...(reason === undefined ? {} : { reason }),
      ...(message === undefined ? {} : { message }),
      ...(since === undefined || Date.parse(since) === 0 ? {} : { since }),
      ...(observed === undefined ? {} : { observedGeneration: observed }),
      written: writtenOn({ object, tells: facts.tells }, path),
      ...(from.length > 0 ? { from } : {}),
      freshness: freshnessOf(facts, object, stored, from),
      ...waits,
    }
  })
}

function fieldViews(facts: Facts, object: KubeObject): FieldView[] {
  const status = isFields(object.status) ? object.status : {}
  return Object.entries(status)
    .filter(([path]) => path !== 'conditions')
    .map(([path, value]) => ({ path, value, written: writtenOn({ object, tells: facts.tells }, path) }))
}

/** The claim, its interface, the attachment, and what the data plane has for it. */
export function treeOf(facts: Facts): Node {
  const { chain } = facts
  const nic = node(facts, chain.interface, {
    role: 'interface',
    notes: chain.heldBy === undefined ? [] : [`held by ${chain.heldBy}`],
    expects: chain.interface.object ? ['Allocated', 'Prepared', 'Programmed'] : [],
    children: attachmentNode(facts),
  })
  if (chain.target.kind === 'interface' || !chain.claim) return nic
  const expects = ['Bound', 'Allocated', 'Prepared', 'Programmed', 'Ready']
  return node(facts, chain.claim, { role: 'claim', expects, children: [nic] })
}

function attachmentNode(facts: Facts): Node[] {
  const { chain } = facts
  const report = reportOf(facts)
  const network = chain.networkObject
    ? [node(facts, chain.networkObject, { role: 'network object', expects: documentedConditions(chain.networkObject.wanted) })]
    : []
  if (!chain.attachment) return network
  const made = chain.made.map((link) => node(facts, link, { role: 'made by the data plane', notes: definitionNotes(link) }))
  const expects = report ? [report.prepared, ...(report.programmed === undefined ? [] : [report.programmed])] : []
  return [node(facts, chain.attachment, { role: 'attachment', expects, children: [...network, ...made] })]
}

/** An object without a status: who made its spec is all there is to say. */
function definitionNotes({ object }: Link): string[] {
  if (!object || object.status !== undefined) return []
  const writers = metadataWriters(object, 'spec').map(writerName)
  return writers.length > 0 ? [`its spec is written by ${writers.join(', ')}`] : []
}

const standing = (object: KubeObject): Link => ({ wanted: refOf(object), object })

/** What the chain needs and nobody made for it; for an interface also the claim that holds it. */
export function besideOf(facts: Facts): Node[] {
  const { chain } = facts
  const links: [string, Link | undefined][] = [
    ['claim', chain.target.kind === 'interface' ? chain.claim : undefined],
    ['network', chain.network],
    ['network context', chain.context],
    ...chain.subnets.map((subnet): [string, Link] => ['subnet', standing(subnet)]),
    ...chain.locations.map((location): [string, Link] => ['location', standing(location)]),
    ...chain.leases.map((lease): [string, Link] => ['address lease', lease]),
    ...planesOf(chain).map((plane): [string, Link] => ['data plane', plane]),
  ]
  return links.flatMap(([role, link]) => (link ? [node(facts, link, { role, notes: besideNotes(facts, role, link) })] : []))
}

function planesOf({ plane, planes }: Chain): Link[] {
  if (plane.object) return [standing(plane.object)]
  const gone: Wanted[] = plane.chosen
    ? [{ apiVersion: 'networking.datumapis.com/v1alpha', kind: 'DataPlane', name: plane.chosen.name }]
    : []
  return [...gone.map((wanted) => ({ wanted, object: undefined })), ...planes.map(standing)]
}

function besideNotes({ chain }: Facts, role: string, { object }: Link): string[] {
  const spec = object?.spec
  if (!isFields(spec))
    return role === 'data plane' && chain.plane.chosen ? [`the interface chose it with uid ${chain.plane.chosen.uid}`] : []
  if (role === 'data plane') return [`serves locations ${Array.isArray(spec.locations) ? spec.locations.join(', ') : '(none)'}`]
  if (role === 'subnet') return [`${String(spec.startAddress)}/${String(spec.prefixLength)}`]
  return role === 'address lease' ? leaseNotes(chain, spec) : []
}

/** Names in which the addresses of an interface are rightly held, besides its claim's uid. */
function holderNames({ claim, interface: { object: nic, wanted } }: Chain): (string | undefined)[] {
  return [claim?.wanted.name, nic?.metadata.annotations?.[annotations.allocationClaim] ?? wanted.name]
}

function leaseNotes(chain: Chain, spec: unknown): string[] {
  const holder = textAt(spec, 'holder', 'claimName')
  const isForIt = holder === undefined || holderNames(chain).includes(holder)
  return [
    textAt(spec, 'address') ?? 'no address',
    ...(isForIt ? [] : [`held by claim ${holder}, which this interface is not for`]),
  ]
}
