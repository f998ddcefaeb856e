/** Waiting until a kind that a CustomResourceDefinition brings can really be used. */
import type { ApiConnection } from './api-connection.ts'
import type { KubeObject } from './install-manifests.ts'
import { eventually } from './wait.ts'

type Definition = {
  group: string
  names: { plural: string; kind: string }
  scope: 'Namespaced' | 'Cluster'
  versions: { name: string; served: boolean }[]
}

const timeoutMs = 30_000

/**
 * `Established` comes first; then, for about two seconds, creates are answered "404 page not found" although reads work,
 * and the first list is answered 429. So each served version is asked with a list and a dry-run create.
 */
export async function waitForDefinitions(
  connection: ApiConnection,
  objects: readonly KubeObject[],
  { signal }: { signal?: AbortSignal } = {},
): Promise<void> {
  const waiting = { timeoutMs, everyMs: 50, ...(signal ? { signal } : {}) }
  const definitions = objects.filter(({ kind }) => kind === 'CustomResourceDefinition')
  await Promise.all(
    definitions.map(async ({ metadata, spec }) => {
      await eventually(`definition ${metadata.name} is established`, () => isEstablished(connection, metadata.name), waiting)
      const { group, names, scope, versions } = spec as Definition
      for (const { name: version } of versions.filter(({ served }) => served)) {
        const apiVersion = `${group}/${version}`
        const collection = `/apis/${apiVersion}${scope === 'Namespaced' ? '/namespaces/default' : ''}/${names.plural}`
        const kind = { apiVersion, kind: names.kind }
        await eventually(
          `${names.plural}.${group} ${version} can be created`,
          () => isUsable(connection, collection, kind),
          waiting,
        )
      }
    }),
  )
}

async function isEstablished(connection: ApiConnection, name: string): Promise<boolean> {
  const { status } = await connection.must({ path: `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}` })
  const { conditions = [] } = (status ?? {}) as { conditions?: { type: string; status: string; message: string }[] }
  const refusal = conditions.find(({ type, status: value }) => type === 'NamesAccepted' && value === 'False')
  if (refusal) throw new Error(`its names are not accepted: ${refusal.message}`)
  return conditions.some(({ type, status: value }) => type === 'Established' && value === 'True')
}

/** Any answer to the create that is the kind's own will do, also that the probe is invalid. */
async function isUsable(
  connection: ApiConnection,
  collection: string,
  kind: { apiVersion: string; kind: string },
): Promise<boolean> {
  const list = await connection.request({ path: `${collection}?limit=1` })
  if (list.status !== 200) return false
  const body = { ...kind, metadata: { name: 'localplane-probe' } }
  const create = await connection.request({ method: 'POST', path: `${collection}?dryRun=All`, body })
  return create.body !== undefined && create.status !== 404 && create.status !== 429 && create.status < 500
}
