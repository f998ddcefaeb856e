/** The reasons of all Events of NSO, by the kind of the object that they are about. docs/events.md says of each when, and what to do. */
import { dataPlaneConditions, networkConditions, networkContextConditions, subnetConditions } from '@nso/api'
import { claimEventReasons } from './claim/events.ts'
import { networkObjectReasons } from './dataplane/network-object.ts'
import { interfaceEventReasons } from './interface/events.ts'

type Declared = { readonly reasons: Readonly<Record<'True' | 'False' | 'Unknown', readonly string[]>> }

/** What a kind says whose conditions are told as they turn False, and True again. */
function transitionsOf(conditions: Readonly<Record<string, Declared>>, untold: readonly string[] = []): readonly string[] {
  const all = Object.values(conditions).flatMap(({ reasons }) => [...reasons.False, ...reasons.True])
  return [...new Set(all)].filter((reason) => !untold.includes(reason))
}

/** Reasons of NSO’s Events by the kind that they are about, for the page and its test. */
export const eventReasons: Readonly<Record<string, readonly string[]>> = {
  NetworkInterfaceClaim: [...claimEventReasons.Warning, ...claimEventReasons.Normal],
  NetworkInterface: interfaceEventReasons.Normal,
  Network: transitionsOf(networkConditions),
  NetworkContext: [...transitionsOf(networkContextConditions), ...networkObjectReasons],
  // Of a Subnet, its range; no router reports the rest.
  Subnet: transitionsOf({ Allocated: subnetConditions.Allocated }),
  DataPlane: transitionsOf(dataPlaneConditions, ['Deleting']),
}
