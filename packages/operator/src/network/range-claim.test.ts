import assert from 'node:assert/strict'
import { test } from 'node:test'
import { labels } from '@nso/api'
import {
  again,
  type CacheState,
  createCache,
  createClient,
  type KubeObject,
  noWriteMetrics,
  silentLogger,
  waiting,
} from 'kube-control-loop'
import { answers, createManualClock, scriptTransport, statusAnswer } from 'kube-control-loop/testing'
import { IPClaim } from 'kube-ipam'
import { Namespace } from '../addresses/ipam/project.ts'
import { askAgainMs, createRangeAsker, networkClaimName, projectOfRange, rangeRequest, untilGone } from './range-claim.ts'

const project = { name: 'alpha', namespace: 'there' }
const name = networkClaimName('u-1')
const path = '/apis/ipam.miloapis.com/v1alpha1/namespaces/there/ipclaims'
const never = new AbortController().signal

const request = (className = 'datum-network-v6') => rangeRequest({ name, className, project, place: { network: 'net' } })

function bound(status: IPClaim['status'], metadata: Partial<KubeObject['metadata']> = {}): IPClaim {
  const { claim } = request()
  return {
    ...claim,
    metadata: { ...claim.metadata, uid: 'c-1', resourceVersion: '5', ...metadata },
    ...(status ? { status } : {}),
  }
}
const held = bound({ phase: 'Bound', allocatedCIDR: 'fd20:1000::/48', poolRef: { name: 'p' } })

/** A service of which every answer is scripted, and no claim is known beforehand. */
function scripted() {
  const clock = createManualClock()
  const script = scriptTransport(undefined, { clock })
  const client = createClient(script, { clock, jitter: () => 0.5, retryForMs: 0 })
  const parts = { clock, jitter: () => 0.5, log: silentLogger }
  const claims = createCache(client, IPClaim, {}, parts)
  const namespaces = createCache(client, Namespace, {}, parts)
  const service = { client, claims, namespaces, counts: noWriteMetrics, classes: {}, retryRefusedMs: 60_000 }
  return {
    clock,
    script,
    claims,
    namespaces: service.namespaces,
    asker: createRangeAsker(service, { clock, fieldManager: 'nso-network' }),
  }
}

const full = statusAnswer(507, '', 'full', { name: 'root', causes: [{ reason: 'Exhausted', message: 'no room' }] })
const posts = ({ script }: ReturnType<typeof scripted>) => script.sent({ method: 'POST', path }).length

test('a refusal stands for its time, however often the object changes, and another request is asked at once', async () => {
  const world = scripted()
  world.script.on({ method: 'POST', path }, { times: 9 }).answer(full)
  for (let n = 0; n < 5; n += 1) {
    const answer = await world.asker.hold(request(), never)
    assert.ok(answer.kind === 'refused' && answer.reason === 'AddressPoolExhausted')
  }
  assert.equal(posts(world), 1)
  await world.asker.hold(request('another-class'), never)
  assert.equal(posts(world), 2)
  await world.clock.advance(60_000)
  await world.asker.hold(request('another-class'), never)
  assert.equal(posts(world), 3)
})

test('a refusal that is told again says how much of its time is left', async () => {
  const world = scripted()
  world.script.on({ method: 'POST', path }).answer(full)
  const left = async () => {
    const answer = await world.asker.hold(request(), never)
    return answer.kind === 'refused' ? answer.againMs : undefined
  }
  assert.equal(await left(), 60_000)
  await world.clock.advance(45_000)
  assert.equal(await left(), 15_000)
})

test('a claim that is known is not asked for', async () => {
  const world = scripted()
  world.claims.absorb(held)
  const answer = await world.asker.hold(request(), never)
  assert.ok(answer.kind === 'held')
  assert.deepEqual(answer.ref, { project: 'alpha', namespace: 'there', claimName: name, poolName: 'p' })
  assert.equal(posts(world), 0)
})

test('after a lost answer, or beside another leader, the claim that stands is taken', async () => {
  const world = scripted()
  world.script.on({ method: 'POST', path }).answer(statusAnswer(409, 'AlreadyExists', 'exists', { name }))
  world.script.on({ method: 'GET', path: `${path}/${name}` }).answer(answers.ok(held))
  assert.equal((await world.asker.hold(request(), never)).kind, 'held')
})

const unusable: { says: string; claim: IPClaim }[] = [
  { says: 'is being deleted', claim: bound(held.status, { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['x'] }) },
  { says: 'has no range', claim: bound({ phase: 'Pending' }) },
  { says: 'has a range of IPv4', claim: bound({ phase: 'Bound', allocatedCIDR: '10.0.0.0/8' }) },
  { says: 'is no claim on a whole range', claim: { ...held, spec: { className: 'datum-network-v6' } } },
]
for (const { says, claim } of unusable) {
  test(`a claim of the name that ${says} is told of, and none is made beside it`, async () => {
    const world = scripted()
    world.claims.absorb(claim)
    const answer = await world.asker.hold(request(), never)
    assert.ok(answer.kind === 'refused' && answer.reason === 'AllocationFailed')
    assert.match(answer.message, new RegExp(`there/${name}`))
    assert.equal(posts(world), 0)
  })
}

