/** Which transitions of a network interface are worth an Event: a retained one is set free, and is taken again. Pure. */
import type { NetworkInterface } from '@nso/api'
import type { Happening } from '../events.ts'
import type { Standing } from './status.ts'

/** All reasons of Events about an interface; docs/events.md says when and what to do. */
export const interfaceEventReasons = { Normal: ['Released', 'Bound'] } as const

type InterfaceEvent = Happening<(typeof interfaceEventReasons.Normal)[number]>

/** Compares with the status that stands, so that it is told once. The first binding is no news. */
export function eventFor(nic: NetworkInterface, { phase }: Pick<Standing, 'phase'>): InterfaceEvent | undefined {
  const before = nic.status?.phase
  if (before === undefined || before === phase) return undefined
  const { name } = nic.metadata
  if (phase === 'Available') {
    const message = `Network interface ${name} is released and keeps its addresses; a claim that fits it may take it.`
    return { type: 'Normal', reason: 'Released', action: 'ReleaseInterface', message }
  }
  if (!nic.spec.claimRef) return undefined
  const message = `Network interface ${name} is held by claim ${nic.spec.claimRef.name}.`
  return { type: 'Normal', reason: 'Bound', action: 'BindClaim', message }
}
