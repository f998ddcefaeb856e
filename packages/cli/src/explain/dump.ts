/** Dumps: what `kubectl get … -o yaml` writes (an object, a List, several documents), and what `-o dump` writes here. */
import { readFileSync } from 'node:fs'
import type { KubeObject } from 'kube-control-loop'
import { parseAllDocuments, stringify } from 'yaml'
import { Explained, reasonOf } from '../failure.ts'
import { isFields, pick, textAt } from '../owners/stored.ts'
import { type Gap, type KindRef, kindOf, type Snapshot, sameKind } from './snapshot.ts'
import { tidied } from './tidy.ts'

/** The first document of a dump of ours: when it was made, and what could not be read. */
const header = { apiVersion: 'cli.networking.datumapis.com/v1', kind: 'Dump' } as const

/** How a dump is made that has everything. */
export const dumpCommand = (namespace: string): string =>
  `kubectl get networkinterfaceclaims,networkinterfaces,networkcontexts,networks,subnets,addressleases,vpcattachments,vpcs,network-attachment-definitions -n ${namespace} -o yaml --show-managed-fields (and the same for servinglocations,dataplanes, and for leases in nso-system and galactic-system)`

/** Reads a file, or standard input for `-`. Rejects what is no dump with `Explained`. */
export function readDump(file: string): Snapshot {
  let text: string
  try {
    text = readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (cause) {
    throw new Explained(`The dump ${file} cannot be read: ${reasonOf(cause)}`, { cause })
  }
  return parseDump(text, file)
}

type Read = { objects: KubeObject[]; read: KindRef[]; gaps: Gap[]; at: string | undefined }

export function parseDump(text: string, file: string): Snapshot {
  const documents = parseAllDocuments(text)
  const fault = documents.flatMap(({ errors }) => errors)[0]
  if (fault) throw new Explained(`The dump ${file} is no YAML: ${fault.message}`)
  const into: Read = { objects: [], read: [], gaps: [], at: undefined }
  for (const document of documents) addDocument(into, document.toJS())
  if (into.objects.length === 0) {
    throw new Explained(`The dump ${file} has no objects: it should be what kubectl get … -o yaml --show-managed-fields prints.`)
  }
  const { at, ...rest } = into
  const made = Date.parse(at ?? '')
  return { ...rest, origin: 'dump', at: Number.isNaN(made) ? newestTime(into.objects) : new Date(made) }
}

function addDocument(into: Read, value: unknown): void {
  if (!isFields(value)) return
  const { apiVersion, kind, items } = value
  if (apiVersion === header.apiVersion && kind === header.kind) {
    into.at = textAt(value, 'at')
    const gaps = pick(value, 'gaps')
    if (Array.isArray(gaps)) into.gaps.push(...(gaps.filter(isFields) as Gap[]))
    return
  }
  if (!Array.isArray(items)) {
    addObject(into, value)
    return
  }
  // `VPCList` says also of no items which kind they would be of; kubectl's `List` does not.
  const of = typeof kind === 'string' && kind !== 'List' ? kind.replace(/List$/, '') : undefined
  const named = of === undefined || typeof apiVersion !== 'string' ? undefined : { apiVersion, kind: of }
  if (named) into.read.push(kindOf(named))
  for (const item of items) addObject(into, { ...named, ...(isFields(item) ? item : {}) })
}

function addObject({ objects }: Read, value: unknown): void {
  const object = tidied(value)
  if (object) objects.push(object)
}

const timeFields = new Set(['creationTimestamp', 'deletionTimestamp', 'lastTransitionTime', 'time', 'renewTime', 'acquireTime'])

/** The newest of the times that API servers and controllers write. */
export function newestTime(objects: readonly KubeObject[]): Date {
  let newest = 0
  const look = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(look)
    else if (isFields(value)) {
      for (const [name, inner] of Object.entries(value)) {
        if (timeFields.has(name) && typeof inner === 'string') newest = Math.max(newest, Date.parse(inner) || 0)
        else look(inner)
      }
    }
  }
  look(objects)
  return new Date(newest)
}

/** The snapshot as text that `parseDump` reads back: also what is not there, and the time. */
export function writeDump(snapshot: Snapshot): string {
  const kinds = [...snapshot.read, ...snapshot.objects.map(kindOf)]
  const distinct = kinds.filter((kind, at) => kinds.findIndex((each) => sameKind(each, kind)) === at)
  const lists = distinct.map((kind) => {
    const items = snapshot.objects.filter((object) => sameKind(kindOf(object), kind))
    const [first] = items
    const apiVersion = first?.apiVersion ?? (kind.group ? `${kind.group}/v1` : 'v1')
    return { apiVersion, kind: `${kind.kind}List`, items }
  })
  const documents = [{ ...header, at: snapshot.at.toISOString(), gaps: snapshot.gaps }, ...lists]
  return documents.map((document) => stringify(document, { aliasDuplicateObjects: false, lineWidth: 0 })).join('---\n')
}

/** Where objects of this kind and name stand in the dump. */
export function namespacesWith({ objects }: Snapshot, kind: KindRef, name: string): string[] {
  return objects
    .filter((object) => sameKind(kindOf(object), kind) && object.metadata.name === name)
    .map(({ metadata }) => metadata.namespace ?? '')
}
