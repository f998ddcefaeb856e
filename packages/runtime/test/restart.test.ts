import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createStatusWriter, createWriter, systemClock, WriteRaced } from 'kube-control-loop'
import { startPlane } from 'kube-localplane'
import { alice, environmentOf, type Gadget, gadget, gadgetCrd, openBench } from './gadget.ts'

const ready = { type: 'Ready', status: 'True', reason: 'Told', message: '' } as const

/** What a controller's service account may do with gadgets: not an admin, so that roles must have been read first. */
const role = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: 'gadget-controller' },
  rules: [{ apiGroups: ['writers.example.dev'], resources: ['gadgets', 'gadgets/status'], verbs: ['*'] }],
}
const binding = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: 'gadget-controller' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'gadget-controller' },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'gadget-controller' }],
}

test('an API server that goes and comes back costs writers time, never an error', { timeout: 120_000 }, async () => {
  await using plane = await startPlane({ controllers: false, audit: false })
  await plane.apply([gadgetCrd, role, binding])
  const kubeconfig = await plane.kubeconfigFor({ user: 'gadget-controller', groups: [] })
  await using bench = await openBench('restart', { plane, kubeconfig, retryForMs: 45_000 })
  const writer = createWriter({ ...environmentOf(bench), manager: 'gadget-controller' })
  const status = createStatusWriter({ ...environmentOf(bench), owner: alice, clock: systemClock })
  let restarted = false

  /** Creates one object after another, each with a status, until the server is back. */
  async function work(worker: number): Promise<number> {
    for (let n = 0; ; n++) {
      const name = `w${worker}-${n}`
      let object: Gadget
      try {
        object = await writer.create(gadget(name, bench.namespace), bench.signal)
      } catch (error) {
        if (!(error instanceof WriteRaced)) throw error
        object = await bench.read(name)
      }
      await status.status(object, { phase: 'Bound', conditions: [ready] }, bench.signal)
      if (restarted) return n + 1
    }
  }

  const workers = Promise.all([0, 1, 2, 3].map(work))
  await Promise.all([
    workers,
    plane.restart().finally(() => {
      restarted = true
    }),
  ])
  const made = (await workers).reduce((sum, each) => sum + each, 0)
  const { items } = await bench.client.list(environmentOf(bench).kind, { namespace: bench.namespace }, bench.signal)
  assert.equal(items.length, made)
  assert.deepEqual(
    items.filter((item) => item.status?.phase !== 'Bound'),
    [],
  )
  const codes = new Set(bench.wire.requests.map(({ response }) => response?.status ?? 0))
  assert.ok(codes.has(0), 'connections broke meanwhile')
})
