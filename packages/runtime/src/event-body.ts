/** One Event as it is sent. Source: events.k8s.io/v1 and its validation (lengths). */
import type { Clock } from './clock.ts'
import type { Kind, KubeObject } from './kind.ts'
import { microTime } from './micro-time.ts'

export const eventKind: Kind = { group: 'events.k8s.io', version: 'v1', kind: 'Event', plural: 'events', scope: 'Namespaced' }

export type EventNote = {
  type: 'Normal' | 'Warning'
  /** CamelCase word for machines. */
  reason: string
  /** CamelCase word: what was done or tried. */
  action: string
  /** One sentence for people; the same each time. Cut at 1 kB. */
  note: string
  related?: KubeObject
  /** Whatever the note, it is one series with others that are equal otherwise, and the first note stays (as KEP-383 has it). */
  noteVaries?: boolean
}

type Reference = { apiVersion: string; kind: string; name: string; namespace?: string; uid?: string; resourceVersion?: string }

type EventFields = {
  eventTime: string
  reportingController: string
  reportingInstance: string
  action: string
  reason: string
  type: string
  note: string
  regarding: Reference
  related?: Reference
  series?: { count: number; lastObservedTime: string }
}

export type EventBody = KubeObject & EventFields

const longestNoteBytes = 1024
const longestWordBytes = 128
const longestNameBytes = 253

function referenceTo({ apiVersion, kind, metadata }: KubeObject): Reference {
  const { name, namespace, uid, resourceVersion } = metadata
  return {
    apiVersion,
    kind,
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  }
}

/** Cut at a character's border, so that the text is at most so many bytes. */
function cut(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text
  let short = text.slice(0, bytes)
  while (Buffer.byteLength(short) > bytes - 3) short = short.slice(0, -1)
  return `${short.replace(/[\uD800-\uDBFF]$/, '')}…`
}

/** Answers a function that makes the body of a new Event, with a name that no other one of this process has. */
export function createEventBodies(by: { clock: Clock; controller: string; instance: string }) {
  let serial = 0
  return (regarding: KubeObject, event: EventNote): EventBody => {
    serial += 1
    const now = by.clock.now()
    const suffix = `.${now.getTime().toString(16)}${serial.toString(16).padStart(4, '0')}`
    const { name, namespace = 'default' } = regarding.metadata
    return {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: `${name.slice(0, longestNameBytes - suffix.length)}${suffix}`, namespace },
      spec: undefined,
      eventTime: microTime(now),
      reportingController: by.controller,
      reportingInstance: cut(by.instance, longestWordBytes),
      action: cut(event.action, longestWordBytes),
      reason: cut(event.reason, longestWordBytes),
      type: event.type,
      note: cut(event.note, longestNoteBytes),
      regarding: referenceTo(regarding),
      ...(event.related ? { related: referenceTo(event.related) } : {}),
    }
  }
}
