import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ApiError, type ApiRequest, classify, type Kind, type RequestVerb, type Verdict } from 'kube-control-loop'
import { answers } from 'kube-control-loop/testing'
import { eventually, sharedPlane } from 'kube-localplane/testing'
import { type Bench, Gadget, gadget, openBench } from './gadget.ts'

let bench: Bench
before(async () => {
  bench = await openBench('answers')
})
after(() => bench[Symbol.asyncDispose]())

const apply = 'application/apply-patch+yaml'
const jsonPatch = 'application/json-patch+json'
const collection = () => `/apis/writers.example.dev/v1/namespaces/${bench.namespace}/gadgets`
const at = (name: string) => ({ name, namespace: bench.namespace })
const typed = { apiVersion: 'writers.example.dev/v1', kind: 'Gadget' }

async function refusal(request: ApiRequest): Promise<ApiError> {
  const response = await bench.transport.send(request, bench.signal)
  assert.ok(response.status >= 300, `${request.method} ${request.path} was answered ${response.status}`)
  return new ApiError(request, response)
}

/** What an answer is made of; uids and lists of conflicts are left to the classification. */
function shape(error: Pick<ApiError, 'status' | 'reason' | 'isStatus' | 'causes' | 'details'>) {
  const { name, kind, group } = error.details
  const causes = error.causes.map((cause) => [cause.reason, cause.field])
  return { status: error.status, reason: error.reason, isStatus: error.isStatus, causes, details: [name, kind, group] }
}

const scripted = (answer: Parameters<typeof asError>[0]) => shape(asError(answer))
function asError(answer: ReturnType<(typeof answers)['ok']>): ApiError {
  return new ApiError({ method: 'GET', path: '' }, answer)
}

type Case = {
  says: string
  verb: RequestVerb
  name: string
  provoke(name: string): Promise<ApiRequest>
  script(name: string): ReturnType<(typeof answers)['ok']>
  want: Verdict['is']
}

