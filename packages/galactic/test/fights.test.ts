/** Galactic against writers of its status that no policy stops, on a real API server. */
import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { ApiError, apiVersionOf, pathOf, systemClock } from 'kube-control-loop'
import { eventually } from 'kube-localplane/testing'
import { finalizer, VPC, VPCAttachment } from '../src/api/index.ts'
import { attachmentIs, attachmentOf, by, isReady, never, type Running, startWorld, vpcOf, type World } from './harness.ts'

let world: World
let running: Running
before(async () => {
  world = await startWorld()
  running = world.start()
})
after(async () => {
  await running.stop()
  await world[Symbol.asyncDispose]()
})

/** Ten writes a second until it is over. */
async function rage(write: (n: number) => Promise<unknown>, isOver: (n: number) => boolean): Promise<void> {
  const begun = systemClock.monotonic()
  for (let n = 0; !isOver(n); n += 1) {
    await write(n)
    await systemClock.sleep(Math.max(0, begun + (n + 1) * 100 - systemClock.monotonic()), never)
  }
}

const no = (n: number) => ({
  ...{ type: 'Ready', status: 'False', reason: 'SaidTheRogue', message: `no ${n}` },
  lastTransitionTime: '2001-01-01T00:00:00Z',
})

type At = { namespace: string; name: string }

/** An object that is gone or changed in between is none of a rogue's worries. */
const unlessRefused = (write: Promise<unknown>) =>
  write.catch((error: unknown) => {
    if (!(error instanceof ApiError)) throw error
  })

function rogueApply({ namespace, name }: At, n: number) {
  const body = {
    apiVersion: apiVersionOf(VPCAttachment),
    kind: 'VPCAttachment',
    metadata: { name },
    status: { conditions: [no(n)] },
  }
  const at = { namespace, name, subresource: 'status' }
  return unlessRefused(world.client.apply(VPCAttachment, at, body, { fieldManager: 'rogue', force: true }, never))
}

/** Whole objects without any condition, as a writer makes them that knows of none. */
async function rogueDrop(at: At) {
  const found = await world.client.find(VPCAttachment, at, never)
  if (!found) return
  const body = { ...found, status: { ...found.status, conditions: [] } }
  const path = pathOf(VPCAttachment, { ...at, subresource: 'status' })
  await unlessRefused(world.client.raw({ method: 'PUT', path, query: { fieldManager: 'dropper' }, body }, never))
}

async function counted(name: string): Promise<Record<string, number>> {
  const lines = (await running.galactic.manager.metrics.page()).split('\n').filter((line) => line.startsWith(`${name}{`))
  return Object.fromEntries(lines.map((line) => [line.slice(name.length, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]))
}

const roundsSoFar = async () => (await counted('galactic_status_ownership_rounds_total'))['{resource="vpcattachments"}'] ?? 0

async function readyAttachment(namespace: string): Promise<At> {
  await world.namespace(namespace)
  world.recorder.expect({ kind: 'VPCAttachment', namespace, path: '*', why: 'the test plays second writers', maybe: true })
  await world.client.create(VPCAttachment, attachmentOf(namespace, 'web-0', 'net'), by, never)
  await world.client.create(VPC, vpcOf(namespace, 'net'), by, never)
  const at = { namespace, name: 'web-0' }
  await attachmentIs(world.client, at, 'ready', isReady)
  return at
}

test('two rogues at once, by apply and by dropping: named, answered seldom, undone at once', async (t: TestContext) => {
  const at = await readyAttachment('fought')
  await Promise.all([
    rage(
      (n) => rogueApply(at, n),
      (n) => n >= 30,
    ),
    rage(
      () => rogueDrop(at),
      (n) => n >= 30,
    ),
  ])
  const stoppedAt = systemClock.monotonic()
  await attachmentIs(world.client, at, 'ready again', isReady)
  const rightAfterMs = systemClock.monotonic() - stoppedAt
  t.diagnostic(`right ${Math.round(rightAfterMs)} ms after they stopped`)
  const conflicts = await counted('galactic_status_ownership_conflicts_total')
  assert.equal(conflicts['{resource="vpcattachments",field="conditions/Ready",manager="rogue"}'], 1, JSON.stringify(conflicts))
  assert.equal(conflicts['{resource="vpcattachments",field="conditions/Programmed",manager="unknown"}'], 1)
  const rounds = await roundsSoFar()
  assert.ok(rounds >= 3 && rounds <= 16, `${rounds} rounds`)
  const errors = Object.values(await counted('controller_runtime_reconcile_errors_total'))
  assert.equal(Math.max(...errors), 0, 'a fight is no error')
})

test('a fight does not keep what is deleted', async () => {
  const at = await readyAttachment('deleted')
  const before = await roundsSoFar()
  let isOver = false
  const raging = rage(
    (n) => rogueApply(at, n),
    () => isOver,
  )
  await eventually('they fight', async () => (await roundsSoFar()) > before + 5)
  await world.client.remove(VPCAttachment, at, {}, never)
  await eventually('the attachment is gone', async () => {
    const found = await world.client.find(VPCAttachment, at, never)
    return !found?.metadata.finalizers?.includes(finalizer)
  })
  isOver = true
  await raging
})
