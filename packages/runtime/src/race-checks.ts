/**
 * What is asked of each write of a process, whatever it writes: the table of race outcomes, as checks on one row. A check rejects
 * with an AssertionError where the handling of that outcome is missing.
 */
import assert from 'node:assert/strict'
import { assertGrowing, assertQuiet, counted, ends } from './race-counts.ts'
import { type RaceBed, type RaceRow, requestsOf } from './race-table.ts'
import { answers } from './scripted-answers.ts'
import type { ApiRequest, ApiResponse } from './transport.ts'
import { KindUnserved, WriteRaced } from './write-signals.ts'

/** Asks until the probe answers with something or time is over, then rejects. */
export type Wait = <T>(what: string, probe: () => Promise<T | undefined | false> | T | undefined | false) => Promise<T>

type Bedded = { readonly bed: RaceBed }
type Check<W extends Bedded> = (row: RaceRow<W>, world: W) => Promise<void>

const nameIn = ({ path, body }: ApiRequest, { verb }: RaceRow<never>): string => {
  if (verb === 'create') return (body as { metadata: { name: string } }).metadata.name
  return (
    path
      .replace(/\/status$/, '')
      .split('/')
      .at(-1) ?? ''
  )
}

/** The conflict that the server answers this verb with, while the object stands as it did. */
function conflict(row: RaceRow<never>, request: ApiRequest): ApiResponse {
  const at = { name: nameIn(request, row) }
  switch (row.verb) {
    case 'create':
      return answers.alreadyExists(row.kind, at)
    case 'apply':
    case 'delete':
      return answers.modified(row.kind, at)
    default:
      return answers.testFailed()
  }
}

const inARow = 4

/** So many conflicts in a row: each requeues with a longer delay, is counted once and said at debug only; then all is well. */
async function conflicts<W extends Bedded>(row: RaceRow<W>, world: W, wait: Wait): Promise<void> {
  const { bed } = world
  await row.bring?.(world)
  const before = await counted(bed, row)
  const rule = bed.wire.on(requestsOf(row), { times: inARow }).answer((request) => conflict(row, request))
  await row.act(world)
  await wait('every conflict is met', () => rule.count === inARow)
  await row.settled(world)
  const after = await counted(bed, row)
  assert.deepEqual(
    { raced: after.raced - before.raced, gone: after.gone - before.gone, errors: after.errors },
    { raced: inARow, gone: 0, errors: 0 },
    'conflicts are counted as lost races and as nothing else',
  )
  const said = ends(bed, row, WriteRaced)
  assert.deepEqual(new Set(said.map(({ level }) => level)), new Set(['debug']))
  assertGrowing(
    said.map(({ afterMs }) => afterMs),
    inARow,
  )
  assertQuiet(bed)
}

/** Waits until the outcome is counted. An error in its place is the end of the wait: the handling is missing. */
async function outcome<W extends Bedded>(row: RaceRow<W>, { bed }: W, wait: Wait, which: 'raced' | 'gone'): Promise<void> {
  const now = await wait(`the write is counted as ${which}`, async () => {
    const counts = await counted(bed, row)
    return (counts[which] > 0 || counts.errors > 0) && counts
  })
  assert.equal(now.errors, 0, `${which} is no error`)
}

/** What was read moves before the write arrives: the server's own refusal. */
async function moved<W extends Bedded>(row: RaceRow<W>, world: W, wait: Wait): Promise<void> {
  assert.ok('move' in row)
  await heldWhile(row, world, row.move)
  await outcome(row, world, wait, 'raced')
  await row.settled(world)
  const { raced, gone, errors } = await counted(world.bed, row)
  assert.deepEqual({ raced, gone, errors }, { raced: 1, gone: 0, errors: 0 })
  assertQuiet(world.bed)
}

/** Holds the write before it is sent, changes the world, lets it go. */
async function heldWhile<W extends Bedded>(row: RaceRow<W>, world: W, change: (world: W) => Promise<unknown>): Promise<void> {
  await row.bring?.(world)
  const held = world.bed.wire.on(requestsOf(row)).hold()
  await row.act(world)
  await held.arrived()
  await change(world)
  held.release()
}