const ghost = '00000000-0000-0000-0000-000000000001'
const cases: Case[] = [
  {
    says: 'already exists',
    verb: 'create',
    name: 'exists',
    provoke: async (name) => {
      await bench.create(name)
      return { method: 'POST', path: collection(), body: gadget(name, bench.namespace) }
    },
    script: (name) => answers.alreadyExists(Gadget, at(name)),
    want: 'exists',
  },
  {
    says: 'modified, by a stale resourceVersion',
    verb: 'apply',
    name: 'modified',
    provoke: async (name) => {
      const { metadata } = await bench.create(name)
      const { uid, resourceVersion } = metadata
      await bench.client.jsonPatch(
        Gadget,
        at(name),
        [{ op: 'add', path: '/metadata/labels', value: { a: 'b' } }],
        { fieldManager: 'x' },
        bench.signal,
      )
      const body = { ...typed, metadata: { name, uid, resourceVersion }, spec: { size: 2 } }
      return {
        method: 'PATCH',
        path: `${collection()}/${name}`,
        query: { fieldManager: 'y', force: 'true' },
        contentType: apply,
        body,
      }
    },
    script: (name) => answers.modified(Gadget, at(name)),
    want: 'ask',
  },
  {
    says: 'an apply with a uid on a missing object',
    verb: 'apply',
    name: 'missing',
    provoke: async (name) => {
      const body = { ...typed, metadata: { name, uid: ghost }, spec: { size: 2 } }
      return { method: 'PATCH', path: `${collection()}/${name}`, query: { fieldManager: 'y' }, contentType: apply, body }
    },
    script: (name) => answers.uidMismatch(Gadget, at(name)),
    want: 'ask',
  },
  {
    says: 'a delete whose precondition names another uid',
    verb: 'delete',
    name: 'precondition',
    provoke: async (name) => {
      await bench.create(name)
      return { method: 'DELETE', path: `${collection()}/${name}`, body: { preconditions: { uid: ghost } } }
    },
    script: (name) => answers.uidPrecondition(Gadget, at(name)),
    want: 'ask',
  },
  {
    says: 'a failed test',
    verb: 'patch',
    name: 'tested',
    provoke: async (name) => {
      await bench.create(name)
      return {
        method: 'PATCH',
        path: `${collection()}/${name}`,
        contentType: jsonPatch,
        body: [{ op: 'test', path: '/metadata/uid', value: ghost }],
      }
    },
    script: () => answers.testFailed(),
    want: 'ask',
  },
  {
    says: 'a write with the uid of an earlier object',
    verb: 'apply',
    name: 'immutable',
    provoke: async (name) => {
      await bench.create(name)
      const body = { ...typed, metadata: { name, uid: ghost }, spec: { size: 2 } }
      return {
        method: 'PATCH',
        path: `${collection()}/${name}`,
        query: { fieldManager: 'y', force: 'true' },
        contentType: apply,
        body,
      }
    },
    script: (name) => answers.uidImmutable(Gadget, at(name)),
    want: 'ask',
  },
  {
    says: 'not found',
    verb: 'get',
    name: 'nowhere',
    provoke: async (name) => ({ method: 'GET', path: `${collection()}/${name}` }),
    script: (name) => answers.notFound(Gadget, at(name)),
    want: 'gone',
  },
  {
    says: 'a status apply on a missing object',
    verb: 'apply',
    name: 'nowhere-status',
    provoke: async (name) => {
      const body = { ...typed, metadata: { name }, status: { phase: 'x' } }
      return { method: 'PATCH', path: `${collection()}/${name}/status`, query: { fieldManager: 'y' }, contentType: apply, body }
    },
    script: (name) => answers.notFound(Gadget, at(name)),
    want: 'gone',
  },
  {
    says: 'a finalizer on a deleting object',
    verb: 'patch',
    name: 'dying',
    provoke: async (name) => {
      await bench.create(name, { finalizers: ['test.dev/hold'] })
      await bench.client.remove(Gadget, at(name), {}, bench.signal)
      const body = [{ op: 'add', path: '/metadata/finalizers/-', value: 'test.dev/late' }]
      return { method: 'PATCH', path: `${collection()}/${name}`, contentType: jsonPatch, body }
    },
    script: (name) => answers.noNewFinalizers(Gadget, at(name), 'test.dev/late'),
    want: 'gone',
  },
  {
    says: 'an invalid value',
    verb: 'create',
    name: 'Not-A-Name',
    provoke: async (name) => ({ method: 'POST', path: collection(), body: gadget(name, bench.namespace) }),
    script: (name) => answers.invalid(Gadget, at(name), 'metadata.name', ''),
    want: 'fault',
  },
  {
    says: 'a kind that is not served',
    verb: 'create',
    name: 'unserved',
    provoke: async (name) => ({
      method: 'POST',
      path: '/apis/absent.example.dev/v1/absents',
      body: { apiVersion: 'absent.example.dev/v1', kind: 'Absent', metadata: { name } },
    }),
    script: () => answers.pageNotFound(),
    want: 'not-served',
  },
  {
    says: 'a field that is not in the schema',
    verb: 'apply',
    name: 'undeclared',
    provoke: async (name) => {
      await bench.create(name)
      const body = { ...typed, metadata: { name }, status: { odd: 'x' } }
      return { method: 'PATCH', path: `${collection()}/${name}/status`, query: { fieldManager: 'y' }, contentType: apply, body }
    },
    script: () => answers.typedPatchFailed(),
    want: 'fault',
  },
]

