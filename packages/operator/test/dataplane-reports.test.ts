// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the strings are templates of a DataPlane
/** Data planes that lie, and API servers that refuse, on the real API server: what claims say, and that nobody else is held up. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { NetworkContext, NetworkInterface, NetworkInterfaceClaim, Subnet } from '@nso/api'
import { type KubeObject, silentLogger } from 'kube-control-loop'
import { eventually } from 'kube-localplane/testing'
import {
  anyMap,
  dataPlanePath,
  mergeAt,
  planeCondition,
  readAt,
  ready,
  reportAt,
  wireAt,
  wireCrd,
  wireGroup,
  wirePath,
  wirePlane,
  wireRole,
} from './support/wires.ts'
import { aClaim, claimSays, create, find, gone, know, type Running, remove, said, startWorld, type World } from './world.ts'

know(NetworkInterfaceClaim, NetworkContext, Subnet)

type TellingEvent = { reason: string; note: string; regarding: { kind: string } }

const nsoUser = 'system:serviceaccount:nso-system:nso'
const violation = 'Unknown ContractViolation'
const stale = 'Unknown ReportStale'

let world: World
let nso: Running
let namespace: string

before(async () => {
  world = await startWorld()
  await world.plane.apply([wireRole])
  // Refusals are told of in the log, too, each time.
  nso = await world.startNso({ log: silentLogger })
})
after(async () => {
  await world?.[Symbol.asyncDispose]()
})

const says = (name: string, type: string, what: string) => claimSays(world.client, namespace, name, type, what)

async function gauge(name: string, plane: string): Promise<number> {
  const page = await nso.operator.manager.metrics.page()
  return Number(new RegExp(`^${name}\\{[^}]*data_plane="${plane}"[^}]*\\} (\\S+)$`, 'm').exec(page)?.[1] ?? 'NaN')
}

async function failedPasses(): Promise<number> {
  const page = await nso.operator.manager.metrics.page()
  const lines = page.split('\n').filter((line) => line.startsWith('controller_runtime_reconcile_errors_total'))
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

async function removed(plane: string, ...names: string[]): Promise<void> {
  for (const name of names) await remove(world.client, NetworkInterfaceClaim, namespace, name)
  for (const name of names) await gone(world.client, NetworkInterfaceClaim, namespace, name)
  await world.plane.connection.must({ method: 'DELETE', path: dataPlanePath(plane) })
  await eventually('the end of the DataPlane', async () => (await readAt(world.plane, dataPlanePath(plane))) === undefined)
}

describe('A report against the contract', () => {
  type Row = {
    /** Also the claim's name. */
    name: string
    says: string
    status: (generation: number) => unknown
    prepared: string
    message?: RegExp
    vpc?: string | undefined
  }
  const told = (generation: number, more: object = {}) => ({ conditions: [ready(generation, more)] })
  const flows = (more: object) => ({ ...ready(1), type: 'Flows', reason: 'Programmed', ...more })
  const without = (key: string) => (generation: number) => {
    const { [key as 'status']: _, ...rest } = ready(generation)
    return { conditions: [rest] }
  }
  const rows: Row[] = [
    {
      name: 'honest',
      says: 'none',
      status: (at) => ({ ...told(at), wire: 'w-1' }),
      prepared: 'True AttachmentReady',
      vpc: 'w-1',
    },
    {
      name: 'no-status',
      says: 'a condition without status',
      status: without('status'),
      prepared: violation,
      message: /status other than True, False or Unknown/,
    },
    { name: 'odd-status', says: 'a status in other words', status: (at) => told(at, { status: 'Yes' }), prepared: violation },
    { name: 'bool-status', says: 'a status that is no text', status: (at) => told(at, { status: true }), prepared: violation },
    {
      name: 'no-list',
      says: 'conditions that are text',
      status: () => ({ conditions: 'Ready' }),
      prepared: violation,
      message: /status\.conditions is no list/,
    },
    {
      name: 'a-map',
      says: 'conditions that are a map',
      status: (at) => ({ conditions: { Ready: ready(at) } }),
      prepared: violation,
    },
    {
      name: 'no-map',
      says: 'a status that is a list',
      status: () => ({ conditions: [null, 7, 'Ready', []] }),
      prepared: 'Unknown Pending',
      message: /no report yet/,
    },
    {
      name: 'twice',
      says: 'two conditions of one type',
      status: (at) => ({ conditions: [ready(at), ready(at, { status: 'False' })] }),
      prepared: violation,
      message: /one entry for each type/,
    },
    {
      name: 'bad-reason',
      says: 'False with a reason that is no word',
      status: (at) => told(at, { status: 'False', reason: 'it is so' }),
      prepared: 'False ContractViolation',
      message: /as told: tell the makers of the data plane$/,
    },
    {
      name: 'odd-message',
      says: 'a message that is a map',
      status: (at) => told(at, { message: { text: 'x' } }),
      prepared: violation,
      message: /message that is no text/,
    },
    {
      name: 'huge',
      says: 'a message of a megabyte',
      status: (at) => told(at, { status: 'False', reason: 'AwaitingVPC', message: 'ü'.repeat(500_000) }),
      prepared: 'False AwaitingVPC',
      message: /ü{1000}$/,
    },
    {
      name: 'number',
      says: 'a generation that is text',
      status: (at) => told(at, { observedGeneration: String(at) }),
      prepared: violation,
    },
    { name: 'early', says: 'a generation that is still to come', status: (at) => told(at + 1), prepared: stale },
    {
      name: 'late',
      says: 'a generation that is over',
      status: (at) => told(at - 1),
      prepared: stale,
      message: /reported for generation 0, the attachment is at 1/,
    },
    {
      name: 'ageless',
      says: 'none: without generations, on an attachment that never changed',
      status: (at) => told(at, { observedGeneration: undefined }),
      prepared: 'True AttachmentReady',
    },
    {
      name: 'seed',
      says: 'a default that says True',
      status: (at) => told(at, { lastTransitionTime: '1970-01-01T00:00:00Z' }),
      prepared: violation,
      message: /by a default, not by a report/,
    },
    {
      name: 'odd-wire',
      says: 'none in its conditions, but an identifier that is a list',
      status: (at) => ({ ...told(at), wire: ['w', 1] }),
      prepared: 'True AttachmentReady',
    },
    {
      name: 'huge-wire',
      says: 'none in its conditions, but an identifier of a megabyte',
      status: (at) => ({ ...told(at), wire: 'w'.repeat(1_000_000) }),
      prepared: 'True AttachmentReady',
    },
    {
      name: 'odd-traffic',
      says: 'one about traffic alone',
      status: (at) => ({ conditions: [ready(at), flows({ status: null })] }),
      prepared: 'True AttachmentReady',
    },
    { name: 'nothing', says: 'no report at all', status: () => ({}), prepared: 'Unknown Pending' },
  ]
  const counted = rows.filter(({ prepared, name }) => prepared.endsWith('ContractViolation') || name === 'odd-traffic')
  const path = (name: string) => wirePath('lies', namespace, name)

  before(async () => {
    const open = { spec: { mtu: { type: 'integer' } }, status: anyMap }
    await world.plane.apply([
      wireCrd({ kind: 'Lie', plural: 'lies', versions: [open] }),
      wirePlane('liar', 'Lie', { here: true, report: { programmed: { condition: 'Flows' }, vpc: '${attachment.status.wire}' } }),
    ])
    await planeCondition(world.plane, 'liar', 'Permitted', 'True/Permitted')
    namespace = await world.place()
    for (const { name } of rows) await create(world.client, aClaim(namespace, name))
    for (const { name, status } of rows) {
      const attachment = await wireAt(world.plane, path(name))
      await reportAt(world.plane, path(name), status(attachment.metadata.generation ?? 0))
    }
  })

  for (const { name, says: what, prepared, message, vpc } of rows) {
    test(`${what}: ${prepared}, in the name of who reported`, async () => {
      const claim = await says(name, 'Prepared', prepared)
      const text = claim?.status?.conditions?.find(({ type }) => type === 'Prepared')?.message ?? ''
      assert.ok(text.startsWith(`Lie ${namespace}/${name} (liar): `), text.slice(0, 200))
      if (message) assert.match(text, message)
      const nic = await find(world.client, NetworkInterface, namespace, name)
      assert.equal(said(nic, 'Prepared'), prepared, 'claim and interface say the same')
      assert.equal(nic?.status?.vpc, vpc)
    })
  }

  test('does not make Programmed anything else than Unknown', async () => {
    await says('odd-traffic', 'Programmed', violation)
    await says('honest', 'Programmed', 'Unknown AwaitingDataPlane')
  })

  test('is counted, each attachment once, and no pass failed of it', async () => {
    assert.equal(await gauge('nso_data_plane_contract_violations', 'liar'), counted.length)
    assert.equal(await failedPasses(), 0)
  })

  test('is forgotten as soon as the data plane reports as it should', async () => {
    for (const { name } of counted) await reportAt(world.plane, path(name), { conditions: [ready(1), flows({})] })
    for (const { name } of counted) await says(name, 'Ready', 'True Ready')
    assert.equal(await gauge('nso_data_plane_contract_violations', 'liar'), 0)
  })

  test('on an attachment of another interface is nobody’s: it is left alone, and so is its reporter', async () => {
    const other = await find(world.client, NetworkInterface, namespace, 'nothing')
    const { apiVersion, kind, metadata } = other ?? assert.fail('no other interface')
    const ownerReferences = [{ apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true }]
    await mergeAt(world.plane, path('honest'), { metadata: { ownerReferences } })
    const claim = await says('honest', 'Prepared', stale)
    const message = claim?.status?.conditions?.find(({ type }) => type === 'Prepared')?.message ?? ''
    const whose = `belongs to NetworkInterface nothing with uid ${metadata.uid}, not to this interface`
    assert.ok(message.startsWith(`Lie ${namespace}/honest (liar): ${whose}`), message)
    await eventually('no value of it', async () => {
      const nic = await find(world.client, NetworkInterface, namespace, 'honest')
      return said(nic, 'Prepared') === stale && nic?.status?.vpc === undefined
    })
    await says('ageless', 'Prepared', 'True AttachmentReady')
  })

  after(() => removed('liar', ...rows.map(({ name }) => name)))
})