/** What is written to, or its namespace, is deleted mid-pass: a no-op, counted. */
async function gone<W extends Bedded>(row: RaceRow<W>, world: W, wait: Wait): Promise<void> {
  const { bed } = world
  await heldWhile(row, world, row.vanish)
  await outcome(row, world, wait, 'gone')
  const [first] = bed.wire.sent(requestsOf(row))
  assert.ok((first?.response?.status ?? 0) >= 400, 'the server refused the write')
  await (row.afterVanish ?? row.settled)(world)
  const { errors } = await counted(bed, row)
  assert.equal(errors, 0)
  assertQuiet(bed)
}

/** Another object has the name before the delete arrives: it stays. */
async function replaced<W extends Bedded>(row: RaceRow<W>, world: W, wait: Wait): Promise<void> {
  assert.ok('replace' in row)
  await heldWhile(row, world, row.replace)
  await outcome(row, world, wait, 'gone')
  await row.afterReplace(world)
  const { causes, errors } = await counted(world.bed, row)
  assert.ok(causes.includes('recreated'), `another object is told from none: ${causes.join(', ')}`)
  assert.equal(errors, 0)
  assertQuiet(world.bed)
}

/** The object is another one when its status arrives, which the server lets pass: told as gone, and the other gets its own. */
async function remade<W extends Bedded>(row: RaceRow<W>, world: W, wait: Wait): Promise<void> {
  assert.ok('remake' in row)
  await heldWhile(row, world, row.remake)
  await outcome(row, world, wait, 'gone')
  await row.settled(world)
  const { causes, errors } = await counted(world.bed, row)
  assert.deepEqual({ causes, errors }, { causes: ['recreated'], errors: 0 })
  assertQuiet(world.bed)
}

/** The create is done, its answer lost, and repeated: the object is found and used, and there is one. */
async function found<W extends Bedded>(row: RaceRow<W>, world: W, wait: Wait): Promise<void> {
  const { bed } = world
  await row.bring?.(world)
  const rule = bed.wire.on(requestsOf(row)).dropAfter()
  await row.act(world)
  await outcome(row, world, wait, 'raced')
  await row.settled(world)
  const { raced, causes, errors } = await counted(bed, row)
  assert.equal(rule.count, 1)
  assert.deepEqual({ raced, causes, errors }, { raced: 1, causes: ['already-exists'], errors: 0 })
  const made = bed.wire.sent(requestsOf(row)).filter(({ response }) => response?.status === 201)
  assert.equal(made.length, 0, 'the answer was lost, and the object not made again')
  assertQuiet(bed)
}

/** An object of someone else has the name: a lost race, then reported or left alone, never taken over. */
async function foreign<W extends Bedded>(row: RaceRow<W>, world: W, wait: Wait): Promise<void> {
  assert.ok('foreign' in row)
  await heldWhile(row, world, row.foreign)
  await outcome(row, world, wait, 'raced')
  await row.afterForeign(world)
  const { raced, causes, errors } = await counted(world.bed, row)
  assert.deepEqual({ raced, causes, errors }, { raced: 1, causes: ['already-exists'], errors: 0 })
  assertQuiet(world.bed)
}

/** What the object is made for is gone when the create arrives, which the server lets pass: it does not stay. */
async function orphaned<W extends Bedded>(row: RaceRow<W>, world: W, _wait: Wait): Promise<void> {
  assert.ok('orphan' in row)
  await heldWhile(row, world, row.orphan)
  await row.afterOrphan(world)
  const { errors } = await counted(world.bed, row)
  assert.equal(errors, 0)
  assertQuiet(world.bed)
}

/** Answers that are nobody's race. A field that the schema lacks is our own mistake, and surfaces like the rest. */
function faults(row: RaceRow<never>, request: ApiRequest): { says: string; answer: ApiResponse }[] {
  const at = { name: nameIn(request, row), namespace: request.path.split('/namespaces/')[1]?.split('/')[0] }
  const isTold = row.verb === 'create' && row.refusalIsTold
  return [
    { says: 'etcdserver: request timed out', answer: answers.internalError() },
    { says: 'field not declared in schema', answer: answers.typedPatchFailed() },
    ...(isTold ? [] : [{ says: 'must be good', answer: answers.invalid(row.kind, at, 'spec.value', 'must be good') }]),
    { says: 'cannot ', answer: answers.forbidden(row.kind, at, row.verb) },
  ]
}