describe('what the real server answers is what scripts say it answers, and means the same', () => {
  for (const { says, verb, name, provoke, script, want } of cases) {
    test(says, async () => {
      const real = await refusal(await provoke(name))
      const addressed = { plural: 'gadgets', kind: 'Gadget', ...at(name) }
      assert.equal(classify(real, verb, addressed).is, want, real.message)
      assert.deepEqual(shape(real), scripted(script(name)), real.message)
      assert.deepEqual(classify(real, verb, addressed), classify(asError(script(name)), verb, addressed))
    })
  }

  test('a manager conflict: managers and fields as they are', async () => {
    await bench.create('contested')
    const request = (manager: string, phase: string): ApiRequest => ({
      method: 'PATCH',
      path: `${collection()}/contested/status`,
      query: { fieldManager: manager },
      contentType: apply,
      body: { ...typed, metadata: { name: 'contested' }, status: { phase, ref: { name: phase } } },
    })
    assert.equal((await bench.transport.send(request('first', 'a'), bench.signal)).status, 200)
    const real = await refusal(request('second', 'b'))
    const conflicts = ['.status.phase', '.status.ref.name'].map((field) => ({ manager: 'first', field }))
    const verdict = classify(real, 'apply', { plural: 'gadgets', kind: 'Gadget', ...at('contested') })
    assert.deepEqual(verdict, { is: 'second-writer', conflicts })
    assert.deepEqual(shape(real), scripted(answers.fieldManagerConflict(conflicts)))
  })

  test('a namespace that is going, and one that is not there', async () => {
    const going = await openBench('answers-going')
    await going.create('holds', { finalizers: ['test.dev/hold'] })
    await going.client.raw({ method: 'DELETE', path: `/api/v1/namespaces/${going.namespace}` }, going.signal)
    const inSpace = (namespace: string): ApiRequest => ({
      method: 'POST',
      path: `/apis/writers.example.dev/v1/namespaces/${namespace}/gadgets`,
      body: gadget('late', namespace),
    })
    const real = await refusal(inSpace(going.namespace))
    assert.deepEqual(shape(real), scripted(answers.namespaceTerminating(Gadget, { name: 'late', namespace: going.namespace })))
    assert.deepEqual(classify(real, 'create', { plural: 'gadgets', kind: 'Gadget', name: 'late', namespace: going.namespace }), {
      is: 'gone',
      why: 'namespace',
    })
    const absent = await refusal(inSpace('no-such-namespace'))
    assert.deepEqual(shape(absent), scripted(answers.namespaceNotFound('no-such-namespace')))
    assert.deepEqual(
      classify(absent, 'create', { plural: 'gadgets', kind: 'Gadget', name: 'late', namespace: 'no-such-namespace' }),
      { is: 'gone', why: 'namespace' },
    )
    await going.client.jsonPatch(
      Gadget,
      { name: 'holds', namespace: going.namespace },
      [{ op: 'remove', path: '/metadata/finalizers' }],
      { fieldManager: 'x' },
      going.signal,
    )
    await going[Symbol.asyncDispose]()
  })
})

describe('watches of the real server', () => {
  test('a streaming list ends with a bookmark that says so', async () => {
    await bench.create('listed')
    const seen: string[] = []
    const stop = new AbortController()
    const events = await bench.client.watch(
      Gadget,
      { namespace: bench.namespace, resourceVersion: '', sendInitialEvents: true },
      stop.signal,
    )
    for await (const event of events) {
      if (event.type === 'BOOKMARK') {
        assert.ok(event.initialEventsEnd && /^[0-9]+$/.test(event.resourceVersion))
        break
      }
      seen.push(event.object.metadata.name)
    }
    assert.ok(seen.includes('listed'))
  })

  test('B16: a version that is too old is an error of status 410', async () => {
    const events = await bench.client.watch(Gadget, { namespace: bench.namespace, resourceVersion: '1' }, bench.signal)
    const read = async () => {
      for await (const event of events) assert.equal(event.type, 'none')
    }
    await assert.rejects(read(), (error) => error instanceof ApiError && error.status === 410)
  })

  test('a change comes, from the version of the list on', async () => {
    const { resourceVersion } = await bench.client.list(Gadget, { namespace: bench.namespace }, bench.signal)
    const events = await bench.client.watch(Gadget, { namespace: bench.namespace, resourceVersion }, bench.signal)
    const made = await bench.create('noticed')
    for await (const event of events) {
      assert.ok(event.type === 'ADDED' && event.object.metadata.uid === made.metadata.uid)
      break
    }
  })
})

test('items of a built-in kind carry their kind', async () => {
  const namespaces: Kind = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', scope: 'Cluster' }
  const { items } = await bench.client.list(namespaces, {}, bench.signal)
  assert.ok(items.length > 0 && items.every((item) => item.kind === 'Namespace' && item.apiVersion === 'v1'))
})

test('a kind that appears while it is written to: the create waits for it', async () => {
  const plane = await sharedPlane()
  const plural = `lates${crypto.randomUUID().slice(0, 8)}`
  const late: Kind = { group: 'late.example.dev', version: 'v1', kind: `L${plural}`, plural, scope: 'Cluster' }
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.late.example.dev` },
    spec: {
      group: late.group,
      scope: 'Cluster',
      names: { plural, kind: late.kind },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  }
  const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  await plane.connection.must({ method: 'POST', path: definitions, body: definition })
  await eventually(
    'the kind is listed',
    async () =>
      (await bench.transport.send({ method: 'GET', path: `/apis/late.example.dev/v1/${plural}` }, bench.signal)).status !== 404,
  )
  const body = { apiVersion: 'late.example.dev/v1', kind: late.kind, metadata: { name: 'first' }, spec: {} }
  const made = await bench.client.create(late, body, { fieldManager: 'x' }, bench.signal)
  assert.ok(made.metadata.uid)
  await plane.connection.must({ method: 'DELETE', path: `${definitions}/${plural}.late.example.dev` })
})
