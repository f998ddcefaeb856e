/** The subnet controller: says which range a Subnet holds, whoever made it. Key: subnet. */
import { type Controller, settled, watch } from 'kube-control-loop'
import { isDeleting } from '../objects.ts'
import { controllerNames, type NetworkOptions, subnetWriters } from '../parts.ts'
import { subnetStatus } from './status.ts'

export function createSubnetController(options: NetworkOptions): Controller {
  const { subnets } = options.caches
  const writers = subnetWriters(options)
  return {
    name: controllerNames.subnet,
    watches: [watch(subnets, ({ key }) => [key])],
    needs: [{ cache: subnets }],
    async reconcile({ key, signal }) {
      const subnet = subnets.get(key)
      if (subnet && !isDeleting(subnet)) await writers.status.status(subnet, subnetStatus(subnet), signal)
      return settled
    },
    forget: writers.status.forget,
  }
}
