/**
 * The table of race tests: one row for each write that a process registers, with how to bring the process to the moment before
 * that write, and what the world does meanwhile. What is asked of each row is in race-checks.ts.
 */
import assert from 'node:assert/strict'
import type { Registry } from 'prom-client'
import type { Kind } from './kind.ts'
import type { RecordedLine } from './recording-log.ts'
import type { RequestMatch, ScriptedTransport } from './scripted-transport.ts'
import type { RegisteredWrite } from './write-registry.ts'

/** The process under test: alone in its part of the world, its wire under the test's control. */
export type RaceBed = {
  readonly wire: ScriptedTransport
  readonly registry: Registry
  /** All that it has logged, debug included. */
  readonly lines: readonly RecordedLine[]
}

type Step<W> = (world: W) => Promise<unknown>

type Any<W> = {
  readonly controller: string
  /** Field manager of the write. */
  readonly manager: string
  readonly kind: Kind
  /** Name of what is written to; absent: any. */
  readonly name?: string
  /** Before the script is in place: nothing here may lead to the write. */
  readonly bring?: Step<W>
  /** Leads to the write. */
  readonly act: Step<W>
  /** Waits until all that `act` wanted is there. */
  readonly settled: Step<W>
  /** Held before it is sent: deletes what is written to, or, of a create, the namespace. */
  readonly vanish: Step<W>
  /** Waits for the world after `vanish`; absent: `settled`. */
  readonly afterVanish?: Step<W>
}

export type RaceRow<W> =
  | (Any<W> & {
      readonly verb: 'create'
      /** Held before it is sent: makes an object of someone else under the name. */
      readonly foreign: Step<W>
      /** Waits until that is reported or left alone as documented, and still stands. */
      readonly afterForeign: Step<W>
      /** Held before it is sent: deletes what the object is made for, so that the create arrives too late. */
      readonly orphan: Step<W>
      /** Waits until nothing is left of it. */
      readonly afterOrphan: Step<W>
      /** What the server takes in no form (by its schema, a policy, a quota) is told in a status, and is no error. */
      readonly refusalIsTold?: true
      /** The kind may be absent: makes the controller look again after it was told that it is. */
      readonly wake?: Step<W>
    })
  | (Any<W> & {
      readonly verb: 'patch' | 'add-finalizer' | 'remove-finalizer' | 'migrate'
      /** Held before it is sent: changes what was read. */
      readonly move: Step<W>
    })
  | (Any<W> & {
      readonly verb: 'delete'
      /** Held before it is sent: puts another object under the name, which must stay. */
      readonly replace: Step<W>
      readonly afterReplace: Step<W>
    })
  | (Any<W> & {
      readonly verb: 'apply'
      /** Held before it is sent: another object stands under the name when this is done. */
      readonly remake: Step<W>
    })

export const resourceOf = ({ kind, verb }: Pick<RaceRow<never>, 'kind' | 'verb'>): string =>
  verb === 'apply' ? `${kind.plural}/status` : kind.plural

/** What a row is called: controller, resource, verb, as in the registry. */
export const rowId = (row: Pick<RaceRow<never>, 'controller' | 'kind' | 'verb'>): string =>
  `${row.controller} ${resourceOf(row)} ${row.verb}`

/** Fails when a registered write has no row, or a row no registered write. */
export function assertTableIsComplete(registered: readonly RegisteredWrite[], rows: readonly RaceRow<never>[]): void {
  const writes = registered.map(({ controller, resource, verb, manager }) => `${controller} ${resource} ${verb} by ${manager}`)
  const tested = rows.map((row) => `${rowId(row)} by ${row.manager}`)
  assert.deepEqual(tested.toSorted(), writes.toSorted(), 'the writes that controllers register and the rows of the table differ')
}

type Operation = { op: string; path: string }

const movesOwnership = (body: unknown): boolean =>
  Array.isArray(body) && body.some((each: Operation) => each.path === '/metadata/managedFields')

const finalizersIn = (body: unknown, op: string): boolean =>
  Array.isArray(body) && body.some((each: Operation) => each.op === op && each.path.startsWith('/metadata/finalizers'))

/** The requests that are this write. Two controllers that delete the same object cannot be told apart on the wire. */
export function requestsOf({ kind, name, manager, verb }: RaceRow<never>): RequestMatch {
  const object = `/${kind.plural}/${name === undefined ? '[^/]+' : name}`
  const query = { fieldManager: manager }
  const contentType = 'application/json-patch+json'
  switch (verb) {
    case 'create':
      return {
        method: 'POST',
        path: new RegExp(`/${kind.plural}$`),
        query,
        where: ({ body }) => name === undefined || (body as { metadata?: { name?: string } }).metadata?.name === name,
      }
    case 'delete':
      return { method: 'DELETE', path: new RegExp(`${object}$`) }
    case 'apply':
      return { method: 'PATCH', path: new RegExp(`${object}/status$`), query, contentType: 'application/apply-patch+yaml' }
    case 'add-finalizer':
      return {
        method: 'PATCH',
        path: new RegExp(`${object}$`),
        query,
        contentType,
        where: ({ body }) => finalizersIn(body, 'add'),
      }
    case 'remove-finalizer':
      return {
        method: 'PATCH',
        path: new RegExp(`${object}$`),
        query,
        contentType,
        where: ({ body }) => finalizersIn(body, 'remove'),
      }
    case 'patch':
      return {
        method: 'PATCH',
        path: new RegExp(`${object}$`),
        query,
        contentType,
        where: ({ body }) => !finalizersIn(body, 'add') && !finalizersIn(body, 'remove') && !movesOwnership(body),
      }
    case 'migrate':
      return { method: 'PATCH', path: new RegExp(`${object}$`), query, contentType, where: ({ body }) => movesOwnership(body) }
  }
}
