/** Cases about what the data plane serves, before it does anything. */
import { group as requesterGroup } from '@nso/api'
import { difference } from '@nso/operator'
import { ApiError, type Kind, type KubeObject } from 'kube-control-loop'
import type { Bench } from '../bench.ts'
import { type Case, inNamespace } from '../case.ts'
import { capabilitiesOf, type Wish } from '../requester.ts'
import { resourceNames } from '../served-kinds.ts'
import { fail, pass, skip, type Verdict } from '../verdict.ts'
import type { World } from '../world.ts'

export const kinds: Case = {
  name: 'kinds',
  needs: [],
  async run({ view, client, attachmentKind, networkKind }, signal) {
    if (view.problems.length > 0) return fail(`the DataPlane is not sound: ${view.problems.join('; ')}`)
    const wanted = [
      { ref: view.attachmentKind, kind: attachmentKind },
      ...(view.networkKind ? [{ ref: view.networkKind, kind: networkKind }] : []),
    ]
    for (const { ref, kind } of wanted) {
      const named = `${ref.kind} (${ref.apiVersion})`
      if (!kind) return fail(`${named} is not served as a namespaced kind`)
      if (kind.group === requesterGroup) return fail(`${named} is in the requester’s own API group`)
      const names = await resourceNames(client, kind, signal)
      if (!names.includes(`${kind.plural}/status`)) return fail(`${named} has no status subresource`)
    }
    return pass()
  },
}

/** Every mode, every family alone and all together: what capabilities promise. */
function wishesOf(bench: Bench): Wish[] {
  const { modes, families } = capabilitiesOf(bench.dataPlane)
  const sets = [families, ...(families.length > 1 ? families.map((family) => [family]) : [])]
  return modes.flatMap((mode) => sets.map((of, at): Wish => ({ name: `wish-${mode.toLowerCase()}-${at}`, mode, families: of })))
}

export const acceptsRequest = inNamespace('accepts-request', ['kinds'], async (world) => {
  const { bench, networks, rendering } = world
  const network = world.networkBody()
  const problem = network && networks ? await tryOut(world, networks.kind, network, []) : undefined
  if (problem) return problem
  for (const wish of wishesOf(bench)) {
    const { body, leftOut } = rendering(wish)
    const refused = await tryOut(world, world.attachments.kind, body, leftOut)
    if (refused) return refused
  }
  return pass()
})

/** A creation that stores nothing: undefined when the answer says all that was asked. */
async function tryOut(
  { bench, signal }: World,
  kind: Kind,
  body: KubeObject,
  leftOut: readonly string[],
): Promise<Verdict | undefined> {
  try {
    const stored = await bench.client.create(kind, body, { ...bench.by, dryRun: true }, signal)
    const dropped = difference({ body, leftOut }, stored).flatMap(({ op, path }) =>
      op === 'add' || op === 'replace' ? [path] : [],
    )
    const finalizers = (body.metadata.finalizers ?? []).filter((name) => !stored.metadata.finalizers?.includes(name))
    const lost = [...dropped, ...finalizers.map((name) => `/metadata/finalizers: ${name}`)]
    return lost.length > 0
      ? fail(`${kind.kind} is stored without what the template says: ${lost.join(', ')}`, {
          sent: body.spec,
          stored: stored.spec,
        })
      : undefined
  } catch (error) {
    if (error instanceof ApiError) return fail(`${kind.kind} is refused: ${error.text}`, { sent: body.spec })
    throw error
  }
}

type Schema = { properties?: Record<string, Schema> } & Record<string, unknown>
type Definition = { spec?: { versions?: { name: string; schema?: { openAPIV3Schema?: Schema } }[] } }

export const keyedConditions: Case = {
  name: 'keyed-conditions',
  needs: ['kinds'],
  async run({ client, attachmentKind, networkKind }, signal) {
    for (const kind of [attachmentKind, networkKind]) {
      if (!kind) continue
      const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${kind.plural}.${kind.group}`
      const answer = await client.raw({ method: 'GET', path }, signal).catch((error: unknown) => {
        if (error instanceof ApiError && (error.status === 404 || error.status === 403)) return error
        throw error
      })
      if (answer instanceof ApiError) return skip(`the definition of ${kind.kind} cannot be read: ${answer.text}`)
      const version = (answer as Definition).spec?.versions?.find(({ name }) => name === kind.version)
      const conditions = version?.schema?.openAPIV3Schema?.properties?.status?.properties?.conditions
      if (!conditions && kind !== attachmentKind) continue
      if (!conditions) return fail(`the schema of ${kind.kind} has no status.conditions`)
      const keys = conditions['x-kubernetes-list-map-keys'] as readonly string[] | undefined
      if (conditions['x-kubernetes-list-type'] !== 'map' || keys?.join() !== 'type')
        return fail(`conditions of ${kind.kind} are no map by type`)
    }
    return pass()
  },
}
