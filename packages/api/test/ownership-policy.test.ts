/** Each enforced path of the table against the real API server, by each kind of writer. Every attempt is a dry run. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { enforcement, nsoManifests, ownership, ownershipProbes } from '@nso/api'
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
import { applyPatch } from 'kube-localplane'
import { testNamespace } from 'kube-localplane/testing'
import { enforcedVersions, type Versions } from './support/enforced-objects.ts'
import { type EnforcedWorld, startEnforcedWorld } from './support/enforced-world.ts'

let world: EnforcedWorld
let others: { galactic: Actor; vpcController: Actor; holder: Actor }
let namespace: string

before(async () => {
  world = await startEnforcedWorld()
  others = {
    galactic: await world.account('galactic'),
    vpcController: await world.account('vpc-controller'),
    holder: await world.account('compute'),
  }
  namespace = (await testNamespace(world.plane, 'ownership')).name
  for (const versions of enforcedVersions) await make(versions)
  await world.enforce()
  await world.setParameters({ data: { holder: `\n  ${others.holder.user}, somebody-else\n` } })
})
after(async () => await world[Symbol.asyncDispose]())

const closed = Object.keys(enforcement.identities)
const rowOf = ({ kind }: Versions) => {
  const row = ownership.find((each) => each.kind.plural === kind.plural)
  assert.ok(row)
  return row
}
const target = ({ kind, before }: Versions): Target => ({
  ...{ kind, name: before.metadata.name },
  ...(kind.scope === 'Namespaced' ? { namespace } : {}),
})

/** The object, and its status as its documented writers apply it. */
async function make(versions: Versions): Promise<void> {
  const { before } = versions
  assertPassed(await write(world.nso, target(versions), { method: 'POST', manager: 'set-up', body: before }))
  const conditions = ((before.status as { conditions?: { type: string }[] } | undefined)?.conditions ?? []) as { type: string }[]
  for (const { writer, owns } of rowOf(versions).status) {
    const fields = Object.entries((before.status ?? {}) as object).filter(([field]) => owns.includes(field))
    const own = conditions.filter(({ type }) => owns.includes(`conditions/${type}`))
    const { apiVersion, kind, metadata } = before
    const body = {
      apiVersion,
      kind,
      metadata: { name: metadata.name },
      status: { ...Object.fromEntries(fields), conditions: own },
    }
    const given = { manager: writer, subresource: 'status', contentType: applyPatch, body, force: true } as const
    assertPassed(await write(world.nso, target(versions), given))
  }
}

/** A lease's spec cannot be changed by anyone. */
const attemptsOf = (versions: Versions): OwnershipAttempt[] =>
  ownershipAttempts(rowOf(versions), closed, versions.after).filter(() => versions.kind.kind !== 'AddressLease')

async function trying(versions: Versions, { subresource, patch }: OwnershipAttempt, actor: Actor, manager?: string) {
  const at = target(versions)
  const body = patch(await read(world.admin, at))
  return await write(actor, at, { subresource, body, dryRun: true, ...(manager === undefined ? {} : { manager }) })
}

for (const versions of enforcedVersions) {
  describe(versions.kind.kind, () => {
    for (const attempt of attemptsOf(versions)) {
      const { path, shown, writers } = attempt
      test(`${path}: its documented writer may, under its name of now and of the previous release`, async () => {
        for (const { identity, managers, anyManager } of writers) {
          const actor = identity === 'holder' ? others.holder : world.nso
          for (const manager of anyManager ? ['compute', 'anything'] : managers)
            assertPassed(await trying(versions, attempt, actor, manager === '' ? undefined : manager))
        }
      })

      test(`${path}: nobody else may, and is told who does`, async () => {
        const writer = writers[0]?.anyManager ? others.holder.user : `${world.nso.user} as ${writers[0]?.managers[0]}`
        const says = writers.length > 0 ? [`${shown} written only by ${writer}`] : [`${shown} written only by nobody`]
        assertRefused(await trying(versions, attempt, world.admin, 'kubectl-edit'), ...says, 'not by admin as kubectl-edit')
        for (const other of [others.galactic, others.vpcController])
          assertRefused(await trying(versions, attempt, other, 'galactic-vpcattachment'), ...says, other.user)
        assertRefused(
          await trying(versions, attempt, others.vpcController),
          ...says,
          `not by ${others.vpcController.user} (no field manager)`,
        )
        for (const old of ['manager', 'vpc-controller'])
          assertRefused(await trying(versions, attempt, others.vpcController, old), ...says)
        assertRefused(await trying(versions, attempt, world.nso, 'vpc-controller'), ...says)
      })

      test(`${path}: the documented name does not help another identity`, async () => {
        for (const { identity, managers, anyManager } of writers) {
          if (anyManager) continue
          assertRefused(
            await trying(versions, attempt, world.admin, managers[0]),
            `reserved for ${world.nso.user}, not for admin`,
          )
          assert.equal(identity, 'nso')
        }
      })
    }
  })
}

test('every enforced kind is here, and has a probe', () => {
  const policies = nsoManifests().ownership.filter(({ kind }) => kind === 'ValidatingAdmissionPolicy')
  const named = policies.map(({ metadata }) => metadata.name).filter((name) => name.startsWith('nso-owners-'))
  const of = (kinds: readonly { plural: string }[]) => kinds.map(({ plural }) => `nso-owners-${plural}`).sort()
  assert.deepEqual(named.sort(), of(enforcedVersions.map(({ kind }) => kind)))
  assert.deepEqual(named.sort(), of(ownershipProbes.map(({ kind }) => kind)))
})
