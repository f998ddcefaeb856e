/** The stand-in in front of a real API server: what a client sees of it, and what stands on the server afterwards. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { createAccessSource, createHttpTransport, pathOf, systemClock } from 'kube-control-loop'
import { IPAllocation, IPClaim, IPPool } from 'kube-ipam'
import {
  alphaPools,
  clientManifests,
  type StandIn,
  type StandInOptions,
  standInAccount,
  standInManifests,
  startStandIn,
} from 'kube-ipam/stand-in'
import { type ApiAnswer, type ApiConnection, connect, type KubeObject, type Plane, startPlane } from 'kube-localplane'
import { eventually, type TestNamespace, testNamespace } from 'kube-localplane/testing'
import { testCrashes } from './crashes.ts'

const client = { namespace: standInAccount.namespace, name: 'some-client' }
const ending = new AbortController()
const log: string[] = []

let plane: Plane
let standIn: StandIn
let own: StandInOptions
let caller: string
let front: ApiConnection
let space: TestNamespace

before(async () => {
  // Of its own: a second stand-in on the same server would see to the same claims.
  plane = await startPlane({ name: 'ipam', log: () => {} })
  await plane.apply([...standInManifests(), ...clientManifests(client), ...alphaPools()] as KubeObject[])
  caller = await plane.kubeconfigFor({ serviceAccount: client })
  const kubeconfig = await plane.kubeconfigFor({ serviceAccount: standInAccount })
  own = { kubeconfig, signal: ending.signal, log: (line) => log.push(line) }
  standIn = await startStandIn(own)
  front = await connect(await standIn.kubeconfigFor(caller))
  space = await testNamespace(plane, 'ipam')
})

after(async () => {
  front?.close()
  ending.abort(new Error('over'))
  await standIn?.stop()
  await plane?.stop()
  assert.deepEqual(log, [])
})

const scope = (network: string, location = 'here') => ({
  network: { apiGroup: 'example.com', kind: 'Network', name: network },
  location: { apiGroup: 'example.com', kind: 'Location', name: location },
})

function claim(name: string, spec: Record<string, unknown>, namespace = space.name) {
  return { apiVersion: 'ipam.miloapis.com/v1alpha1', kind: 'IPClaim', metadata: { name, namespace }, spec }
}

const claims = (namespace = space.name, name?: string) => pathOf(IPClaim, { namespace, ...(name === undefined ? {} : { name }) })

function post(name: string, spec: Record<string, unknown>, query = '', connection = front): Promise<ApiAnswer> {
  return connection.request({ method: 'POST', path: `${claims()}${query}`, body: claim(name, spec) })
}

async function held(name: string, spec: Record<string, unknown>): Promise<{ cidr: string; pool: string; allocation: string }> {
  const { status, body, text } = await post(name, spec)
  assert.equal(status, 201, text)
  const answered = (body as { status: Record<string, never> }).status as unknown as {
    phase: string
    allocatedCIDR: string
    poolRef: { name: string }
    boundAllocationRef?: { name: string }
  }
  assert.equal(answered.phase, 'Bound')
  return {
    cidr: answered.allocatedCIDR,
    pool: answered.poolRef.name,
    allocation: answered.boundAllocationRef?.name ?? 'none',
  }
}

const remove = (name: string, body?: unknown) => front.request({ method: 'DELETE', path: claims(space.name, name), body })
const allocations = async () => {
  const { body } = await plane.connection.request({ path: pathOf(IPAllocation, { namespace: space.name }) })
  return (
    body as { items: { metadata: { name: string }; spec: { claimRef?: { name: string } }; status: { allocatedCIDR: string } }[] }
  ).items
}
const pools = async (prefix: string) => {
  const { body } = await plane.connection.request({ path: pathOf(IPPool, {}) })
  return (body as { items: KubeObject[] }).items.map(({ metadata }) => metadata.name).filter((name) => name.startsWith(prefix))
}

type Status = { reason: string; message: string; details: { name?: string; causes?: { reason: string; field?: string }[] } }

function shownRefusal({ status, body }: ApiAnswer): string {
  const { details } = body as Status
  const causes = (details.causes ?? []).map(({ reason, field }) => (field ? `${reason} at ${field}` : reason))
  return `${status} ${causes.join(', ')} (${details.name})`
}

const range = (className: string, network: string) => ({ className, target: 'ScopeRange', scope: scope(network) })
const direct = (method: 'POST' | 'DELETE' | 'GET', path: string, body?: unknown) =>
  plane.connection.request({ method, path, body })

/** Nothing of the tests before is held any more. */
async function emptied(): Promise<void> {
  for (let left = await names(); left.length > 0; left = await names()) for (const name of left) await remove(name)
  for (const { metadata } of await allocations())
    await direct('DELETE', pathOf(IPAllocation, { namespace: space.name, ...metadata }))
  assert.equal((await post('nobody', { className: 'gold' })).status, 400)
  assert.deepEqual([await allocations(), await pools('datum-')], [[], []])
}

