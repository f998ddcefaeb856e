/** What somebody does by hand, each as one request. */
import { ApiError, apiVersionOf, type Client, type Kind, type KubeObject, pathOf } from 'kube-control-loop'
import { by } from './connect.ts'
import type { Found, ScenarioWorld } from './scenario.ts'

export type Acts = Pick<ScenarioWorld, 'create' | 'patch' | 'remove' | 'find'>

/** In `namespace` unless the call says another one. `call`: the signal of one request. */
export function createActs(client: Client, namespace: string, call: () => AbortSignal): Acts {
  const at = (kind: Kind, name: string, where = namespace) =>
    kind.scope === 'Namespaced' ? { name, namespace: where } : { name }
  return {
    async create(kind, name, spec, where) {
      const object: KubeObject = { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: at(kind, name, where), spec }
      await client.create(kind, object, by, call())
    },
    async patch(kind, name, patch, where) {
      const path = pathOf(kind, at(kind, name, where))
      await client.raw({ method: 'PATCH', path, query: by, contentType: 'application/merge-patch+json', body: patch }, call())
    },
    async remove(kind, name, where) {
      await client.remove(kind, at(kind, name, where), {}, call()).catch(unlessGone)
    },
    async find(kind, name, where) {
      return (await client.find(kind, at(kind, name, where), call())) as Found | undefined
    },
  }
}

/** Somebody was first. */
export function unlessGone(error: unknown): void {
  if (!(error instanceof ApiError && error.status === 404)) throw error
}
