/** `nso explain`, `nso owners` and completion as processes: what users type, pipe and save. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import process from 'node:process'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { answerExplain } from '@nso/cli/explain'
import { answerOwners } from '@nso/cli/owners'
import { kubectl, kubectlCommand } from 'kube-localplane'
import { eventually } from 'kube-localplane/testing'
import { parse } from 'yaml'
import { startWorld, type World } from './support/explained-world.ts'
import { type Home, makeHome, nso } from './support/run-nso.ts'

async function run(home: Home, world: World, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const { ended, output, stdout } = nso(home, args, { KUBECONFIG: world.plane.kubeconfigPath, ...env })
  return { status: await ended, output: output(), stdout: stdout() }
}

/** The commands as an installation has them, but for the pre-step that installs dependencies. */
function environment(home: Home, world: World): NodeJS.ProcessEnv {
  const folder = path.join(home.folder, 'bin')
  mkdirSync(folder, { recursive: true })
  const main = path.resolve(import.meta.dirname, '..', 'packages', 'cli', 'src', 'main.ts')
  for (const [name, words] of Object.entries({ nso: '', 'kubectl-nso': '', 'kubectl_complete-nso': '__complete' })) {
    const script = `#!/bin/sh\nexec '${process.execPath}' '${main}' ${words} "$@"\n`
    writeFileSync(path.join(folder, name), script, { mode: 0o755 })
  }
  return { ...home.env, PATH: `${folder}:${process.env.PATH}`, KUBECONFIG: world.plane.kubeconfigPath }
}

async function spawned(command: string, args: readonly string[], env: NodeJS.ProcessEnv) {
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'close')
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  const [status] = (await ended) as [number | null]
  return { status, stdout, stderr }
}

const reader = 'explained-reader'
const rbac = 'rbac.authorization.k8s.io'
const readerManifests = [
  {
    ...{ apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: { name: reader } },
    rules: [
      {
        apiGroups: ['networking.datumapis.com'],
        resources: ['networkinterfaceclaims', 'networkinterfaces'],
        verbs: ['get', 'list'],
      },
    ],
  },
  {
    ...{ apiVersion: `${rbac}/v1`, kind: 'ClusterRoleBinding', metadata: { name: reader } },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: reader },
    subjects: [{ apiGroup: rbac, kind: 'User', name: reader }],
  },
]

const types = (explanation: { tree: { conditions: { type: string }[] } }) => explanation.tree.conditions.map(({ type }) => type)