async function names(): Promise<string[]> {
  const { body } = await direct('GET', claims())
  return (body as { items: KubeObject[] }).items.map(({ metadata }) => metadata.name)
}

test('a claim is answered with its block, and the block stands on the server until the claim goes', async () => {
  const six = await held('six', { ipFamily: 'IPv6', scope: scope('one') })
  assert.match(six.cidr, /^fd20:1000:[0-9a-f:]*:1:0:0\/96$/)
  const four = await held('four', { ipFamily: 'IPv4', scope: scope('one') })
  assert.match(four.cidr, /^10\.128\.\d+\.\d+\/32$/)
  const out = await held('out', { className: 'datum-public-v4', scope: scope('one') })
  assert.match(out.cidr, /^198\.51\.100\.\d+\/32$/)
  const shown = (await allocations()).map(({ spec, status }) => `${spec.claimRef?.name} ${status.allocatedCIDR}`).sort()
  assert.deepEqual(shown, [`four ${four.cidr}`, `out ${out.cidr}`, `six ${six.cidr}`])
  assert.equal((await pools('datum-')).length, 2, 'a pool of the network, a pool of the location')
  for (const name of ['six', 'four', 'out']) assert.equal((await remove(name)).status, 200)
  assert.deepEqual([await allocations(), await pools('datum-')], [[], []])
})

test('claims made at once have blocks of their own', async () => {
  const all = await Promise.all(
    Array.from({ length: 12 }, (_, n) => held(`many-${n}`, { ipFamily: 'IPv6', scope: scope('one') })),
  )
  assert.equal(new Set(all.map(({ cidr }) => cidr)).size, 12)
  await emptied()
})

test('a retained block stays without a claim, comes back to one of its name and scope, and is refused to another', async () => {
  const spec = { ipFamily: 'IPv4', scope: scope('one'), reclaimPolicy: 'Retain' }
  const first = await held('kept', spec)
  await remove('kept')
  const [left] = await allocations()
  assert.deepEqual(
    [left?.metadata.name, left?.spec.claimRef, left?.status.allocatedCIDR],
    [first.allocation, undefined, first.cidr],
  )
  assert.notEqual((await held('other', spec)).cidr, first.cidr)
  assert.equal(shownRefusal(await post('kept', { ...spec, scope: scope('two') })), '409 AllocationRetained (kept)')
  assert.deepEqual(await held('kept', { ...spec, reclaimPolicy: 'Delete' }), first)
  await remove('kept')
  assert.ok(
    !(await allocations()).some(({ metadata }) => metadata.name === first.allocation),
    'the policy of the last claim holds',
  )
  await emptied()
})

test('refusals name their cause, and leave nothing behind', async () => {
  const small = { ...alphaPools().find(({ metadata }) => metadata.name === 'alpha-v4'), metadata: { name: 'tiny' } } as KubeObject
  const tiny = { ...small, spec: { cidr: '192.0.2.0/31', ipFamily: 'IPv4', classNames: ['tiny'] } }
  const tinyClass = { ...small, kind: 'IPClass', spec: { ipFamily: 'IPv4', defaultPrefixLength: 31 } }
  await plane.apply([tiny, tinyClass])
  await held('fills', { className: 'tiny' })
  const table: [spec: Record<string, unknown>, want: string][] = [
    [{ className: 'tiny' }, '507 Exhausted (tiny)'],
    [{ className: 'gold' }, '400 ClassNotFound (x)'],
    [{}, '400 NoDefaultClass (x)'],
    [{ className: 'tiny', prefixLength: 32 }, '400 PrefixLengthRejected at spec.prefixLength (x)'],
    [{ ipFamily: 'IPv6', scope: { location: scope('a').location } }, '400 ScopeRolesMissing at spec.scope.network (x)'],
  ]
  for (const [spec, want] of table) assert.equal(shownRefusal(await post('x', spec)), want)
  const { body } = await direct('GET', claims())
  assert.deepEqual(
    (body as { items: KubeObject[] }).items.map(({ metadata }) => metadata.name),
    ['fills'],
  )
  await emptied()
})