describe('An attachment that the API server refuses', () => {
  const limited = (maximum: number) =>
    wireCrd({
      kind: 'Rule',
      versions: [{ spec: { mtu: { type: 'integer', maximum }, bag: { type: 'object', properties: {} } } }],
    })
  const path = () => wirePath('rules', namespace, 'web')
  const refusals = async (act: () => Promise<unknown>) =>
    (await world.writesDuring(act)).filter(({ user, resource, code }) => user === nsoUser && resource === 'rules' && code >= 400)
  const message = async (type: string) =>
    (await find(world.client, NetworkInterfaceClaim, namespace, 'web'))?.status?.conditions?.find((one) => one.type === type)
      ?.message ?? ''
  const served = async () => {
    const attachment = await wireAt(world.plane, path())
    await reportAt(world.plane, path(), { conditions: [ready(attachment.metadata.generation)] })
    await says('web', 'Ready', 'True Ready')
  }

  before(async () => {
    await world.plane.apply([limited(1000), wirePlane('rule', 'Rule', { here: true })])
    await planeCondition(world.plane, 'rule', 'Permitted', 'True/Permitted')
    namespace = await world.place()
  })

  test('by its schema is refused in the server’s words, is tried less and less, and is made when the schema allows it', async () => {
    const tries = await refusals(async () => {
      await create(world.client, aClaim(namespace, 'web'))
      await says('web', 'Prepared', 'False AttachmentRefused')
      assert.match(
        await message('Prepared'),
        /^DataPlane rule: Rule .*\/web: the API server refuses it: .*spec\.mtu.* less than or equal to 1000/,
      )
      await says('web', 'Ready', 'False NotPrepared')
    })
    assert.ok(tries.length < 12, `${tries.length} tries`)
    await world.plane.apply([limited(9000)])
    await served()
  })

  test('by a policy, too; what stands meanwhile stays', async () => {
    const policy = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: 'no-rules' },
      spec: {
        matchConstraints: {
          resourceRules: [{ apiGroups: [wireGroup], apiVersions: ['*'], operations: ['CREATE'], resources: ['rules'] }],
        },
        validations: [{ expression: 'false', message: 'rules are not for you', reason: 'Forbidden' }],
      },
    }
    const binding = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name: 'no-rules' },
      spec: { policyName: 'no-rules', validationActions: ['Deny'] },
    }
    await world.plane.apply([policy, binding])
    const probe = { apiVersion: `${wireGroup}/v1`, kind: 'Rule', metadata: { name: 'probe' }, spec: {} }
    const collection = path().replace(/\/web$/, '')
    await eventually('the policy to be in force', async () => {
      const answer = await world.plane.connection.request({ method: 'POST', path: `${collection}?dryRun=All`, body: probe })
      return answer.status === 403
    })
    await create(world.client, aClaim(namespace, 'second'))
    await says('second', 'Prepared', 'False AttachmentRefused')
    const claim = await find(world.client, NetworkInterfaceClaim, namespace, 'second')
    assert.match(
      claim?.status?.conditions?.find(({ type }) => type === 'Prepared')?.message ?? '',
      /refuses it: .*rules are not for you/,
    )
    await planeCondition(world.plane, 'rule', 'Permitted', 'True/Permitted')
    await says('web', 'Ready', 'True Ready')

    await world.plane.connection.must({
      method: 'DELETE',
      path: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/no-rules',
    })
    await eventually('the attachment', () => readAt(world.plane, path().replace('/web', '/second')), { timeoutMs: 60_000 })
  })

  test('for a field that only an expression made, and that the server would have dropped', async () => {
    await world.plane.apply([
      wirePlane('rule', 'Rule', { here: true, spec: { mtu: '${interface.spec.mtu}', bag: '${{"odd": "x"}}' } }),
    ])
    await planeCondition(world.plane, 'rule', 'Accepted', 'True/Accepted')
    await create(world.client, aClaim(namespace, 'third'))
    await says('third', 'Prepared', 'False AttachmentRefused')
    const claim = await find(world.client, NetworkInterfaceClaim, namespace, 'third')
    assert.match(
      claim?.status?.conditions?.find(({ type }) => type === 'Prepared')?.message ?? '',
      /unknown field "spec\.bag\.odd"/,
    )
    await says('web', 'Ready', 'True Ready')
    await world.plane.apply([wirePlane('rule', 'Rule', { here: true })])
    await eventually('the attachment', () => readAt(world.plane, path().replace('/web', '/third')), { timeoutMs: 60_000 })
  })

  test('B51: for one missing verb is a condition of the DataPlane that names it, and claims say so, until it is granted', async () => {
    const verbs = (wireRole as KubeObject & { rules: { verbs: string[] }[] }).rules[0]?.verbs ?? []
    const role = (some: string[]) => ({ ...wireRole, rules: [{ apiGroups: [wireGroup], resources: ['*'], verbs: some }] })
    await world.plane.apply([role(verbs.filter((verb) => verb !== 'create'))])
    const denied = await planeCondition(world.plane, 'rule', 'Permitted', 'False/NotPermitted')
    assert.match(denied, /^NSO may not create rules\.wires\.example\.dev: grant it in a ClusterRole/)
    const tries = await refusals(async () => {
      await create(world.client, aClaim(namespace, 'fourth'))
      await says('fourth', 'Prepared', 'Unknown Pending')
      await eventually('the reason', async () => {
        const claim = await find(world.client, NetworkInterfaceClaim, namespace, 'fourth')
        return /NSO may not create rules/.test(claim?.status?.conditions?.find(({ type }) => type === 'Prepared')?.message ?? '')
      })
    })
    assert.deepEqual(tries, [], 'nothing is tried that would be refused')
    await says('web', 'Ready', 'True Ready')
    await world.plane.apply([wireRole])
    await planeCondition(world.plane, 'rule', 'Permitted', 'True/Permitted')
    await eventually('the attachment', () => readAt(world.plane, path().replace('/web', '/fourth')), { timeoutMs: 60_000 })
  })

  test('and so is the object of a network that it refuses: its context has an event, and it is made when the template is right', async () => {
    await world.plane.apply([wireCrd({ kind: 'Mesh', versions: [{ spec: { bag: { type: 'object', properties: {} } } }] })])
    const network = (spec: object) => ({ apiVersion: `${wireGroup}/v1`, kind: 'Mesh', spec })
    await world.plane.apply([wirePlane('rule', 'Rule', { here: true, network: network({ bag: '${{"odd": "x"}}' }) })])
    const events = `/apis/events.k8s.io/v1/namespaces/${namespace}/events`
    await eventually('an event about the context', async () => {
      const { items } = (await world.plane.connection.must({ method: 'GET', path: events })) as { items: TellingEvent[] }
      const told = items.filter(({ reason }) => reason === 'NetworkObjectRefused')
      const [first] = told
      if (!first) return false
      assert.equal(first.regarding.kind, 'NetworkContext')
      assert.match(first.note, /^DataPlane rule: Mesh .*: the API server refuses it: .*unknown field "spec\.bag\.odd"/)
      assert.equal(told.length, 1)
      return true
    })
    const meshes = `/apis/${wireGroup}/v1/namespaces/${namespace}/meshs`
    const standing = async () =>
      ((await world.plane.connection.must({ method: 'GET', path: meshes })) as { items: unknown[] }).items
    assert.deepEqual(await standing(), [])
    await says('web', 'Ready', 'True Ready')
    await world.plane.apply([wirePlane('rule', 'Rule', { here: true, network: network({ bag: {} }) })])
    await eventually('the object of the network', async () => (await standing()).length === 1, { timeoutMs: 60_000 })
  })

  after(() => removed('rule', 'web', 'second', 'third', 'fourth'))
})
