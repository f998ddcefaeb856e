/** Ownership of a report, enforced by policies of the data plane’s own: put into force, and lifted for a while. */
import {
  type Client,
  type Kind,
  type Manifest,
  type OwnershipEnforcement,
  type OwnershipMode,
  type OwnershipProbe,
  ownershipInForce,
  ownershipParameters,
  ownershipPolicies,
  systemClock,
} from 'kube-control-loop'

const configMaps: Kind = { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', scope: 'Namespaced' }

export const policiesOf = (enforcement: OwnershipEnforcement): readonly Manifest[] => [
  ownershipParameters(enforcement, 'Deny'),
  ...ownershipPolicies(enforcement),
]

type Enforced = { client: Client; enforcement: OwnershipEnforcement; probes: readonly OwnershipProbe[] }

/** Resolves when the policies refuse. */
export async function untilEnforced({ client, enforcement, probes }: Enforced, signal: AbortSignal): Promise<void> {
  await ownershipInForce({ client, clock: systemClock, enforcement, probes, signal })
}

const lookEveryMs = 200

/** As `liftEnforcement` of a data plane under test. */
export async function lift(enforced: Enforced, signal: AbortSignal): Promise<() => Promise<void>> {
  const { client, enforcement } = enforced
  await setMode(client, enforcement, 'Off', signal)
  while (await isInForce(enforced, signal)) await systemClock.sleep(lookEveryMs, signal)
  return async () => {
    await setMode(client, enforcement, 'Deny', signal)
    await untilEnforced(enforced, signal)
  }
}

async function setMode(
  client: Client,
  enforcement: OwnershipEnforcement,
  mode: OwnershipMode,
  signal: AbortSignal,
): Promise<void> {
  const body = ownershipParameters(enforcement, mode)
  const at = { name: body.metadata.name, namespace: enforcement.namespace }
  await client.apply(configMaps, at, body, { fieldManager: 'conformance', force: true }, signal)
}

/** One look, which stores nothing. */
async function isInForce({ client, enforcement, probes }: Enforced, signal: AbortSignal): Promise<boolean> {
  const look = ownershipInForce({ client, clock: systemClock, enforcement, probes, timeoutMs: 0, signal })
  return await look.then(
    () => true,
    (error: unknown) => {
      if (error instanceof Error && 'code' in error && error.code === 'OWNERSHIP_NOT_IN_FORCE') return false
      throw error
    },
  )
}

const bindings: Kind = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'ValidatingAdmissionPolicyBinding',
  plural: 'validatingadmissionpolicybindings',
  scope: 'Cluster',
}

/** As `liftEnforcement` of a data plane that guards its report by one policy: its binding is removed, and made again. */
export async function liftBinding(client: Client, binding: Manifest, signal: AbortSignal): Promise<() => Promise<void>> {
  await client.remove(bindings, { name: binding.metadata.name }, {}, signal)
  return async () => {
    const never = new AbortController().signal
    await client.create(bindings, { ...binding, spec: binding.spec }, { fieldManager: 'conformance' }, never)
  }
}
