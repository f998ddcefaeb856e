/**
 * An ownership table, enforced on a control plane that knows no other kinds: of each documented path, that its writer may write it
 * and nobody else.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import {
  type Client,
  createAccessSource,
  createClient,
  createHttpTransport,
  type Kind,
  type KubeObject,
  type Manifest,
  type OwnershipEnforcement,
  type OwnershipProbe,
  ownershipInForce,
  ownershipParameters,
  systemClock,
  type Transport,
} from 'kube-control-loop'
import {
  type Actor,
  assertPassed,
  assertRefused,
  type OwnershipAttempt,
  ownershipAttempts,
  read,
  type Target,
  write,
} from 'kube-control-loop/testing'
import { type ApiConnection, applyPatch, connect, type Plane, startPlane } from 'kube-localplane'
import { never } from './world.ts'

export type EnforcedObject = {
  readonly kind: Kind
  readonly object: KubeObject
  /** Field manager of its documented writer. */
  readonly manager: string
  /** Who makes it: the application itself, or whoever asks for it (default). */
  readonly madeBy?: 'application'
  readonly status?: object
  /** Another version of it: each documented path has another value. */
  readonly after: { readonly spec: object; readonly status?: object }
  /** Paths that are tried elsewhere. */
  readonly without?: readonly string[]
}

export type OwnershipSuite = {
  readonly enforcement: OwnershipEnforcement
  readonly probes: readonly OwnershipProbe[]
  /** Everything but the policies. */
  readonly manifests: readonly Manifest[]
  readonly policies: readonly Manifest[]
  /** User of the application. */
  readonly user: string
  readonly namespace: string
  readonly enforced: readonly EnforcedObject[]
}

export type Enforced = {
  readonly client: Client
  readonly admin: Actor
  /** The application. */
  readonly own: Actor
  readonly rogue: Actor
}

/** Puts policies in force with Deny, and waits until they are. */
export async function enforceOn(
  { enforcement, policies, probes }: Pick<OwnershipSuite, 'enforcement' | 'policies' | 'probes'>,
  plane: Plane,
  client: Client,
): Promise<void> {
  await plane.apply([ownershipParameters(enforcement, 'Deny'), ...policies] as never)
  const given = { client, clock: systemClock, enforcement, probes, signal: AbortSignal.timeout(60_000) }
  assert.equal(await ownershipInForce(given), probes.length)
}

/** Declares the tests; the returned function answers the world that they and further tests run in. */
export function testOwnership(suite: OwnershipSuite): () => Enforced {
  const { enforcement, namespace, user } = suite
  let world: Enforced | undefined
  let plane: Plane | undefined
  let transport: Transport | undefined
  const connections: ApiConnection[] = []
  before(async () => {
    plane = await startPlane({ name: `${enforcement.app}-ownership` })
    const space = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }
    await plane.apply([...suite.manifests, space] as never)
    const access = createAccessSource({ clock: systemClock, kubeconfig: plane.kubeconfigPath })
    transport = createHttpTransport({ access, clock: systemClock, userAgent: `${enforcement.app}-test` })
    const client = createClient(transport, { clock: systemClock, jitter: Math.random })
    await enforceOn(suite, plane, client)
    const actor = async (who: string, by: Plane): Promise<Actor> => {
      const connection = await connect(await by.kubeconfigFor({ user: who, groups: ['system:masters'] }))
      connections.push(connection)
      return { user: who, connection }
    }
    const admin = { user: 'admin', connection: plane.connection }
    world = { client, admin, own: await actor(user, plane), rogue: await actor('rogue', plane) }
  })
  after(async () => {
    for (const connection of connections) connection.close()
    await transport?.close()
    await plane?.[Symbol.asyncDispose]()
  })
  const here = () => {
    assert.ok(world)
    return world
  }
  for (const enforced of suite.enforced) describe(enforced.kind.kind, () => testObject(suite, enforced, here))
  return here
}

function testObject({ enforcement, namespace, user }: OwnershipSuite, enforced: EnforcedObject, here: () => Enforced): void {
  const { kind, object, manager, madeBy, status, without = [] } = enforced
  const at: Target = { kind, name: object.metadata.name, namespace }
  const row = enforcement.table.find((each) => each.kind.kind === kind.kind)
  assert.ok(row)
  const attemptsOn = (name: string, version: EnforcedObject['after']) =>
    ownershipAttempts(row, Object.keys(enforcement.identities), { metadata: { name }, ...version })

  before(async () => {
    const { own, admin } = here()
    const maker = madeBy ? { by: own, manager } : { by: admin, manager: 'test' }
    assertPassed(await write(maker.by, at, { method: 'POST', manager: maker.manager, body: object }))
    if (!status) return
    const body = { apiVersion: object.apiVersion, kind: object.kind, metadata: { name: at.name }, status }
    assertPassed(await write(own, at, { manager, subresource: 'status', contentType: applyPatch, force: true, body }))
  })
  after(async () => {
    const { own, client } = here()
    await write(own, at, { manager, body: { metadata: { finalizers: null } } })
    await client.remove(kind, { name: at.name, namespace }, {}, never).catch(() => {})
  })

  const trying = async ({ subresource, patch }: OwnershipAttempt, by: Actor, as?: string) => {
    const body = patch(await read(here().admin, at))
    return await write(by, at, { subresource, body, dryRun: true, ...(as === undefined ? {} : { manager: as }) })
  }

  // A row's paths do not depend on the other version.
  for (const [index, { path, shown, writers }] of attemptsOn('', { spec: {} }).entries()) {
    if (without.includes(path)) continue
    test(`${path}: ${writers.length > 0 ? 'its documented writer may, nobody else' : 'nobody may'}`, async () => {
      const { own, rogue } = here()
      const attempt = attemptsOn(at.name, enforced.after)[index]
      assert.ok(attempt)
      for (const { managers } of writers)
        for (const as of managers) assertPassed(await trying(attempt, own, as === '' ? undefined : as))
      const only = writers.length > 0 ? `${user} as ${writers[0]?.managers[0]}` : 'nobody'
      for (const as of ['kubectl-edit', 'vpc-controller', undefined])
        assertRefused(await trying(attempt, rogue, as), `${shown} written only by ${only}`, 'not by rogue')
      assertRefused(await trying(attempt, own, 'somebody'), `${shown} written only by ${only}`)
      for (const { managers } of writers) assertRefused(await trying(attempt, rogue, managers[0]), 'is reserved for')
    })
  }
}
