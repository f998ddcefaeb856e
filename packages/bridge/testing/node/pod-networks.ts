/**
 * The two annotations of a Pod by which networks are asked for and reported: what Multus reads in the one, and what it writes to
 * the other. Source: Kubernetes Network Custom Resource Definition De-facto Standard, version 1.3, sections 4 and 5.
 */
import { type Key, type KubeObject, keyFor } from 'kube-control-loop'
import { podAnnotations } from 'kube-multus'
import type { CniResult } from './cni.ts'

/** A network definition that a Pod names, and the device that it is to see. */
export type WantedNetwork = { definition: Key; device: string }

type Item = { name: string; namespace?: string; interface?: string }

/** Throws on an annotation that makes no sense, as Multus refuses such a Pod. */
export function wantedNetworks({ metadata }: Pick<KubeObject, 'metadata'>): WantedNetwork[] {
  const text = metadata.annotations?.[podAnnotations.networks]?.trim() ?? ''
  if (text === '') return []
  const items = text.startsWith('[') ? (JSON.parse(text) as Item[]) : text.split(',').map(fromShort)
  return items.map(({ name, namespace = metadata.namespace, interface: device }, index) => ({
    definition: keyFor(name, namespace),
    device: device || `net${index + 1}`,
  }))
}

/** `namespace/name@device`; namespace and device may be missing. */
function fromShort(text: string): Item {
  const found = /^(?:([^/@\s]+)\/)?([^/@\s]+)(?:@([^/@\s]+))?$/.exec(text.trim())
  if (!found?.[2]) throw new Error(`${text} names no network definition`)
  return { name: found[2], ...(found[1] ? { namespace: found[1] } : {}), ...(found[3] ? { interface: found[3] } : {}) }
}

export type StatusEntry = { name: string; interface: string; ips: string[]; mac: string; dns: object }

/** What an ADD has answered, as an entry of the status annotation. */
export function statusEntry({ definition, device }: WantedNetwork, { interfaces = [], ips = [] }: CniResult): StatusEntry {
  const index = interfaces.findIndex(({ name, sandbox }) => name === device && sandbox)
  const own = ips.filter((ip) => ip.interface === index)
  return {
    name: definition,
    interface: device,
    ips: own.map(({ address }) => address.replace(/\/.*/, '')),
    mac: interfaces[index]?.mac ?? '',
    dns: {},
  }
}
