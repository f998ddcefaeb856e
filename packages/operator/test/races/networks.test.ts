/** Write races of the standalone network controllers. No claim is involved. */
import { networkControllerRows } from './network-rows.ts'
import { runTable } from './run-table.ts'

runTable('network controllers', networkControllerRows, { networks: true })
