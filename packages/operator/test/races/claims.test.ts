/** Write races of everything that a claim leads to, where no admission policy adds the claim's finalizer. */
import { claimFinalizerRow, claimRows } from './claim-rows.ts'
import { interfaceRows } from './interface-rows.ts'
import { planeRows } from './plane-rows.ts'
import { runTable } from './run-table.ts'

runTable('without the admission policy', [claimFinalizerRow, ...claimRows, ...interfaceRows, ...planeRows], {})
