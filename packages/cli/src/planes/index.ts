/** The data planes that this command can run. */
import { bridge } from './bridge.ts'
import type { DataPlaneUse } from './data-plane.ts'
import { galactic } from './galactic.ts'

export const dataPlanes = { galactic, bridge } as const satisfies Record<string, DataPlaneUse>

export const defaultDataPlane: DataPlaneUse = galactic
