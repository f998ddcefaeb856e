/** The bridge controllers as a process of their own. */
import { join } from 'node:path'
import { testProcess } from 'kube-multus/testing/planes'
import { leaseName } from '../src/app.ts'
import { bridgeAccount } from '../src/manifests.ts'
import { readyAttachment, startWorld } from './harness.ts'

testProcess({
  main: join(import.meta.dirname, '../src/main.ts'),
  async start() {
    const world = await startWorld()
    return { world, kubeconfig: world.bridgeKubeconfig }
  },
  lease: { namespace: bridgeAccount.namespace, name: leaseName },
  work: ({ client }, namespace) => readyAttachment(client, namespace, 'web-0'),
})
