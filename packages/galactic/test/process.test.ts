/** Galactic as a process of its own. */
import { join } from 'node:path'
import { eventually } from 'kube-localplane/testing'
import { testProcess } from 'kube-multus/testing/planes'
import { VPC } from '../src/api/index.ts'
import { leaseName } from '../src/app.ts'
import { galacticAccount } from '../src/manifests.ts'
import { by, never, startWorld, vpcOf } from './harness.ts'

testProcess({
  main: join(import.meta.dirname, '../src/main.ts'),
  async start() {
    const world = await startWorld()
    return { world, kubeconfig: world.galacticKubeconfig }
  },
  lease: { namespace: galacticAccount.namespace, name: leaseName },
  async work({ client }, namespace) {
    await client.create(VPC, vpcOf(namespace, 'blue'), by, never)
    const at = { namespace, name: 'blue' }
    await eventually('the VPC has its identifier', async () => (await client.find(VPC, at, never))?.status?.vpc)
  },
})
