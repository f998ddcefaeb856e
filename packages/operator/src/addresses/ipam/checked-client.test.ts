import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient } from 'kube-control-loop'
import { answers, createManualClock, scriptTransport } from 'kube-control-loop/testing'
import { IPClaim } from 'kube-ipam'
import { checkedClient } from './checked-client.ts'
import { isAway } from './refusals.ts'

const never = new AbortController().signal
const right: IPClaim = {
  apiVersion: 'ipam.miloapis.com/v1alpha1',
  kind: 'IPClaim',
  metadata: { name: 'a', namespace: 'there', uid: 'u', resourceVersion: '1' },
  spec: { ipFamily: 'IPv6' },
}
const changed = (metadata: Record<string, unknown>) => ({ ...right, metadata: { ...right.metadata, ...metadata } })
const wrong: { says: string; body: unknown }[] = [
  { says: 'of another name', body: changed({ name: 'b' }) },
  { says: 'of another namespace', body: changed({ namespace: 'elsewhere' }) },
  { says: 'without a uid', body: changed({ uid: undefined }) },
  { says: 'without a version', body: changed({ resourceVersion: '' }) },
  { says: 'without a spec', body: { ...right, spec: undefined } },
  { says: 'of nothing', body: { metadata: {} } },
]
const at = { name: 'a', namespace: 'there' }
const options = { fieldManager: 'test' }

for (const { says, body } of wrong) {
  test(`an answer ${says} counts as none`, async () => {
    const clock = createManualClock()
    const script = scriptTransport(undefined, { clock })
    const client = checkedClient(createClient(script, { clock, jitter: () => 0.5, retryForMs: 0 }))
    const all = [
      () => client.find(IPClaim, at, never),
      () => client.create(IPClaim, right, options, never),
      () => client.jsonPatch(IPClaim, at, [], options, never),
    ]
    for (const call of all) {
      script.on({ path: /ipclaims/ }).answer(answers.ok(body))
      await assert.rejects(call(), isAway)
      script.on({ path: /ipclaims/ }).answer(answers.ok(right))
      assert.deepEqual(await call(), right)
    }
  })
}
