/** The small plane of broken/ on a control plane that all its variants share, brought to the suite. */
import { nsoAccount, nsoManifests } from '@nso/api'
import {
  ApiError,
  type At,
  type Client,
  createAccessSource,
  createClient,
  createHttpTransport,
  type Kind,
  type Manifest,
  pathOf,
  systemClock,
} from 'kube-control-loop'
import { type KubeObject, type Plane, startPlane as startServer } from 'kube-localplane'
import { eventually } from 'kube-localplane/testing'
import type { Fault } from '../broken/faults.ts'
import { crds, dataPlane, guard, guarded, joint, type Kinds, kindsOf, rbac, system } from '../broken/kinds.ts'
import { startPlane } from '../broken/plane.ts'
import type { PlaneUnderTest } from '../src/index.ts'

/** The one without a fault. */
export const correct = 'correct'
export type Variant = Fault | typeof correct

export type Bench = {
  readonly server: Plane
  readonly client: Client
  start(variant: Variant): Promise<{ plane: PlaneUnderTest; stop(): Promise<void> }>
  [Symbol.asyncDispose](): Promise<void>
}

const faultOf = (variant: Variant): Fault | undefined => (variant === correct ? undefined : variant)
const hasGuard = (variant: Variant) => variant !== 'unguarded'

/** With everything installed that the variants need. */
export async function startBench(variants: readonly Variant[]): Promise<Bench> {
  const server = await startServer({ name: 'broken-planes' })
  const manifests = variants.flatMap((variant) => {
    const kinds = kindsOf(variant)
    const fault = faultOf(variant)
    const policies = hasGuard(variant) ? [guarded(variant, kinds)] : []
    return [...crds(kinds, fault), ...rbac(variant, kinds, fault), joint(variant, kinds, fault), ...policies]
  })
  await server.apply([...nsoManifests().rbac, guard(), ...manifests] as KubeObject[])
  const access = createAccessSource({ clock: systemClock, kubeconfig: server.kubeconfigPath })
  const transport = createHttpTransport({ access, clock: systemClock, userAgent: 'broken-test' })
  const client = createClient(transport, { clock: systemClock, jitter: Math.random })
  return {
    server,
    client,
    start: (variant) => start({ server, client }, variant),
    async [Symbol.asyncDispose]() {
      await transport.close()
      await server.stop()
    },
  }
}

async function start({ server, client }: Pick<Bench, 'server' | 'client'>, variant: Variant) {
  const kinds = kindsOf(variant)
  const kubeconfig = await server.kubeconfigFor({ serviceAccount: { namespace: system, name: variant } })
  const begin = () => startPlane({ name: variant, kubeconfig, fault: faultOf(variant) })
  let running = begin()
  const plane: PlaneUnderTest = {
    ...{ name: variant, version: '0.0.0', dataPlane: dataPlane(variant, kinds), detachGraceMs: 1000 },
    user: `system:serviceaccount:${system}:${variant}`,
    requester: `system:serviceaccount:${nsoAccount.namespace}:${nsoAccount.name}`,
    ...(server.auditLogPath ? { auditLog: server.auditLogPath } : {}),
    async restart() {
      await running.stop()
      running = begin()
    },
    traffic: {
      start: (at, signal) => carry(client, kinds, at, 'Up', signal),
      stop: (at, signal) => carry(client, kinds, at, 'Down', signal),
    },
    ...(hasGuard(variant)
      ? { liftEnforcement: (signal: AbortSignal) => lift(client, kinds, guarded(variant, kinds), signal) }
      : {}),
  }
  return { plane, stop: () => running.stop() }
}

/** What the driver of the device says on the plug. What is gone carries nothing. */
async function carry(
  client: Client,
  { socket, plug }: Kinds,
  at: At,
  carrier: 'Up' | 'Down',
  signal: AbortSignal,
): Promise<void> {
  const found = await client.find(socket, at, signal)
  const plugs = (await client.list(plug, at.namespace === undefined ? {} : { namespace: at.namespace }, signal)).items
  const own = plugs.find(({ spec }) => spec.socket === found?.metadata.name)
  if (!own) return
  const path = pathOf(plug, { namespace: at.namespace, name: own.metadata.name, subresource: 'status' })
  const body = { status: { carrier } }
  await client.raw({ method: 'PATCH', path, contentType: 'application/merge-patch+json', body }, signal)
}

const bindings: Kind = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'ValidatingAdmissionPolicyBinding',
  plural: 'validatingadmissionpolicybindings',
  scope: 'Cluster',
}

async function lift(client: Client, { socket }: Kinds, binding: Manifest, signal: AbortSignal) {
  const isRefused = async () => {
    const [some] = (await client.list(socket, {}, signal)).items
    if (!some) throw new Error('nothing to try it with')
    const path = pathOf(socket, { namespace: some.metadata.namespace, name: some.metadata.name, subresource: 'status' })
    const body = { status: { code: 'tried' } }
    const asked = { method: 'PATCH', path, contentType: 'application/merge-patch+json', body, query: { dryRun: 'All' } } as const
    return await client.raw(asked, signal).then(
      () => false,
      (error: unknown) => {
        if (error instanceof ApiError && error.status === 403) return true
        throw error
      },
    )
  }
  await client.remove(bindings, { name: binding.metadata.name }, {}, signal)
  await eventually('the policy is lifted', async () => !(await isRefused()))
  return async () => {
    await client.apply(
      bindings,
      { name: binding.metadata.name },
      binding as KubeObject,
      { fieldManager: 'test', force: true },
      signal,
    )
    await eventually('the policy is in force again', isRefused)
  }
}
