/** Applies manifests of any kind, in an order that works, and waits until what they define can be used. */
import { parseAllDocuments } from 'yaml'
import { type ApiAnswer, type ApiConnection, type ApiRequest, applyPatch, connect, refused } from './api-connection.ts'
import { LocalplaneError } from './errors.ts'
import { readKubeconfig } from './kubeconfig.ts'
import { waitForDefinitions } from './served-kinds.ts'
import { eventually } from './wait.ts'

export type KubeObject = {
  apiVersion: string
  kind: string
  metadata: { name: string; namespace?: string; labels?: Record<string, string>; [field: string]: unknown }
  [field: string]: unknown
}

export type InstallOptions = {
  /** `localplane-install` unless said otherwise. */
  fieldManager?: string
  log?: (line: string) => void
  signal?: AbortSignal
}

/** Names of what was not there before. */
export type Installed = { newDefinitions: string[] }

const timeoutMs = 30_000

/**
 * Applies (server-side, by force) namespaces and definitions first, custom objects last. Resolves when every kind that a
 * definition brought can be listed, watched and created, and every aggregated role that got parts has rules: a server
 * answers 404 or 429 for some seconds before. Can be repeated. Admission policies are not waited for: whether they are
 * enforced can only be asked with a write that they would refuse.
 * Rejects with `REQUEST_REFUSED` and the server's words, or `TIMED_OUT`.
 */
export async function installManifests(
  target: string | { kubeconfigPath: string },
  manifests: string | readonly KubeObject[],
  options: InstallOptions = {},
): Promise<Installed> {
  const kubeconfigPath = typeof target === 'string' ? target : target.kubeconfigPath
  const objects = typeof manifests === 'string' ? parseManifests(manifests) : manifests.flatMap(expandList)
  const connection = await connect(kubeconfigPath)
  try {
    const { namespace = 'default' } = await readKubeconfig(kubeconfigPath)
    const installer = new Installer(connection, namespace, options)
    for (const stage of stages(objects)) {
      for (const object of stage) await installer.apply(object)
      await waitForDefinitions(connection, stage, options)
    }
    await installer.waitForAggregatedRoles(objects)
    return { newDefinitions: installer.newDefinitions }
  } finally {
    connection.close()
  }
}

/** Reads one or many YAML or JSON documents; a `List` becomes its items, empty documents are skipped. */
export function parseManifests(text: string): KubeObject[] {
  return parseAllDocuments(text).flatMap((document) => {
    const [error] = 'errors' in document ? document.errors : []
    if (error) throw error
    const value: unknown = 'toJS' in document ? document.toJS() : undefined
    return value === null || value === undefined ? [] : expandList(value as KubeObject)
  })
}

function expandList(object: KubeObject): KubeObject[] {
  const items = object.items
  return object.kind.endsWith('List') && Array.isArray(items) ? (items as KubeObject[]).flatMap(expandList) : [object]
}

/** Three groups: what others need to exist, what every server knows, what a definition may have brought. */
export function stages(objects: readonly KubeObject[]): KubeObject[][] {
  const rank = ({ apiVersion, kind }: KubeObject) => {
    if (kind === 'Namespace' || kind === 'CustomResourceDefinition') return 0
    const group = apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : ''
    return !group.includes('.') || group.endsWith('.k8s.io') ? 1 : 2
  }
  return [0, 1, 2].map((wanted) => objects.filter((object) => rank(object) === wanted))
}

type Resource = { name: string; kind: string; namespaced: boolean }

class Installer {
  readonly newDefinitions: string[] = []
  readonly #connection: ApiConnection
  readonly #namespace: string
  readonly #options: InstallOptions
  readonly #resources = new Map<string, Resource[]>()

  constructor(connection: ApiConnection, namespace: string, options: InstallOptions) {
    this.#connection = connection
    this.#namespace = namespace
    this.#options = options
  }

