/** The bridge data plane; a Pod that names the definition of an attachment, and the stand-in for Multus, are its traffic. */
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { bridgeAccount, bridgeManifests, enforcement, ownershipProbes } from 'kube-bridge/manifests'
import { podNaming, standInMultus, standInMultusAccount, standInMultusManifests } from 'kube-bridge/testing'
import { ApiError, type At, type Client, type Kind, silentLogger } from 'kube-control-loop'
import { lift, policiesOf, untilEnforced } from './enforced.ts'
import type { Recipe } from './local.ts'

const pods: Kind = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', scope: 'Namespaced' }
const detachGraceSeconds = 5

export function bridgeRecipe(): Recipe {
  const { crds, rbac, local } = bridgeManifests()
  return {
    version: '0.1.0',
    account: bridgeAccount,
    manifests: [...crds, ...local, ...rbac, ...standInMultusManifests(), ...policiesOf(enforcement)],
    joint: 'deploy/data-planes/bridge.yaml',
    detachGraceMs: detachGraceSeconds * 1000,
    command: ({ kubeconfig }) => ({
      program: process.execPath,
      args: [
        fileURLToPath(import.meta.resolve('kube-bridge/main')),
        ...['--kubeconfig', kubeconfig, '--detach-grace', `${detachGraceSeconds}s`],
        // Killed processes leave their lease: without one the next is not kept waiting for it.
        '--no-leader-elect',
      ],
    }),
    async extend({ client, kubeconfigFor }) {
      const enforced = { client, enforcement, probes: ownershipProbes }
      const ending = new AbortController()
      await untilEnforced(enforced, ending.signal)
      const multus = standInMultus({ kubeconfig: await kubeconfigFor(standInMultusAccount), log: silentLogger })
      multus.running.catch(() => {})
      return {
        liftEnforcement: (signal) => lift(enforced, signal),
        traffic: {
          start: async (at, signal) => {
            const pod = podNaming(at.namespace, podName(at), at.name)
            await client.create(pods, pod, { fieldManager: 'stand-in-workload' }, signal)
          },
          stop: (at, signal) => endPod(client, at, signal),
        },
        async stop() {
          ending.abort(new Error('the run is over'))
          await multus.stop().catch(() => {})
        },
      }
    },
  }
}

const podName = ({ name }: At): string => `workload-of-${name}`

/** At once: no kubelet is there to end it. */
async function endPod(client: Client, at: At, signal: AbortSignal): Promise<void> {
  const path = `/api/v1/namespaces/${at.namespace}/pods/${podName(at)}`
  try {
    await client.raw({ method: 'DELETE', path, query: { gracePeriodSeconds: '0' } }, signal)
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 404)) throw error
  }
}
