/** Every write that NSO makes. */
import type { RaceRow } from 'kube-control-loop/testing'
import { claimFinalizerRow, claimRows } from './claim-rows.ts'
import { interfaceRows } from './interface-rows.ts'
import { migrationRowsOfClaims } from './migration-rows.ts'
import { networkControllerRows } from './network-rows.ts'
import { planeRows } from './plane-rows.ts'
import type { RaceWorld } from './world.ts'

/** What a claim leads to, but for the one write that an admission policy saves. */
export const rowsOfClaims: readonly RaceRow<RaceWorld>[] = [
  ...claimRows,
  ...interfaceRows,
  ...migrationRowsOfClaims,
  ...planeRows,
]

export const rows: readonly RaceRow<RaceWorld>[] = [claimFinalizerRow, ...rowsOfClaims, ...networkControllerRows]
