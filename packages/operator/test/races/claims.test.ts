/** Write races of everything that a claim leads to, where no admission policy adds the claim's finalizer. */
import { claimFinalizerRow } from './claim-rows.ts'
import { rowsOfClaims } from './rows.ts'
import { runTable } from './run-table.ts'

runTable('without the admission policy', [claimFinalizerRow, ...rowsOfClaims], {})
