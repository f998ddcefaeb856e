import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient } from 'kube-control-loop'
import { answers, createManualClock, scriptTransport, statusAnswer } from 'kube-control-loop/testing'
import { KindUnreachable, locate } from './locate.ts'

const ref = { apiVersion: 'wires.example.dev/v1', kind: 'Wire' }
const signal = new AbortController().signal
const resource = (namespaced = true) => answers.ok({ resources: [{ name: 'wires', kind: 'Wire', namespaced }] })
const group = (...versions: string[]) =>
  answers.ok({ versions: versions.map((version) => ({ groupVersion: `wires.example.dev/${version}`, version })) })

type Served = Record<string, ReturnType<typeof resource> | typeof answers.pageNotFound>

function located(served: Served, stands: boolean | undefined = undefined) {
  const clock = createManualClock()
  const wire = scriptTransport(undefined, { clock })
  const all = {
    '': answers.pageNotFound,
    '/v1': answers.pageNotFound,
    '/v2': answers.pageNotFound,
    '/v3': answers.pageNotFound,
    ...served,
  }
  for (const [path, answer] of Object.entries(all))
    wire.on({ path: `/apis/wires.example.dev${path}` }, { times: 9 }).answer(answer)
  return locate(
    { client: createClient(wire, { clock, jitter: () => 1, retryForMs: 0 }), definitions: { stands: () => stands } },
    ref,
    signal,
  )
}

const found = async (served: Served, stands?: boolean) => {
  const kind = await located(served, stands)
  return kind && `${kind.version} ${kind.plural}`
}

test('a kind is asked for in the version that is named', async () => {
  assert.equal(await found({ '/v1': resource(), '': group('v2', 'v1'), '/v2': resource() }), 'v1 wires')
})
test('else in another one, of those that have it', async () => {
  const other = answers.ok({ resources: [{ name: 'cables', kind: 'Cable', namespaced: true }] })
  assert.equal(await found({ '': group('v3', 'v2'), '/v3': other, '/v2': resource() }, true), 'v2 wires')
})
test('it has no objects where nothing defines it, where definitions may not be read, and where it is not namespaced', async () => {
  assert.equal(await found({}, false), undefined)
  assert.equal(await found({}, undefined), undefined)
  assert.equal(await found({ '/v1': resource(false) }, true), undefined)
})
test('one that is defined and not served may have objects: nothing can be said', async () => {
  await assert.rejects(located({ '': group('v3') }, true), KindUnreachable)
})
test('neither can it when the server fails', async () => {
  await assert.rejects(located({ '': statusAnswer(500, 'InternalError', 'broken') as never }, false), /broken/)
})
