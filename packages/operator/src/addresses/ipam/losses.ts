/** Addresses of interfaces that the service does not hold for them, counted as each is lost and not as often as it is looked at. */
import type { NetworkInterface, NetworkInterfaceClaim } from '@nso/api'
import { type Key, keyOf } from 'kube-control-loop'
import { Counter, type Registry } from 'prom-client'

export type Losses = {
  /**
   * A look at an interface's addresses begins; called back with the missing ones, none when all stand. Several passes look at
   * once: what an earlier look brings after a later one is no news.
   */
  looking(nic: NetworkInterface, holder?: NetworkInterfaceClaim): (project: string, missing: readonly string[]) => void
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
  const known = new Map<Key, { missing: ReadonlySet<string>; began: number }>()
  let looks = 0

  return {
    looking(nic, holder) {
      const key = keyOf(nic)
      looks += 1
      const began = looks
      return (project, missing) => {
        const last = known.get(key)
        if (last && last.began > began) return
        const before = last?.missing ?? toldMissing(nic, holder)
        const lost = missing.filter((address) => !before.has(address))
        if (lost.length > 0) counter.inc({ project }, lost.length)
        known.set(key, { missing: new Set(missing), began })
      }
    },
    forget: (key) => void known.delete(key),
  }
}

type Spoken = { status?: Pick<NonNullable<NetworkInterface['status']>, 'conditions'> | undefined }

/** What an earlier process said of it in either status, so that a restart loses nothing anew. */
function toldMissing(nic: NetworkInterface, holder: NetworkInterfaceClaim | undefined): ReadonlySet<string> {
  const said = [missingSaid(nic), holder && missingSaid(holder)].join(' ')
  const all = [...(nic.spec.addresses ?? []), ...(nic.spec.externalAddresses ?? [])].map(({ address }) => address)
  return new Set(all.filter((address) => said.includes(address)))
}

/** The message of a status that says an address is missing. */
export function missingSaid({ status }: Spoken): string | undefined {
  const said = status?.conditions?.find(({ type }) => type === 'Allocated')
  return said?.reason === 'AddressAllocationMissing' ? said.message : undefined
}
