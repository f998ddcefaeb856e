/** Write races of everything that a claim leads to, where an admission policy adds the claim's finalizer. */
import { claimRows } from './claim-rows.ts'
import { interfaceRows } from './interface-rows.ts'
import { planeRows } from './plane-rows.ts'
import { runTable } from './run-table.ts'

runTable('with the admission policy', [...claimRows, ...interfaceRows, ...planeRows], { policies: true })