/** Every other refusal surfaces: counted, logged as an error, retried with growing delays; and all is well when it ends. */
async function surfaces<W extends Bedded>(row: RaceRow<W>, world: W, wait: Wait): Promise<void> {
  const { bed } = world
  await row.bring?.(world)
  const said: string[] = []
  const kinds = row.verb === 'create' && row.refusalIsTold ? 3 : 4
  // The client itself asks once more after a 403 of a server that may have just started: that one is answered twice.
  const rule = bed.wire.on(requestsOf(row), { times: kinds + 1 }).answer((request) => {
    const fault = faults(row, request)[Math.min(said.length, kinds - 1)]
    assert.ok(fault)
    said.push(fault.says)
    return fault.answer
  })
  await row.act(world)
  await wait('every fault is met', () => rule.count === kinds + 1)
  await row.settled(world)
  const { errors } = await counted(bed, row)
  const loud = bed.lines.filter(({ level, fields }) => level === 'error' && fields.controller !== undefined)
  assert.equal(errors, loud.length, 'each error is counted and logged')
  for (const text of new Set(said)) {
    assert.ok(
      loud.some(({ fields }) => textOf(fields.err).includes(text)),
      `"${text}" surfaces`,
    )
  }
  const own = loud.filter(
    ({ fields }) => fields.controller === row.controller && said.some((text) => textOf(fields.err).includes(text)),
  )
  assertGrowing(
    own.map(({ fields }) => Number(fields.afterMs)),
    kinds,
  )
  const after = await counted(bed, row)
  assert.deepEqual({ raced: after.raced, gone: after.gone }, { raced: 0, gone: 0 }, 'a fault is no race')
}

function textOf(error: unknown): string {
  return error instanceof AggregateError ? error.errors.map(textOf).join('; ') : String(error)
}

/** The kind is going: the pass waits, and nothing is counted against it. */
async function unserved<W extends Bedded>(row: RaceRow<W>, world: W, wait: Wait): Promise<void> {
  assert.ok('wake' in row && row.wake)
  const { bed } = world
  await row.bring?.(world)
  bed.wire.on(requestsOf(row)).answer(answers.crdTerminating(row.kind))
  await row.act(world)
  const said = await wait('the pass ends', async () => {
    const waits = ends(bed, row, KindUnserved)
    return (waits.length > 0 || (await counted(bed, row)).errors > 0) && waits
  })
  assert.deepEqual(
    said.map(({ level }) => level),
    ['debug'],
    'the pass waits for the kind',
  )
  await row.wake(world)
  await row.settled(world)
  const { raced, gone, errors } = await counted(bed, row)
  assert.deepEqual({ raced, gone, errors }, { raced: 0, gone: 0, errors: 0 })
  assertQuiet(bed)
}

export type RaceCheck<W extends Bedded> = {
  /** One word, for tables. */
  readonly name: string
  readonly says: string
  /** Whether the check is about a race, so that it must fail when races are told as faults. */
  readonly isRace: boolean
  run: Check<W>
}

/** All that is asked of a row. */
export function raceChecks<W extends Bedded>(row: RaceRow<W>, wait: Wait): RaceCheck<W>[] {
  const check = (
    name: string,
    says: string,
    run: (row: RaceRow<W>, world: W, wait: Wait) => Promise<void>,
    isRace = true,
  ): RaceCheck<W> => ({ name, says: `${name}: ${says}`, isRace, run: (of, world) => run(of, world, wait) })
  const always = [
    check('conflict', 'requeued with growing backoff, counted, quiet', conflicts),
    check('gone', 'deleted mid-pass, a no-op, counted', gone),
    check('fault', 'any other refusal surfaces, and heals', surfaces, false),
  ]
  switch (row.verb) {
    case 'create':
      return [
        ...always,
        check('found', 'what was made when an answer was lost is used', found),
        check('foreign', 'a name that someone else has is reported, not taken over', foreign),
        check('orphaned', 'what is made too late does not stay', orphaned, false),
        ...(row.wake ? [check('unserved', 'a kind that is going is waited for', unserved)] : []),
      ]
    case 'delete':
      return [...always, check('replaced', 'another object under the name stays', replaced)]
    case 'apply':
      // Told by the answer, not by a refusal: there is no classification to take away.
      return [...always, check('remade', 'another object under the name is served itself', remade, false)]
    default:
      return [...always, check('moved', 'what was read has changed, requeued, then right', moved)]
  }
}
