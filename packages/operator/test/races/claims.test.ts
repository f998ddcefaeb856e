/**
 * Write races where no admission policy adds the claim's finalizer: of the claim controller, whose first steps differ then. All
 * others of what a claim leads to come in a soak (SOAK set), since `claims-with-policy.test.ts` has them.
 */
import process from 'node:process'
import { claimFinalizerRow } from './claim-rows.ts'
import { rowsOfClaims } from './rows.ts'
import { runTable } from './run-table.ts'

const isFull = process.env.SOAK !== undefined
const tried = rowsOfClaims.filter(({ controller }) => isFull || controller === 'networkinterfaceclaim')

runTable('without the admission policy', [claimFinalizerRow, ...tried], {})
