/** The example without our code, where kubectl fails, hangs up or is refused: what the suite cannot bring about. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import process from 'node:process'
import { afterEach, before, beforeEach, test } from 'node:test'
import { type KubeObject, kubectlCommand, mergePatch, type PlaneAccess } from 'kube-localplane'
import { eventually, sharedPlane, testNamespace } from 'kube-localplane/testing'
import { manifestsIn, repository } from '../planes/local.ts'
import { type PlaneProcess, startProcess } from '../planes/process.ts'

const example = 'examples/data-plane-script'
type Condition = { type: string; status: string; message: string }
type Cable = KubeObject & { status?: { conditions?: Condition[] } }

let server: PlaneAccess
let dir: string
let space: Awaited<ReturnType<typeof testNamespace>>
let running: PlaneProcess

before(async () => {
  server = await sharedPlane()
  await server.apply((await manifestsIn(`${example}/manifests/crd.yaml`, `${example}/manifests/rbac.yaml`)) as KubeObject[])
})

/** A kubectl that writes down when it is called and as which process, and that fails while there is a file `broken`. */
async function startScript(): Promise<PlaneProcess> {
  const kubeconfigPath = await server.kubeconfigFor({ serviceAccount: { namespace: 'cables-system', name: 'cables' } })
  const { command, args } = kubectlCommand({ ...server, kubeconfigPath }, [])
  const wrapper = path.join(dir, 'kubectl')
  const text = `#!/bin/sh\necho "$1 $$ $(date +%s%N)" >> ${dir}/calls\n[ ! -e ${dir}/broken ] || exit 1\nexec ${[command, ...args].join(' ')} "$@"\n`
  await writeFile(wrapper, text, { mode: 0o755 })
  const program = path.join(repository, example, 'cables.py')
  const env = { KUBECONFIG: kubeconfigPath, KUBECTL: wrapper, KUBECACHEDIR: path.join(dir, 'cache') }
  return startProcess({ program: 'python3', args: [program], env }, path.join(dir, 'log'))
}

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'cables-'))
  space = await testNamespace(server, 'cables')
  running = await startScript()
})
afterEach(async () => {
  await running.stop()
  await space[Symbol.asyncDispose]()
  await rm(dir, { recursive: true, force: true })
})

const cablesPath = () => `/apis/cables.example.dev/v1/namespaces/${space.name}/cables`

async function plug(name: string, spec?: object): Promise<void> {
  const body = { apiVersion: 'cables.example.dev/v1', kind: 'Cable', metadata: { name }, ...(spec ? { spec } : {}) }
  await server.connection.must({ method: 'POST', path: cablesPath(), body })
}

async function ready(): Promise<string[]> {
  const { items } = (await server.connection.must({ path: cablesPath() })) as { items: Cable[] }
  const isReady = ({ status }: Cable) => status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True')
  return items.filter(isReady).map(({ metadata }) => metadata.name)
}

type Call = { verb: string; pid: number; at: number }

async function calls(verb: string): Promise<Call[]> {
  const text = await readFile(path.join(dir, 'calls'), 'utf8').catch(() => '')
  return text
    .trim()
    .split('\n')
    .map((line) => line.split(' '))
    .map(([called = '', pid, at]): Call => ({ verb: called, pid: Number(pid), at: Number(at) / 1e6 }))
    .filter((call) => call.verb === verb)
}

/** Resolves when it acts. */
async function refuseReports(): Promise<void> {
  await server.apply([policy, binding])
  await plug('stubborn-probe')
  const asked = { method: 'PATCH', contentType: mergePatch, body: { status: {} } } as const
  const where = `${cablesPath()}/stubborn-probe/status?dryRun=All`
  await eventually('the policy acts', async () => (await server.connection.request({ ...asked, path: where })).status === 403)
}

async function takeReports(): Promise<void> {
  for (const plural of ['validatingadmissionpolicybindings', 'validatingadmissionpolicies'])
    await server.connection.must({ method: 'DELETE', path: `${admission}/${plural}/${policyName}` })
}

test('a report that the server refuses holds up none of the others, is tried again without haste, and stands once it may', async () => {
  await refuseReports()
  try {
    await plug('stubborn', { mtu: 1400 })
    for (let at = 0; at < 20; at++) await plug(`cable-${at}`, { mtu: 1400 })
    await eventually('all others are reported', async () => (await ready()).filter((name) => /^cable/.test(name)).length === 20)
    const before = (await calls('apply')).length
    await eventually('it is tried again', async () => (await calls('apply')).length >= before + 2)
    assert.equal((await ready()).includes('stubborn'), false)
    const tries = (await calls('apply')).slice(before)
    assert.ok(tries.every((call, at) => at === 0 || call.at - (tries[at - 1]?.at ?? 0) > 1000))
  } finally {
    await takeReports()
  }
  await eventually('it is reported', async () => (await ready()).includes('stubborn'))
})

test('a watch that ends is begun again, without haste where that fails, and misses nothing', async () => {
  await plug('first', { mtu: 1400 })
  await eventually('the first is reported', async () => (await ready()).length === 1)
  await writeFile(path.join(dir, 'broken'), '')
  const [watch] = await calls('get')
  assert.ok(watch)
  process.kill(watch.pid, 'SIGKILL')
  await plug('second', { mtu: 1400 })
  const tries = await eventually('it is tried again and again', async () => {
    const made = (await calls('get')).slice(1)
    return made.length >= 3 && made
  })
  assert.ok(tries.every((call, at) => at === 0 || call.at - (tries[at - 1]?.at ?? 0) > 900))
  await rm(path.join(dir, 'broken'))
  await eventually('the second is reported', async () => (await ready()).length === 2)
})

test('a cable that says nothing is reported like any other', async () => {
  await plug('mute')
  await eventually('it is reported', async () => (await ready()).includes('mute'))
})

test('without a kubectl it ends, and says why', async () => {
  await running.stop()
  const program = path.join(repository, example, 'cables.py')
  running = startProcess({ program: 'python3', args: [program], env: { KUBECTL: '/nowhere/kubectl' } }, path.join(dir, 'log'))
  assert.match(await running.failed, /ended with status 1[\s\S]*No such file or directory: '\/nowhere\/kubectl'/)
})

const admission = '/apis/admissionregistration.k8s.io/v1'
const policyName = 'stubborn-cables'
const about = { apiVersion: 'admissionregistration.k8s.io/v1', metadata: { name: policyName } }
const rule = { apiGroups: ['cables.example.dev'], apiVersions: ['*'], operations: ['UPDATE'], resources: ['cables/status'] }
const refusal = { expression: "!object.metadata.name.startsWith('stubborn')", message: 'not this one', reason: 'Forbidden' }
const policy: KubeObject = {
  ...about,
  kind: 'ValidatingAdmissionPolicy',
  spec: { matchConstraints: { resourceRules: [rule] }, failurePolicy: 'Fail', validations: [refusal] },
}
const binding: KubeObject = {
  ...about,
  kind: 'ValidatingAdmissionPolicyBinding',
  spec: { policyName, validationActions: ['Deny'] },
}
