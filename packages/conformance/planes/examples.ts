/** The two examples: what their devices and nodes would do is done by a patch. */
import path from 'node:path'
import process from 'node:process'
import { ApiError, type Client, type Kind, type Manifest, pathOf } from 'kube-control-loop'
import type { At } from '../src/plane-under-test.ts'
import { liftBinding } from './enforced.ts'
import { type Extension, manifestsIn, type Recipe, repository } from './local.ts'

const mergePatch = 'application/merge-patch+json'

type Patch = { kind: Kind; at: At & { subresource?: string }; body: unknown }

async function patch(client: Client, { kind, at, body }: Patch, signal: AbortSignal): Promise<void> {
  const { name, namespace, subresource } = at
  const where = pathOf(kind, { name, namespace, ...(subresource ? { subresource } : {}) })
  const query = { fieldManager: 'stand-in-device' }
  await client.raw({ method: 'PATCH', path: where, contentType: mergePatch, query, body }, signal)
}

/** What is gone carries nothing. */
async function unlessGone(done: Promise<void>): Promise<void> {
  await done.catch((error: unknown) => {
    if (!(error instanceof ApiError && error.status === 404)) throw error
  })
}

/** All that an administrator installs of an example but the joint. */
const installed = (of: string) => manifestsIn(...['crd', 'rbac', 'policy'].map((name) => `${of}/manifests/${name}.yaml`))

function liftingOf(manifests: readonly Manifest[], client: Client): Extension {
  const binding = manifests.find(({ kind }) => kind === 'ValidatingAdmissionPolicyBinding')
  return binding ? { liftEnforcement: (signal) => liftBinding(client, binding, signal) } : {}
}

const folder = 'examples/data-plane-ts'
const wires: Kind = { group: 'wires.example.dev', version: 'v1', kind: 'Wire', plural: 'wires', scope: 'Namespaced' }
const ports: Kind = { ...wires, kind: 'Port', plural: 'ports' }

export async function exampleTsRecipe(): Promise<Recipe> {
  const manifests = await installed(folder)
  return {
    version: '0.1.0',
    manifests,
    account: { namespace: 'wires-system', name: 'wires' },
    joint: `${folder}/manifests/data-plane.yaml`,
    detachGraceMs: 5000,
    command: ({ kubeconfig }) => ({
      program: process.execPath,
      args: [path.join(repository, folder, 'wires.ts')],
      env: { KUBECONFIG: kubeconfig },
    }),
    async extend({ client }) {
      const carrier = async (at: { namespace: string; name: string }, is: 'Up' | 'Down', signal: AbortSignal) => {
        const wire = await client.find(wires, at, signal)
        if (!wire) return
        const port = { namespace: at.namespace, name: `wire-${wire.metadata.uid}`, subresource: 'status' }
        await unlessGone(patch(client, { kind: ports, at: port, body: { status: { carrier: is } } }, signal))
      }
      return {
        ...liftingOf(manifests, client),
        traffic: { start: (at, signal) => carrier(at, 'Up', signal), stop: (at, signal) => carrier(at, 'Down', signal) },
      }
    },
  }
}

const script = 'examples/data-plane-script'
const cables: Kind = { group: 'cables.example.dev', version: 'v1', kind: 'Cable', plural: 'cables', scope: 'Namespaced' }

export async function exampleScriptRecipe(): Promise<Recipe> {
  const manifests = await installed(script)
  return {
    version: '0.1.0',
    manifests,
    account: { namespace: 'cables-system', name: 'cables' },
    joint: `${script}/manifests/data-plane.yaml`,
    detachGraceMs: 5000,
    command: ({ kubeconfig, kubectl }) => ({
      program: 'python3',
      args: [path.join(repository, script, 'cables.py')],
      env: { KUBECONFIG: kubeconfig, KUBECTL: kubectl.join(' ') },
    }),
    async extend({ client }) {
      const carrier = (at: { namespace: string; name: string }, is: 'up' | null, signal: AbortSignal) =>
        unlessGone(
          patch(client, { kind: cables, at, body: { metadata: { annotations: { 'cables.example.dev/carrier': is } } } }, signal),
        )
      return {
        ...liftingOf(manifests, client),
        traffic: { start: (at, signal) => carrier(at, 'up', signal), stop: (at, signal) => carrier(at, null, signal) },
      }
    },
  }
}
