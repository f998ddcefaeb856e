/**
 * Calls on a service whose answers decide on addresses: one that is not the object that was asked for counts as none, so that
 * nothing is published, kept or deleted by it.
 */
import { type At, type Client, ConnectionBroken, type Kind, type KubeObject, pathOf } from 'kube-control-loop'

export function checkedClient(client: Client): Client {
  return {
    ...client,
    async find<S, T>(kind: Kind<S, T>, at: At, signal: AbortSignal) {
      const found = await client.find(kind, at, signal)
      return found && checked('GET', kind, at, found)
    },
    async create<S, T>(
      kind: Kind<S, T>,
      object: KubeObject<S, T>,
      options: Parameters<Client['create']>[2],
      signal: AbortSignal,
    ) {
      return checked('POST', kind, object.metadata, await client.create(kind, object, options, signal))
    },
    async jsonPatch<S, T>(kind: Kind<S, T>, ...[at, operations, options, signal]: PatchArguments) {
      return checked('PATCH', kind, at, await client.jsonPatch(kind, at, operations, options, signal))
    },
  }
}

type Call = Parameters<Client['jsonPatch']>
type PatchArguments = [at: Call[1], operations: Call[2], options: Call[3], signal: AbortSignal]

function checked<S, T>(method: 'GET' | 'POST' | 'PATCH', kind: Kind<S, T>, at: At, answer: KubeObject<S, T>): KubeObject<S, T> {
  const { name, namespace, uid, resourceVersion } = answer.metadata
  const isNamed = name === at.name && namespace === at.namespace
  if (isNamed && uid && resourceVersion && typeof answer.spec === 'object' && answer.spec !== null) return answer
  throw new ConnectionBroken({ method, path: pathOf(kind, at) }, new Error('the answer is not the object that was asked for'))
}