test('explain, owners and completion as commands', async (t) => {
  const home = makeHome(t)
  await using world = await startWorld()
  await world.startGalactic()
  await world.startNso()
  await world.installDataPlane()
  await world.place('ready')
  await world.ready('ready', 'web-0')
  const kubeconfig = world.plane.kubeconfigPath
  const flags = { namespace: 'ready', output: 'text' } as const

  await t.test('what a user types, in text and in JSON', async () => {
    const plain = await run(home, world, ['explain', 'claim', 'web-0', '--namespace', 'ready'])
    assert.match(plain.output, /^NetworkInterfaceClaim ready\/web-0 is Ready\.\n/)
    assert.equal(plain.output, stripVTControlCharacters(plain.output))
    assert.equal(plain.status, 0)
    const json = await run(home, world, ['explain', 'nic/web-0', '-n', 'ready', '-o', 'json'])
    const said = JSON.parse(json.stdout) as { verdict: unknown; tree: { conditions: { type: string }[] } }
    const sentence = 'NetworkInterface ready/web-0 is allocated, prepared and programmed.'
    assert.deepEqual(said.verdict, { state: 'ready', sentence })
    const yaml = await answerExplain(['nic/web-0'], { ...flags, output: 'yaml', kubeconfig })
    assert.deepEqual(types(parse(yaml) as typeof said), types(said))
  })

  await t.test('what kubectl has saved, with and without managedFields', async () => {
    const all =
      'networkinterfaceclaims,networkinterfaces,networks,networkcontexts,subnets,addressleases,vpcs,vpcattachments,dataplanes'
    const saved = async (name: string, ...args: string[]) => {
      const { code, stdout, stderr } = await kubectl(world.plane, ['get', all, '-A', '-o', 'yaml', ...args])
      assert.equal(code, 0, stderr)
      const filename = path.join(home.folder, name)
      writeFileSync(filename, stdout)
      return answerExplain(['claim/web-0'], { output: 'text', filename })
    }
    const full = await saved('full.yaml', '--show-managed-fields')
    assert.match(full, /^NetworkInterfaceClaim ready\/web-0 is Ready\.\n/)
    assert.match(full, /by nso-networkinterfaceclaim \(NSO\) \[Apply/)
    assert.match(full, /whether NSO runs is not known: its Lease \S+ is not in the dump/)
    const bare = await saved('bare.yaml')
    assert.match(bare, /Who wrote what is not in the dump.*--show-managed-fields/)
    assert.match(bare, /who wrote it is not in the dump/)
  })

  await t.test('what -o dump has saved', async () => {
    const filename = path.join(home.folder, 'own.yaml')
    writeFileSync(filename, await answerExplain(['claim/web-0'], { ...flags, output: 'dump', kubeconfig }))
    const { origin, at, leaders, ...offline } = JSON.parse(await answerExplain(['claim/web-0'], { output: 'json', filename }))
    assert.deepEqual([origin, offline.verdict.state, leaders.length], ['dump', 'ready', 2])
    assert.ok(Date.parse(at) > 0)
  })

  await t.test('what is not there is said with what there is', async () => {
    const missing = await run(home, world, ['explain', 'claim/web-7', '-n', 'ready'])
    assert.deepEqual([missing.status, missing.output], [1, 'nso: claim ready/web-7 does not exist; there are: ready/web-0.\n'])
    const elsewhere = answerExplain(['claim/web-0'], { output: 'text', kubeconfig })
    await assert.rejects(elsewhere, {
      message: 'claim default/web-0 does not exist; there is none in namespace default; elsewhere: ready/web-0.',
    })
    await assert.rejects(answerExplain(['clam/web-0'], { ...flags, kubeconfig }), { message: /no kind "clam" here; there are: / })
    const nobody = await run(home, world, ['explain', 'claim/web-0'], { KUBECONFIG: '/nowhere' })
    assert.equal(nobody.status, 1)
    assert.match(nobody.output, /^nso: No cluster to ask: [^\n]+\n$/)
  })

  await t.test('somebody who may read only claims and interfaces is told what could not be read', async () => {
    await world.plane.apply(readerManifests as never)
    const theirs = await world.plane.kubeconfigFor({ user: reader })
    const said = await answerExplain(['claim/web-0'], { ...flags, kubeconfig: theirs })
    assert.match(said, /^NetworkInterfaceClaim ready\/web-0 is Ready\.\nnote: /)
    for (const kind of ['DataPlane', 'VPCAttachment', 'Subnet', 'Lease'])
      assert.match(said, new RegExp(`note: ${kind} could not be read, so nothing is said of it: .*forbidden`))
    assert.match(said, /VPCAttachment ready\/web-0 not known\n +may not be read/)
    assert.doesNotMatch(said, /STALE|MISSING|not running/)
    const { text: checked, status } = await answerOwners(undefined, { check: true, output: 'text', kubeconfig: theirs })
    assert.equal(status, 1)
    assert.match(checked, /VPC: could not be read: .*forbidden/)
    assert.match(checked, /Of the kinds above nothing is known\.$/)
  })

  await t.test('a reader that goes away is no failure', async () => {
    const script = `nso owners -o yaml | head -n 1; echo "\${PIPESTATUS[0]}"`
    const { stdout, stderr } = await spawned('bash', ['-c', script], environment(home, world))
    assert.deepEqual([stdout, stderr], ['- apiGroup: networking.datumapis.com\n0\n', ''])
  })

  await t.test('bash and kubectl complete names from the cluster; without one they are silent', async () => {
    const env = environment(home, world)
    const script = [
      'source <(nso completion bash)',
      `COMP_WORDS=(nso explain -n ready claim/w); COMP_CWORD=4; __nso_complete; printf "%s\\n" "\${COMPREPLY[@]}"`,
    ].join('\n')
    // Names come quickly or not at all, so on a busy machine they may come at the next try.
    await eventually('bash completes', async () => {
      const { stdout, stderr } = await spawned('bash', ['-c', script], env)
      if (stdout !== 'claim/web-0\n') throw new Error(stdout + stderr)
      return true
    })
    const asked = kubectlCommand(world.plane, ['__complete', 'nso', 'explain', '-n', 'ready', 'claim/w'])
    await eventually('kubectl completes', async () => {
      const { stdout, stderr } = await spawned(asked.command, asked.args, { ...asked.env, ...env })
      if (stdout !== 'claim/web-0\n:4\n') throw new Error(stdout + stderr)
      return true
    })
    const silent = await spawned('nso', ['__complete', 'explain', 'claim/'], { ...env, KUBECONFIG: '/nowhere' })
    assert.deepEqual(silent, { status: 0, stdout: ':4\n', stderr: '' })
  })
})
