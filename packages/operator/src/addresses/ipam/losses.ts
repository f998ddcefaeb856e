/** Addresses of interfaces that the service does not hold for them, counted as each is lost and not as often as it is looked at. */
import type { NetworkInterface } from '@nso/api'
import { type Key, keyOf } from 'kube-control-loop'
import { Counter, type Registry } from 'prom-client'

export type Losses = {
  /** What was found of an interface: its missing addresses, none when all stand. */
  found(nic: NetworkInterface, project: string, missing: readonly string[]): void
  /** The interface is gone. */
  forget(key: Key): void
}

/** The counter is registered also where no address service is used, with no series then. */
export function createLosses(registry: Registry): Losses {
  const counter = new Counter({
    name: 'nso_network_interface_missing_allocations_total',
    help: 'Addresses of interfaces whose allocation went missing at the address service',
    labelNames: ['project'] as const,
    registers: [registry],
  })
  const known = new Map<Key, ReadonlySet<string>>()

  return {
    found(nic, project, missing) {
      const key = keyOf(nic)
      const before = known.get(key) ?? toldMissing(nic)
      const lost = missing.filter((address) => !before.has(address))
      if (lost.length > 0) counter.inc({ project }, lost.length)
      known.set(key, new Set(missing))
    },
    forget: (key) => void known.delete(key),
  }
}

/** What an earlier process said of it, so that a restart loses nothing anew. */
function toldMissing({ spec, status }: NetworkInterface): ReadonlySet<string> {
  const said = missingSaid({ status })
  const all = [...(spec.addresses ?? []), ...(spec.externalAddresses ?? [])].map(({ address }) => address)
  return new Set(said === undefined ? [] : all.filter((address) => said.includes(address)))
}

/** The message of an interface's status that says an address is missing. */
export function missingSaid({ status }: { status?: NetworkInterface['status'] | undefined }): string | undefined {
  const said = status?.conditions?.find(({ type }) => type === 'Allocated')
  return said?.reason === 'AddressAllocationMissing' ? said.message : undefined
}