const list = (...items: IPClaim[]) => answers.ok({ kind: 'IPClaimList', metadata: { resourceVersion: '9' }, items })
const conflict = statusAnswer(409, 'Conflict', 'as it is', { name })
const missing = statusAnswer(404, 'NotFound', 'not found', { name, group: 'ipam.miloapis.com', kind: 'ipclaims' })
const going = bound(held.status, { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['x'] })
const ends: { says: string; deletion: ReturnType<typeof list>; live: ReturnType<typeof list>; want: string }[] = [
  {
    says: 'is gone after its deletion',
    deletion: answers.ok({ kind: 'Status', status: 'Success' }),
    live: missing,
    want: 'gone',
  },
  { says: 'is gone when somebody else deleted it', deletion: missing, live: missing, want: 'gone' },
  {
    says: 'is gone when another stands under the name',
    deletion: conflict,
    live: answers.ok(bound(held.status, { uid: 'c-2' })),
    want: 'gone',
  },
  { says: 'stays when something in it is held', deletion: conflict, live: answers.ok(held), want: 'occupied' },
  { says: 'is going while somebody holds it', deletion: answers.ok(going), live: answers.ok(going), want: 'going' },
  { says: 'may stand when the service does not answer', deletion: statusAnswer(500, '', 'broken'), live: missing, want: 'away' },
]
for (const { says, deletion, live, want } of ends) {
  test(`a range that is given back ${says}`, async () => {
    const world = scripted()
    world.script
      .on({ method: 'GET', path: /\/v1alpha1\/ipclaims$/, query: { fieldSelector: `metadata.name=${name}` } })
      .answer(list(held))
    world.script.on({ method: 'DELETE', path: `${path}/${name}` }).answer(deletion)
    world.script.on({ method: 'GET', path: `${path}/${name}` }).answer(live)
    assert.equal((await world.asker.giveBack(name, never)).kind, want)
    const [sent] = world.script.sent({ method: 'DELETE' })
    const body = sent?.request.body as { preconditions?: object } | undefined
    assert.deepEqual(body?.preconditions, { uid: 'c-1' })
  })
}

test('a claim whose deletion a live list shows is known from then on, and asked for by time while nobody follows claims', async () => {
  const world = scripted()
  world.script.on({ method: 'GET', path: /ipclaims$/ }).answer(list(going))
  const back = await world.asker.giveBack(name, never)
  assert.ok(back.kind === 'going')
  assert.equal(world.script.sent({ method: 'DELETE' }).length, 0)
  assert.deepEqual(world.claims.get(`there/${name}`)?.metadata.deletionTimestamp, going.metadata.deletionTimestamp)
  assert.deepEqual(untilGone(back), again(askAgainMs, back.on))
  assert.deepEqual(untilGone({ ...back, isFollowed: true }), waiting(back.on))
})

test('what is not there needs no deletion, and neither does a claim on an address that has the name', async () => {
  const world = scripted()
  const address = { ...held, spec: { ipFamily: 'IPv6' as const } }
  world.script.on({ method: 'GET', path: /ipclaims$/ }).answer(list(address))
  assert.equal((await world.asker.giveBack(name, never)).kind, 'gone')
  assert.equal(world.script.sent({ method: 'DELETE' }).length, 0)
})

const labelled = (namespace: string, cluster = 'cluster-alpha') => ({
  [labels.upstreamCluster]: cluster,
  [labels.upstreamNamespace]: namespace,
})
const onRecord = { project: 'alpha', namespace: 'there', claimName: name, poolName: 'p' }
type Given = { given: Record<string, string>; record?: typeof onRecord; stands?: boolean; state?: CacheState }
const moved = { given: labelled('b', 'cluster-beta'), record: onRecord }
const projects: (Given & { says: string; want: string })[] = [
  { says: 'is what the labels say', given: labelled('there'), want: 'alpha/there' },
  { says: 'is not known without them', given: {}, want: 'ProjectUnresolved' },
  { says: 'stays when they go', given: {}, record: onRecord, want: 'alpha/there' },
  { says: 'stays when they change', ...moved, stands: true, want: 'alpha/there' },
  { says: 'follows them when nothing is held', ...moved, want: 'beta/b' },
  { says: 'follows them when nothing was held as far as was followed', ...moved, state: 'stale', want: 'beta/b' },
  { says: 'stays when it is not known yet what is held', ...moved, state: 'starting', want: 'alpha/there' },
  { says: 'stays while claims are not served', ...moved, state: 'unserved', want: 'alpha/there' },
]
for (const { says, given, record, stands = false, state = 'synced', want } of projects) {
  test(`the project of a range ${says}`, () => {
    const { claims, namespaces } = scripted()
    const metadata = { name: 'apps', uid: 'n-1', resourceVersion: '1', labels: given }
    namespaces.absorb({ apiVersion: 'v1', kind: 'Namespace', metadata, spec: {} })
    if (stands) claims.absorb(held)
    const answer = projectOfRange({ claims: { ...claims, state }, namespaces }, 'apps', record)
    assert.equal(answer.kind === 'resolved' ? `${answer.project.name}/${answer.project.namespace}` : answer.reason, want)
  })
}
