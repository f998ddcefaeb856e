/** `nso migrate` as a process: what it prints, and how it ends where the server lets it move some objects and others not. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NetworkInterfaceClaim, nsoManifests } from '@nso/api'
import { apiVersionOf, createAccessSource, createClient, createHttpTransport, pathOf, systemClock } from 'kube-control-loop'
import { startPlane } from 'kube-localplane'
import { makeHome, nso } from './support/run-nso.ts'

const rbac = 'rbac.authorization.k8s.io'
const [open, closed] = ['open', 'closed']
const group = 'networking.datumapis.com'
const many = 300

const namespace = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
const role = (kind: 'Role' | 'ClusterRole', metadata: object, verbs: string[]) => ({
  ...{ apiVersion: `${rbac}/v1`, kind, metadata },
  rules: [{ apiGroups: [group], resources: ['*'], verbs }],
})
const binding = (kind: 'Role' | 'ClusterRole', metadata: { name: string }, users: string[]) => ({
  ...{ apiVersion: `${rbac}/v1`, kind: `${kind}Binding`, metadata },
  roleRef: { apiGroup: rbac, kind, name: metadata.name },
  subjects: users.map((name) => ({ apiGroup: rbac, kind: 'User', name })),
})

/** Everybody reads; `mover` may change what is in the open namespace. */
const manifests = [
  ...[namespace(open), namespace(closed)],
  role('ClusterRole', { name: 'migrate-reads' }, ['get', 'list']),
  binding('ClusterRole', { name: 'migrate-reads' }, ['reader', 'mover']),
  role('Role', { name: 'migrate-moves', namespace: open }, ['patch']),
  binding('Role', { name: 'migrate-moves', namespace: open } as { name: string }, ['mover']),
]

test('nso migrate: what is printed, refused, cut off and run twice at once', async (t) => {
  const home = makeHome(t)
  await using plane = await startPlane({ name: 'migrate-command' })
  await plane.apply([...nsoManifests().crds, ...manifests] as never)
  const access = createAccessSource({ clock: systemClock, kubeconfig: plane.kubeconfigPath })
  const transport = createHttpTransport({ access, clock: systemClock, userAgent: 'test' })
  const client = createClient(transport, { clock: systemClock, jitter: Math.random })
  const signal = AbortSignal.timeout(120_000)
  const leave = async (at: { namespace: string; name: string }) => {
    const spec = { network: { name: 'net' }, interfaceName: 'eth0', attachmentMode: 'Netns', ipFamilies: ['IPv4'] }
    const claim = { apiVersion: apiVersionOf(NetworkInterfaceClaim), kind: 'NetworkInterfaceClaim', metadata: at, spec }
    await client.create(NetworkInterfaceClaim, claim as never, { fieldManager: 'manager' }, signal)
    const request = { path: pathOf(NetworkInterfaceClaim, { ...at, subresource: 'status' }), query: { fieldManager: 'manager' } }
    const body = { status: { networkInterfaceRef: { name: at.name } } }
    await client.raw({ method: 'PATCH', contentType: 'application/merge-patch+json', body, ...request }, signal)
  }
  const names = Array.from({ length: many }, (_, n) => ({ namespace: open, name: `claim-${n}` }))
  await Promise.all([...names, { namespace: closed, name: 'kept-a' }, { namespace: closed, name: 'kept-b' }].map(leave))

  const migrate = async (...args: string[]) => {
    const { ended, output, stdout } = nso(home, ['migrate', ...args], { KUBECONFIG: plane.kubeconfigPath })
    return { status: await ended, stdout: stdout(), output: output() }
  }

  const told = await migrate('--verify', '--dry-run', '-o', 'json')
  assert.equal(told.status, 1)
  const { mode, isComplete, moved, items } = JSON.parse(told.stdout)
  assert.deepEqual(
    [mode, isComplete, moved, items.length],
    ['verify', true, many + 2, many + 2],
    'all of it arrives through a pipe',
  )

  const reader = await migrate('--as', 'reader')
  assert.equal(reader.status, 1)
  assert.match(reader.output, /"reader" cannot patch resource .* --as system:serviceaccount:nso-system:nso/)
  assert.equal(reader.stdout.match(/: refused: /g)?.length, 25, 'it does not go on where everything is refused')
  const stranger = await migrate('--as', 'stranger', '--verify')
  assert.equal(stranger.status, 1)
  assert.match(stranger.output, /"stranger" cannot list resource/)
  assert.equal(stranger.stdout, '', 'not that nothing is left')

  const mover = await migrate('--as', 'mover')
  assert.equal(mover.status, 1)
  assert.match(mover.stdout, new RegExp(`${many + 2} objects looked at: ${many} moved to their documented writers, 2 refused`))
  assert.match(mover.stdout, /run it with --as system:serviceaccount:nso-system:nso\.$/m)
  const refused = mover.stdout.split('\n').filter((line) => line.includes(': refused: '))
  assert.deepEqual(
    refused.map((line) => line.split(':')[0]),
    ['networkinterfaceclaims closed/kept-a', 'networkinterfaceclaims closed/kept-b'],
  )

  const both = await Promise.all([migrate('-o', 'json'), migrate('-o', 'json')])
  assert.deepEqual(
    both.map(({ status }) => status),
    [0, 0],
  )
  const movedBy = both.map(({ stdout }) => JSON.parse(stdout).moved)
  assert.equal(movedBy[0] + movedBy[1], 2, 'each object is moved by one of them')
  assert.equal((await migrate('--verify')).status, 0)
  await transport.close()
})
