/**
 * `nso conformance` as the author of a data plane uses it: on a cluster where NSO runs and serves claims of its own. Neither disturbs
 * the other.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import process from 'node:process'
import { after, before, describe, test } from 'node:test'
import { nsoAccount } from '@nso/api'
import { problemsOf } from '@nso/conformance'
import { type LocalPlane, startLocalPlane } from '@nso/conformance/planes'
import { createOperator } from '@nso/operator'
import { createAccessSource, createHttpTransport, silentLogger, systemClock } from 'kube-control-loop'
import { type AuditEntry, type KubeObject, kubectlCommand, readAudit, tailAudit } from 'kube-localplane'
import { eventually } from 'kube-localplane/testing'

const main = path.join(import.meta.dirname, '..', 'packages', 'cli', 'src', 'main.ts')
const nsoUser = `system:serviceaccount:${nsoAccount.namespace}:${nsoAccount.name}`

const sampleNamespace = 'served'
const group = 'networking.datumapis.com/v1alpha'
const made = (kind: string, name: string, spec: object, namespace?: string): KubeObject => ({
  ...{ apiVersion: group, kind, spec },
  metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
})
const samples = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: sampleNamespace } },
  made('ServingLocation', 'local-1', { topology: { 'topology.datum.net/city-code': 'DLS' } }),
  made('Network', 'default', { ipam: { mode: 'Auto' }, ipFamilies: ['IPv6', 'IPv4'], mtu: 1460 }, sampleNamespace),
  ...['web-0', 'web-1'].map((name) =>
    made('NetworkInterfaceClaim', name, { network: { name: 'default' }, interfaceName: 'eth0' }, sampleNamespace),
  ),
]

type Ended = { status: number; stdout: string; stderr: string }

async function conformance(...args: readonly string[]): Promise<Ended> {
  const child = spawn(process.execPath, [main, 'conformance', ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  const [stdout, stderr, [status]] = await Promise.all([textOf(child.stdout), textOf(child.stderr), once(child, 'exit')])
  return { status: Number(status), stdout, stderr }
}

async function textOf(stream: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of stream) parts.push(part)
  return Buffer.concat(parts).toString()
}

const points = ({ stdout }: Ended) => stdout.split('\n').filter((line) => /^(not )?ok /.test(line))

describe('nso conformance on a cluster where NSO runs', () => {
  let local: LocalPlane
  let dir: string
  const stop = new AbortController()
  let nso: Promise<void>

  before(async () => {
    dir = await mkdtemp(path.join(tmpdir(), 'nso-conformance-'))
    local = await startLocalPlane('example-ts', () => {})
    const { server } = local
    await server.apply(samples)
    const kubeconfig = await server.kubeconfigFor({ serviceAccount: nsoAccount })
    const access = createAccessSource({ clock: systemClock, kubeconfig })
    const transport = createHttpTransport({ access, clock: systemClock, userAgent: 'nso-test/1' })
    nso = createOperator({ transport, identity: 'nso-test', log: silentLogger }).run(stop.signal)
    await eventually('both claims are prepared', async () => {
      const { items } = (await server.connection.must({ path: claimsPath })) as { items: KubeObject[] }
      return items.length === 2 && items.every(isPrepared)
    })
  })
  after(async () => {
    stop.abort(new Error('the test is over'))
    await nso
    await local[Symbol.asyncDispose]()
    await rm(dir, { recursive: true, force: true })
  })

  const claimsPath = `/apis/networking.datumapis.com/v1alpha/namespaces/${sampleNamespace}/networkinterfaceclaims`
  const isPrepared = ({ status }: KubeObject) =>
    (status as { conditions?: { type: string; status: string }[] } | undefined)?.conditions?.some(
      ({ type, status: is }) => type === 'Prepared' && is === 'True',
    ) === true

  /** Of everything that NSO serves with this data plane: uid and version. */
  async function served(): Promise<string[]> {
    const kinds = ['networkinterfaceclaims', 'networkinterfaces'].map(
      (plural) => `networking.datumapis.com/v1alpha/namespaces/${sampleNamespace}/${plural}`,
    )
    const lists = await Promise.all(
      [...kinds, `wires.example.dev/v1/namespaces/${sampleNamespace}/wires`].map(
        async (where) => (await local.server.connection.must({ path: `/apis/${where}` })) as { items: KubeObject[] },
      ),
    )
    return lists.flatMap(({ items }) =>
      items.map(({ metadata }) => `${metadata.name} ${metadata.uid} ${metadata.resourceVersion}`),
    )
  }

  const tried = [
    'kinds',
    'accepts-request',
    'prepared',
    'generation',
    'programmed-both-ways',
    'uid',
    'request-untouched',
    'deletion',
    'deletion-order',
    'idle',
    'no-permission',
    'joint-permissions',
    'no-request',
  ]

  function cluster(...more: readonly string[]): Promise<Ended> {
    const { kubeconfig, plane, server } = local
    const { command, args } = kubectlCommand(server, [])
    const kubectl = [command, ...args, `--kubeconfig=${kubeconfig}`].join(' ')
    const port = `wire-$(${kubectl} -n $NAMESPACE get wires.wires.example.dev $NAME -o 'jsonpath={.metadata.uid}')`
    const carrier = (is: string) =>
      `${kubectl} -n $NAMESPACE patch ports.wires.example.dev ${port} --subresource=status --type=merge -p '{"status":{"carrier":"${is}"}}'`
    return conformance(
      ...[
        '--data-plane',
        plane.name,
        '--kubeconfig',
        kubeconfig,
        '--user',
        plane.user ?? '',
        '--audit-log',
        plane.auditLog ?? '',
      ],
      ...['--traffic-start-command', carrier('Up'), '--traffic-stop-command', `${carrier('Down')} || true`],
      ...['--idle', '2s', '--burst', '20', '--patience', '30s', ...more],
    )
  }

  test('every case that can be tried from outside passes, and nothing that NSO serves is touched', async () => {
    const before = await served()
    const from = await tailAudit(local.server)
    const ended = await cluster('--only', tried.join(','))
    assert.equal(ended.status, 0, ended.stdout + ended.stderr)
    assert.deepEqual(
      points(ended).map((line) => line.replace(/^ok \d+ - DP-\d+ /, '')),
      tried,
    )
    assert.deepEqual(await served(), before)
    const entries = await readAudit(local.server.auditLogPath ?? '', { from, to: await tailAudit(local.server) })
    assert.deepEqual(
      entries.filter(isInterference).map(({ verb, uri }) => `${verb} ${uri}`),
      [],
    )
    assert.ok(entries.some(({ namespace }) => namespace.startsWith('conformance-')))
    await eventually('its namespaces are gone', async () => {
      const { items } = (await local.server.connection.must({ path: '/api/v1/namespaces' })) as { items: KubeObject[] }
      return !items.some(({ metadata }) => metadata.name.startsWith('conformance-'))
    })
  })

  /** NSO at work where the suite is, or the suite at work where NSO is. */
  const isInterference = ({ user, verb, namespace, subresource }: AuditEntry) =>
    ['create', 'update', 'patch', 'delete', 'deletecollection'].includes(verb) &&
    ((user === nsoUser && namespace.startsWith('conformance-')) || (user === 'admin' && namespace === sampleNamespace)) &&
    subresource !== 'token'

  test('what cannot be tried is skipped and said; a report of a part does not pass for one of the whole', async () => {
    const report = path.join(dir, 'part.yaml')
    const ended = await cluster('--only', 'kinds,DP-11', '--report', report, '--signed-off-by', 'its author')
    assert.equal(ended.status, 0, ended.stderr)
    assert.deepEqual(points(ended), [
      'ok 1 - DP-01 kinds',
      'ok 2 - DP-11 restart # SKIP the process cannot be restarted from here',
    ])
    const { report: written, problems } = problemsOf(await readFile(report, 'utf8'))
    assert.deepEqual([written?.plane, written?.signedOff.by, written?.summary.passed], ['wires', 'its author', 1])
    assert.equal(problems.length, 20)
    const verified = await conformance('--verify', report)
    assert.equal(verified.status, 1)
    assert.match(verified.stderr, /DP-02 accepts-request \(MUST\) was not tried/)
  })

  test('a DataPlane that the cluster does not have is said', async () => {
    const ended = await conformance('--data-plane', 'nobody', '--kubeconfig', local.kubeconfig)
    assert.equal(ended.status, 1)
    assert.match(ended.stderr, /The cluster has no DataPlane nobody/)
  })

  test('without the rights of an administrator nothing is tried, and all that is missing is said', async () => {
    const account = { namespace: 'wires-system', name: 'wires' }
    const kubeconfig = await local.server.kubeconfigFor({ serviceAccount: account })
    const joint = path.join(import.meta.dirname, '..', 'examples', 'data-plane-ts', 'manifests', 'data-plane.yaml')
    const args = ['--data-plane', 'wires', '--kubeconfig', kubeconfig]
    const unread = await conformance(...args)
    assert.match(unread.stderr, /^nso: The API server refused: .*dataplanes.* is forbidden/m)
    const ended = await conformance(...args, '--file', joint, '--user', local.plane.user ?? '')
    assert.deepEqual([unread.status, ended.status, points(ended)], [1, 1, []])
    assert.match(ended.stderr, /may not create namespaces, delete namespaces,.* create subjectaccessreviews .*list clusterroles/)
    const blind = await cluster('--audit-log', '/nowhere/audit.log', '--only', 'kinds')
    assert.match(blind.stderr, /The audit log cannot be read/)
  })

  test('Ctrl-C ends a run, and nothing of it stays', async () => {
    const args = ['--data-plane', 'wires', '--kubeconfig', local.kubeconfig, '--only', 'burst']
    const child = spawn(process.execPath, [main, 'conformance', ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
    const said = textOf(child.stdout)
    const standing = async () => {
      const { items } = (await local.server.connection.must({ path: '/api/v1/namespaces' })) as { items: KubeObject[] }
      return items.filter(({ metadata }) => metadata.name.startsWith('conformance-burst'))
    }
    const [space] = await eventually('the case has begun', async () => {
      const found = await standing()
      return found.length > 0 && found
    })
    const wires = `/apis/wires.example.dev/v1/namespaces/${space?.metadata.name}/wires`
    await eventually('it makes wires', async () => {
      const { items } = (await local.server.connection.must({ path: wires })) as { items: KubeObject[] }
      return items.length > 10
    })
    child.kill('SIGINT')
    const [status] = await once(child, 'exit')
    assert.equal(status, 130)
    assert.match(await said, /^Bail out! stopped by SIGINT$/m)
    await eventually('its namespace is gone', async () => (await standing()).length === 0)
  })
})