  async apply(object: KubeObject): Promise<void> {
    const manager = encodeURIComponent(this.#options.fieldManager ?? 'localplane-install')
    const path = `${await this.#pathOf(object)}?fieldManager=${manager}&force=true`
    const request: ApiRequest = { method: 'PATCH', path, body: object, contentType: applyPatch }
    const answer = await this.#patiently(request)
    if (answer.status >= 300) throw refused(request, answer)
    if (answer.status === 201 && object.kind === 'CustomResourceDefinition') this.newDefinitions.push(object.metadata.name)
    this.#options.log?.(`applied ${object.kind} ${object.metadata.name}`)
  }

  async #pathOf({ apiVersion, kind, metadata }: KubeObject): Promise<string> {
    const base = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
    const { name, namespaced } = await eventually(`${kind} of ${apiVersion} is served`, () => this.#find(base, kind), {
      ...this.#waiting(),
      everyMs: 100,
    })
    const namespace = namespaced ? `/namespaces/${metadata.namespace ?? this.#namespace}` : ''
    return `${base}${namespace}/${name}/${encodeURIComponent(metadata.name)}`
  }

  async #find(base: string, kind: string): Promise<Resource | undefined> {
    const known = this.#resources.get(base)?.find((resource) => resource.kind === kind)
    if (known) return known
    const { status, body } = await this.#connection.request({ path: base })
    const resources = status === 200 ? ((body as { resources?: Resource[] }).resources ?? []) : []
    this.#resources.set(base, resources)
    return resources.find((resource) => resource.kind === kind && !resource.name.includes('/'))
  }

  /** A server that starts, or a kind that just appeared, answers so for a moment. */
  #patiently(request: ApiRequest): Promise<ApiAnswer> {
    return eventually(
      `${request.method} ${request.path}`,
      async () => {
        const answer = await this.#connection.request(request)
        const notYet = answer.status === 429 || answer.status === 503 || (answer.status === 404 && answer.body === undefined)
        if (notYet) throw refused(request, answer)
        return answer
      },
      { ...this.#waiting(), everyMs: 100 },
    )
  }

  /** The controller manager fills them in a moment after their parts appear. */
  async waitForAggregatedRoles(objects: readonly KubeObject[]): Promise<void> {
    const roles = objects.filter(({ kind }) => kind === 'ClusterRole')
    for (const role of roles.filter((candidate) => roles.some((part) => isPartOf(part, candidate)))) {
      const path = `/apis/rbac.authorization.k8s.io/v1/clusterroles/${role.metadata.name}`
      const hasRules = async () => {
        const { rules } = await this.#connection.must({ path })
        return Array.isArray(rules) && rules.length > 0
      }
      await eventually(`the aggregated role ${role.metadata.name} has rules`, hasRules, this.#waiting())
    }
  }

  #waiting() {
    return { timeoutMs, ...(this.#options.signal ? { signal: this.#options.signal } : {}) }
  }
}

function isPartOf(part: KubeObject, role: KubeObject): boolean {
  const rule = role.aggregationRule as { clusterRoleSelectors?: { matchLabels?: Record<string, string> }[] } | undefined
  const labels = part.metadata.labels ?? {}
  const hasRules = Array.isArray(part.rules) && part.rules.length > 0
  const selectors = rule?.clusterRoleSelectors ?? []
  return (
    hasRules &&
    selectors.some(({ matchLabels = {} }) => Object.entries(matchLabels).every(([key, value]) => labels[key] === value))
  )
}

/** Throws when the target is no kubeconfig of a server that answers: before anything is applied. */
export async function requireAnswer(kubeconfigPath: string): Promise<void> {
  const connection = await connect(kubeconfigPath)
  try {
    await connection.must({ path: '/version' })
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new LocalplaneError('NOT_RUNNING', `${connection.url} does not answer: ${reason}`, { cause })
  } finally {
    connection.close()
  }
}