test('a range is bound once for its scope, and kept while anything of it is held', async () => {
  const network = await held('network', range('datum-network-v6', 'one'))
  assert.match(network.cidr, /\/48$/)
  const context = await held('context', range('datum-subnet-v6', 'one'))
  assert.match(context.cidr, /\/64$/)
  assert.equal((await allocations()).length, 0, 'no block is held in either')
  assert.equal(shownRefusal(await post('again', range('datum-subnet-v6', 'one'))), '409 ClaimExists (again)')
  await held('endpoint', { ipFamily: 'IPv6', scope: scope('one') })
  for (const name of ['network', 'context']) assert.equal(shownRefusal(await remove(name)), `409  (${name})`)
  for (const name of ['endpoint', 'context', 'network']) assert.equal((await remove(name)).status, 200, name)
  assert.deepEqual(await pools('datum-'), [])
})

test('what the real server says stands: who may do what, what a claim is, and that a namespace is missing', async () => {
  const stranger = { namespace: standInAccount.namespace, name: 'stranger' }
  await plane.apply([{ apiVersion: 'v1', kind: 'ServiceAccount', metadata: stranger }])
  const connection = await connect(await standIn.kubeconfigFor(await plane.kubeconfigFor({ serviceAccount: stranger })))
  const spec = { ipFamily: 'IPv4', scope: scope('one') }
  for (const each of [spec, { className: 'gold' }]) assert.equal((await post('x', each, '', connection)).status, 403)
  await held('bound', range('datum-network-v6', 'one'))
  await held('inside', range('datum-subnet-v6', 'one'))
  for (const name of ['bound', 'inside'])
    assert.equal((await connection.request({ method: 'DELETE', path: claims(space.name, name) })).status, 403)
  connection.close()
  const missing = await front.request({ method: 'POST', path: claims('nowhere'), body: claim('x', spec, 'nowhere') })
  assert.deepEqual(
    [missing.status, (missing.body as { details: unknown }).details],
    [404, { name: 'nowhere', kind: 'namespaces' }],
  )
  assert.equal((await post('x', { prefixLength: 999 })).status, 422)
  const again = await post('bound', { className: 'gold' })
  assert.deepEqual([again.status, (again.body as Status).reason], [409, 'AlreadyExists'])
  const other = { preconditions: { uid: 'another' } }
  assert.match((await remove('bound', other)).text, /the UID in the precondition/)
  assert.equal((await post('dry', spec, '?dryRun=All')).status, 201)
  assert.equal((await direct('GET', claims(space.name, 'dry'))).status, 404)
  await emptied()
})

test('a restart loses nothing, and finishes what was begun', async () => {
  const spec = { ipFamily: 'IPv4', scope: scope('one') }
  const first = await held('first', spec)
  await direct('POST', claims(), claim('begun', spec))
  await direct('POST', claims(), claim('hopeless', { className: 'gold' }))
  const begun = await direct('GET', claims(space.name, 'begun'))
  assert.equal((begun.body as { status?: unknown }).status, undefined)
  const second = await startStandIn(own)
  const connection = await connect(await second.kubeconfigFor(caller))
  const { body } = await connection.request({ path: claims(space.name, 'begun') })
  const { allocatedCIDR } = (body as { status: { allocatedCIDR: string } }).status
  assert.match(allocatedCIDR, /^10\.128\./)
  assert.notEqual(allocatedCIDR, first.cidr)
  assert.equal((await connection.request({ path: claims(space.name, 'hopeless') })).status, 404)
  connection.close()
  await second.stop()
  front.close()
  front = await connect(await standIn.kubeconfigFor(caller))
  await emptied()
})

test('a claim that goes without the service being asked takes its allocation along', async () => {
  await held('gone', { ipFamily: 'IPv4', scope: scope('one') })
  const kept = await held('kept', { ipFamily: 'IPv4', scope: scope('one'), reclaimPolicy: 'Retain' })
  for (const name of ['gone', 'kept']) await direct('DELETE', claims(space.name, name))
  await remove('nothing')
  assert.equal((await post('x', { className: 'gold' })).status, 400)
  const left = await allocations()
  assert.deepEqual(
    left.map(({ spec, status }) => [spec.claimRef, status.allocatedCIDR]),
    [[undefined, kept.cidr]],
  )
  await emptied()
})

