/** Write races of everything that a claim leads to, where an admission policy adds the claim's finalizer. */
import { rowsOfClaims } from './rows.ts'
import { runTable } from './run-table.ts'

runTable('with the admission policy', rowsOfClaims, { policies: true })
