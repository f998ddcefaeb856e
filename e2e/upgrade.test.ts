/** docs/upgrade.md, every command of it, on a cluster that the original has left. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { NetworkInterface, NetworkInterfaceClaim, nsoAccount, ownership } from '@nso/api'
import { galacticAccount } from 'galactic/manifests'
import { standInNodeAccount, standInNodeManifests, startStandInNode } from 'galactic/testing'
import {
  apiVersionOf,
  createAccessSource,
  createClient,
  createHttpTransport,
  createLogger,
  type KubeObject,
  runMigration,
  systemClock,
} from 'kube-control-loop'
import { type Plane, startPlane } from 'kube-localplane'
import { eventually } from 'kube-localplane/testing'
import {
  Attachment,
  Definition,
  earlierDefinitions,
  identity,
  labelsOf,
  startEarlierSoftware,
  userObjects,
} from './support/earlier-software.ts'

const root = path.resolve(import.meta.dirname, '..')
const namespace = 'upgraded'

type Stored = KubeObject<unknown, Record<string, unknown> & { conditions?: { type: string; status: string }[] }>

async function read(plane: Plane, kind: typeof Definition, name = 'web-0'): Promise<Stored> {
  const url = `/apis/${apiVersionOf(kind)}/namespaces/${namespace}/${kind.plural}/${name}`
  return (await plane.connection.must({ path: url })) as unknown as Stored
}

/** The fenced blocks of the page, each as a step of one script. */
function commandsOf(page: string): { language: string; text: string }[] {
  return [...page.matchAll(/^```(sh[^\n]*)\n(.*?)^```$/gms)].map(([, language = '', text = '']) => ({ language, text }))
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

/** The names that the page uses, for a shell. */
function preambleOf(plane: Plane, folder: string): string {
  const node = quoted(process.execPath)
  const run = (module: string) => `${node} ${quoted(path.join(root, module))} "$@"`
  const { kubectl } = plane.programs
  assert.ok(kubectl)
  const command = [kubectl.command, ...kubectl.args].map(quoted).join(' ')
  return [
    'set -euo pipefail',
    `cd ${quoted(root)}`,
    "trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT",
    `kubectl() { ${command} "$@"; }`,
    `nso() { ${run('packages/cli/src/main.ts')}; }`,
    // In the background the program takes the place of its shell, so that it is the one that is stopped.
    `galactic() { if [ "$1" = migrate ]; then ${run('packages/galactic/src/main.ts')}; else exec ${run('packages/galactic/src/main.ts')}; fi; }`,
    `network-services-operator() { exec ${run('packages/operator/src/main.ts')}; }`,
    `stop-the-original() { touch ${quoted(path.join(folder, 'stop'))}; until [ -e ${quoted(path.join(folder, 'stopped'))} ]; do sleep 0.1; done; }`,
    '',
  ].join('\n')
}

test('the commands of docs/upgrade.md end with claims Ready, everything with its writer, and enforcement', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'nso-upgrade-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  await using plane = await startPlane({ name: 'upgrade' })
  // Before the control plane ends, newest first.
  await using stops = new AsyncDisposableStack()
  await plane.apply([...earlierDefinitions(), ...userObjects(namespace)] as never)
  await using original = startEarlierSoftware(plane.kubeconfigPath, namespace)
  await eventually('the original has done its work', () => original.passes > 3)
  const was = { nic: await read(plane, NetworkInterface), definition: await read(plane, Definition) }
  assert.deepEqual(was.nic.metadata.managedFields?.map(({ manager }) => manager).sort(), ['manager', 'manager', 'vpc-controller'])

  const blocks = commandsOf(readFileSync(path.join(root, 'docs/upgrade.md'), 'utf8'))
  assert.equal(blocks.length, 7)
  const kubeconfigs = path.join(folder, 'kubeconfigs')
  const script = blocks.map(({ text }) => text.replaceAll(/(nso|galactic)\.kubeconfig/g, `${kubeconfigs}-$1`)).join('\n')
  const file = path.join(folder, 'upgrade.sh')
  // The accounts come with the first step, and their tokens after it.
  const [first, ...others] = script.split('\nfor app in')
  const wait = (name: string) => `until [ -e ${quoted(path.join(folder, name))} ]; do sleep 0.1; done`
  const steps = [first, `touch ${quoted(path.join(folder, 'installed'))}`, wait('accounts'), ['', ...others].join('\nfor app in')]
  writeFileSync(
    file,
    [preambleOf(plane, folder), ...steps, `touch ${quoted(path.join(folder, 'done'))}`, wait('leave'), ''].join('\n'),
  )

  const shell = spawn('bash', [file], { env: { ...process.env, KUBECONFIG: plane.kubeconfigPath }, detached: true })
  let output = ''
  for (const stream of [shell.stdout, shell.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  const ended = once(shell, 'close')
  stops.defer(async () => {
    // All of its group, also what a shell that failed has left.
    if (shell.pid) spawnSync('kill', ['-KILL', '--', `-${shell.pid}`])
    await ended
  })
  const reached = (name: string) =>
    eventually(
      `the script has come to ${name}`,
      () => {
        if (shell.exitCode !== null) throw new Error(output)
        return readable(path.join(folder, name))
      },
      { timeoutMs: 60_000, everyMs: 100 },
    ).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${output}`)
    })

  await reached('installed')
  await plane.restartControllers()
  await plane.apply(standInNodeManifests())
  for (const [name, serviceAccount] of [['nso', nsoAccount] as const, ['galactic', galacticAccount] as const])
    copyFileSync(await plane.kubeconfigFor({ serviceAccount }), `${kubeconfigs}-${name}`)
  const node = startStandInNode({
    kubeconfig: await plane.kubeconfigFor({ serviceAccount: standInNodeAccount }),
    log: createLogger({ name: 'node', level: 'silent' }),
  })
  stops.defer(() => node.stop().catch(() => {}))
  writeFileSync(path.join(folder, 'accounts'), '')
  await reached('stop')
  await original.stop()
  writeFileSync(path.join(folder, 'stopped'), '')
  await reached('done')

  for (const kind of [NetworkInterfaceClaim, NetworkInterface, Attachment, Definition]) {
    const left = (await read(plane, kind)).metadata.managedFields ?? []
    const earlier = left.filter(({ manager = '' }) => ['manager', 'vpc-controller'].includes(manager))
    assert.ok(!earlier.some(({ subresource }) => subresource === 'status'), `${kind.kind}: ${JSON.stringify(earlier)}`)
  }
  const nic = await read(plane, NetworkInterface)
  assert.deepEqual([nic.metadata.uid, nic.spec], [was.nic.metadata.uid, was.nic.spec], 'the interface is the same one')
  const definition = await read(plane, Definition)
  assert.equal(definition.metadata.uid, was.definition.metadata.uid)
  assert.deepEqual(
    [definition.metadata.labels, definition.spec],
    [labelsOf(identity), was.definition.spec],
    'its identifiers stand',
  )
  assert.equal((await read(plane, Attachment)).status?.vpc, identity.vpc)
  await eventually('a rogue write is refused', async () => {
    const answer = await plane.connection.request({
      method: 'PATCH',
      path: `/apis/${apiVersionOf(NetworkInterface)}/namespaces/${namespace}/networkinterfaces/web-0/status`,
      contentType: 'application/merge-patch+json',
      body: { status: { phase: 'Available' } },
    } as never)
    return answer.status === 403
  })
  await migratesUnderEnforcement(plane)
  const claim = await eventually('the claim is Ready', async () => {
    const { status } = await read(plane, NetworkInterfaceClaim)
    return status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True')
  })
  assert.ok(claim)
  writeFileSync(path.join(folder, 'leave'), '')
  const [code] = await ended
  assert.equal(code, 0, output)
})

const transportOf = (kubeconfig: string) =>
  createHttpTransport({
    access: createAccessSource({ clock: systemClock, kubeconfig }),
    clock: systemClock,
    userAgent: 'upgrade/1',
  })
const clientOf = (kubeconfig: string) => createClient(transportOf(kubeconfig), { clock: systemClock, jitter: Math.random })

/** Where something turns up later, its writers may move it, and an administrator may not. */
async function migratesUnderEnforcement(plane: Plane): Promise<void> {
  const groups = ['system:masters', 'ownership:break-glass']
  const breakGlass = clientOf(await plane.kubeconfigFor({ user: 'glass', groups }))
  const by = { fieldManager: 'test' }
  const never = new AbortController().signal
  const nic = await read(plane, NetworkInterface)
  const managedFields = nic.metadata.managedFields?.map((entry) =>
    entry.manager?.startsWith('nso-') ? { ...entry, manager: 'manager', operation: 'Update' } : entry,
  )
  const operation = { op: 'replace', path: '/metadata/managedFields', value: managedFields } as const
  await breakGlass.jsonPatch(NetworkInterface, nic.metadata, [operation], by, never)
  const said: string[] = []
  const run = (kubeconfig: string) =>
    runMigration({
      ...{ client: clientOf(kubeconfig), table: ownership, mode: 'write', format: 'text', signal: never },
      print: (line) => said.push(line),
    })
  assert.equal(await run(plane.kubeconfigPath), 1)
  assert.match(said.at(-1) ?? '', /: 0 moved to their documented writers, 1 refused$/)
  assert.equal(await run(await plane.kubeconfigFor({ serviceAccount: nsoAccount })), 0)
  assert.match(said.at(-1) ?? '', /: [01] moved to their documented writers$/)
  const left = (await read(plane, NetworkInterface)).metadata.managedFields?.filter(({ manager }) => manager === 'manager')
  assert.deepEqual(left, [])
}

function readable(file: string): boolean {
  try {
    readFileSync(file)
    return true
  } catch {
    return false
  }
}