test('a watch through the front tells what happens as it happens, with the answer in it', async () => {
  const transport = createHttpTransport({
    access: createAccessSource({ clock: systemClock, kubeconfig: await standIn.kubeconfigFor(caller) }),
    ...{ clock: systemClock, userAgent: 'test' },
  })
  const query = { watch: 'true', sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan', allowWatchBookmarks: 'true' }
  const { opened, lines } = await transport.stream({ method: 'GET', path: claims(), query }, ending.signal)
  assert.equal(opened.status, 200)
  const seen: string[] = []
  const reading = (async () => {
    for await (const line of lines) {
      const { type, object } = JSON.parse(line) as { type: string; object: { status?: { phase?: string } } }
      seen.push(`${type} ${object.status?.phase ?? ''}`.trim())
      if (type === 'DELETED') return
    }
  })()
  await eventually('the watch is open', () => seen.includes('BOOKMARK'))
  await held('seen', { ipFamily: 'IPv4', scope: scope('one') })
  await remove('seen')
  await reading
  assert.deepEqual(
    seen.filter((line) => line !== 'BOOKMARK'),
    ['ADDED', 'MODIFIED Bound', 'DELETED Bound'],
  )
  await transport.close()
})

test('other kinds and pages go through as they are: lists, patches, discovery, tables', async () => {
  const version = await front.request({ path: '/version' })
  assert.deepEqual(version.body, (await direct('GET', '/version')).body)
  await held('patched', { ipFamily: 'IPv4', scope: scope('one') })
  const patch = { metadata: { labels: { some: 'label' } } }
  const patched = await front.request({
    ...{ method: 'PATCH', path: claims(space.name, 'patched'), body: patch, contentType: 'application/merge-patch+json' },
  })
  assert.deepEqual([patched.status, (patched.body as KubeObject).metadata.labels], [200, patch.metadata.labels])
  const token = /"token":"([^"]+)"/.exec(await readFile(await standIn.kubeconfigFor(caller), 'utf8'))?.[1]
  const headers = { authorization: `Bearer ${token}`, accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }
  const table = (await (await fetch(`${standIn.url}${claims()}`, { headers })).json()) as {
    kind: string
    rows: { cells: string[] }[]
  }
  assert.deepEqual([table.kind, table.rows[0]?.cells.slice(0, 2)], ['Table', ['patched', 'Bound']])
  await emptied()
})

test('faults: an answer that is lost was given, a request that is dropped did nothing', async () => {
  const spec = { ipFamily: 'IPv4', scope: scope('one') }
  const isCreation = ({ method }: { method: string }) => method === 'POST'
  const lost = standIn.on(isCreation).lose()
  await assert.rejects(post('lost', spec))
  assert.equal(lost.count, 1)
  assert.match(JSON.stringify((await direct('GET', claims(space.name, 'lost'))).body), /"phase":"Bound"/)
  standIn.on(isCreation).drop()
  await assert.rejects(post('dropped', spec))
  assert.equal((await direct('GET', claims(space.name, 'dropped'))).status, 404)
  const { status } = await post('dropped', spec)
  assert.equal(status, 201, 'a fault acts as often as it says')
  standIn.on(isCreation).fail(503, { kind: 'Status', status: 'Failure', code: 503 })
  assert.equal((await post('failed', spec)).status, 503)
  const held = standIn.on(isCreation).hold()
  const waiting = post('waited', spec)
  await held.acted()
  assert.equal((await direct('GET', claims(space.name, 'waited'))).status, 404)
  held.release()
  assert.equal((await waiting).status, 201)
  await emptied()
})

test('it serves this machine only, and tells who cannot be passed on', async () => {
  await assert.rejects(startStandIn({ ...own, host: '0.0.0.0' }), /no address of this machine alone/)
  await assert.rejects(
    standIn.kubeconfigFor(await plane.kubeconfigFor({ user: 'somebody' })),
    /a client certificate cannot be passed on/,
  )
})

test('where it answers otherwise than the server behind it said, its page counts both', () => {
  const counts = new Map(
    [...standIn.metricsPage().matchAll(/^(\w+)\{method="(\w+)",code="(\d+)"\} (\d+)$/gm)].map(([, name, method, code, count]) => [
      `${name} ${method} ${code}`,
      Number(count),
    ]),
  )
  const refused = [...counts].filter(([key]) => key.startsWith('ipam_stand_in_answered_total POST'))
  const sum = refused.reduce((total, [, count]) => total + count, 0)
  assert.equal(counts.get('ipam_stand_in_answered_total POST 507'), 1)
  assert.equal(counts.get('ipam_stand_in_said_behind_total POST 201'), sum)
  const occupied = counts.get('ipam_stand_in_answered_total DELETE 409')
  assert.ok(occupied)
  assert.equal(counts.get('ipam_stand_in_said_behind_total DELETE 200'), occupied)
})

testCrashes(() => ({ plane, ending: ending.signal }))
