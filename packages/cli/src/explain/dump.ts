/** Dumps: what `kubectl get … -o yaml` writes (an object, a List, several documents), and what `-o dump` writes here. */
import { readFileSync } from 'node:fs'
import type { DataPlane } from '@nso/api'
import type { KubeObject } from 'kube-control-loop'
import { parseAllDocuments } from 'yaml'
import { Explained, reasonOf } from '../failure.ts'
import { asYaml } from '../output.ts'
import { conditionsOf, isFields, pick, textAt } from '../owners/stored.ts'
import { documentedConditions } from '../owners/table.ts'
import { jsonValues } from './json-values.ts'
import { leaderLeases } from './leaders.ts'
import { type Gap, type KindRef, kindOf, type Snapshot, sameKind } from './snapshot.ts'
import { tidied } from './tidy.ts'

/** The first document of a dump of ours: when it was made, and what could not be read. */
const header = { apiVersion: 'cli.networking.datumapis.com/v1', kind: 'Dump' } as const

const ownKinds = 'networkinterfaceclaims,networkinterfaces,networkcontexts,networks,subnets,addressleases'

/** How a dump is made that has everything. Of other data planes it is not known what they make beside their definitions. */
export function dumpCommand(namespace: string, planes: readonly DataPlane[]): string {
  const made = planes.flatMap(({ spec }) => ['attachment', 'network'].flatMap((part) => kubectlName(spec, part) ?? []))
  const kinds = [ownKinds, ...new Set(made), 'network-attachment-definitions'].join(',')
  const systems = leaderLeases.map((lease) => lease.namespace)
  return `kubectl get ${kinds} -n ${namespace} -o yaml --show-managed-fields (and the same for servinglocations,dataplanes, and for leases in ${systems.join(', ')})`
}

/** Kind.version.group, which names a kind of which the plural is not known. */
function kubectlName(spec: unknown, part: string): string | undefined {
  const [apiVersion, kind] = [textAt(spec, part, 'apiVersion'), textAt(spec, part, 'kind')]
  const [group, version] = apiVersion?.split('/') ?? []
  return kind && version ? `${kind}.${version}.${group}` : undefined
}

/** Reads a file, or standard input for `-`. Rejects what is no dump with `Explained`. */
export function readDump(file: string): Snapshot {
  try {
    return parseDump(decoded(readFileSync(file === '-' ? 0 : file)), file)
  } catch (cause) {
    if (cause instanceof Explained) throw cause
    throw new Explained(`The dump ${file} cannot be read: ${reasonOf(cause)}`, { cause })
  }
}

/** Windows' shells write UTF-16 into files. */
const decoded = (bytes: Buffer): string =>
  new TextDecoder(bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : 'utf-8').decode(bytes)

type Read = {
  objects: KubeObject[]
  read: KindRef[]
  listed: (KindRef & { namespace: string | undefined })[]
  gaps: Gap[]
  remarks: string[]
  at: string | undefined
}

export function parseDump(text: string, file: string): Snapshot {
  const into: Read = { objects: [], read: [], listed: [], gaps: [], remarks: [], at: undefined }
  for (const value of valuesIn(text, file)) addDocument(into, value)
  if (into.objects.length === 0) {
    throw new Explained(`The dump ${file} has no objects: it should be what kubectl get … -o yaml --show-managed-fields prints.`)
  }
  const { at, ...rest } = into
  const made = Date.parse(at ?? '')
  const time = Number.isNaN(made) ? { at: newestTime(into.objects), isNewest: true } : { at: new Date(made) }
  return { ...rest, ...time, origin: 'dump' }
}

/** JSON is YAML too, but read a hundred times faster as what it is. */
const valuesIn = (text: string, file: string): unknown[] => (/^\s*\{\s*["}]/.test(text) ? jsonIn(text, file) : yamlIn(text, file))

function jsonIn(text: string, file: string): unknown[] {
  try {
    return jsonValues(text).map((each): unknown => JSON.parse(each))
  } catch (cause) {
    throw new Explained(`The dump ${file} is cut off, or no JSON: ${reasonOf(cause)}`, { cause })
  }
}

function yamlIn(text: string, file: string): unknown[] {
  try {
    return parseAllDocuments(text).map((document) => {
      const [fault] = document.errors
      if (fault) throw fault
      return document.toJS()
    })
  } catch (cause) {
    const [line] = reasonOf(cause).split('\n')
    throw new Explained(`The dump ${file} is no YAML: ${line}`, { cause })
  }
}

function addDocument(into: Read, value: unknown): void {
  if (!isFields(value)) return
  const { apiVersion, kind, items } = value
  if (apiVersion === header.apiVersion && kind === header.kind) {
    into.at = textAt(value, 'at')
    const gaps = pick(value, 'gaps')
    if (Array.isArray(gaps)) into.gaps.push(...gaps.filter(isGap))
    return
  }
  if (!Array.isArray(items)) {
    addObject(into, value)
    return
  }
  // kubectl writes what a list is after its items.
  const isWhole = typeof kind === 'string'
  if (!isWhole) into.remarks.push('The dump ends within a list: it is cut off, and what it does not have may stand.')
  // `VPCList` says also of no items which kind they would be of; kubectl's `List` does not.
  const of = isWhole && kind !== 'List' ? kind.replace(/List$/, '') : undefined
  const named = of === undefined || typeof apiVersion !== 'string' ? undefined : { apiVersion, kind: of }
  // Of one page nothing follows for what is not on it.
  if (named && !pick(value, 'metadata', 'continue')) into.read.push(kindOf(named))
  for (const item of items) {
    const object = addObject(into, { ...named, ...(isFields(item) ? item : {}) })
    if (object && isWhole && !named) into.listed.push({ ...kindOf(object), namespace: object.metadata.namespace })
  }
}

const isGap = (value: unknown): value is Gap =>
  isFields(value) && ['group', 'kind', 'why', 'message'].every((name) => typeof value[name] === 'string')

function addObject({ objects }: Read, value: unknown): KubeObject | undefined {
  const object = tidied(value)
  if (object) objects.push(object)
  return object
}

/** Times that API servers write themselves. Others are anybody's, by clocks of their own. */
const serverTimes = ({ metadata }: KubeObject): (string | undefined)[] => [
  metadata.creationTimestamp,
  metadata.deletionTimestamp,
  ...(metadata.managedFields ?? []).map(({ time }) => time),
]

function reportedTimes(object: KubeObject): (string | undefined)[] {
  const documented = documentedConditions(object)
  const told = conditionsOf(object).filter(({ type }) => documented.includes(type))
  return [...told.map(({ lastTransitionTime }) => lastTransitionTime), textAt(object.spec, 'renewTime')]
}

const newestOf = (times: readonly (string | undefined)[]): number =>
  times.reduce((newest, time) => Math.max(newest, Date.parse(time ?? '') || 0), 0)

/** The newest of the times that API servers write; without managedFields also of those that controllers write. */
export function newestTime(objects: readonly KubeObject[]): Date {
  const isTold = objects.some(({ metadata }) => (metadata.managedFields ?? []).length > 0)
  return new Date(newestOf(objects.flatMap((object) => [...serverTimes(object), ...(isTold ? [] : reportedTimes(object))])))
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
  return documents.map((document) => `${asYaml(document)}\n`).join('---\n')
}

/** Where objects of this kind and name stand in the dump. */
export function namespacesWith({ objects }: Snapshot, kind: KindRef, name: string): string[] {
  return objects
    .filter((object) => sameKind(kindOf(object), kind) && object.metadata.name === name)
    .map(({ metadata }) => metadata.namespace ?? '')
}
