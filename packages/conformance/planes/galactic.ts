/** Galactic, with the stand-in node for traffic. */
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { defaultSettings } from 'galactic'
import { enforcement, galacticAccount, galacticManifests, ownershipProbes } from 'galactic/manifests'
import { standInNodeAccount, standInNodeManifests, startStandInNode } from 'galactic/testing'
import { keyFor, silentLogger } from 'kube-control-loop'
import { lift, policiesOf, untilEnforced } from './enforced.ts'
import type { Recipe } from './local.ts'

export function galacticRecipe(): Recipe {
  const { crds, rbac, local } = galacticManifests()
  return {
    version: '0.1.0',
    account: galacticAccount,
    manifests: [...crds, ...local, ...rbac, ...standInNodeManifests(), ...policiesOf(enforcement)],
    joint: 'deploy/data-planes/galactic.yaml',
    detachGraceMs: defaultSettings.detachGraceMs,
    command: ({ kubeconfig }) => ({
      program: process.execPath,
      // Killed processes leave their lease: without one the next is not kept waiting for it.
      args: [fileURLToPath(import.meta.resolve('galactic/main')), '--kubeconfig', kubeconfig, '--no-leader-elect'],
    }),
    async extend({ client, kubeconfigFor }) {
      const enforced = { client, enforcement, probes: ownershipProbes }
      const ending = new AbortController()
      await untilEnforced(enforced, ending.signal)
      const carried = new Set<string>()
      const node = startStandInNode({
        kubeconfig: await kubeconfigFor(standInNodeAccount),
        carries: (attachment) => carried.has(attachment),
        log: silentLogger,
      })
      node.running.catch(() => {})
      return {
        liftEnforcement: (signal) => lift(enforced, signal),
        traffic: {
          async start({ namespace, name }) {
            carried.add(keyFor(name, namespace))
            node.lookAgain(keyFor(name, namespace))
          },
          async stop({ namespace, name }) {
            carried.delete(keyFor(name, namespace))
            node.lookAgain(keyFor(name, namespace))
          },
        },
        async stop() {
          ending.abort(new Error('the run is over'))
          await node.stop().catch(() => {})
        },
      }
    },
  }
}
